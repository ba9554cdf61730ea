"""The product on one page: a prompt goes in, the model and the tools take turns, a result comes out."""

import asyncio

import msgspec

from bridle.context.attachment_facts import attachment_of
from bridle.engine.arrivals import record_beside, take_arrivals
from bridle.engine.compaction.guard import compact_automatically, fit_window
from bridle.engine.hooks.turn_hooks import (
    fire_stop,
    fire_stop_failure,
    fire_user_prompt_submit,
    late_words,
    refusal,
    stop_words,
)
from bridle.engine.limits import first_objection, money_limit
from bridle.engine.runtime import Runtime
from bridle.engine.step import StepEnd, take_step
from bridle.engine.texts import DECLINED, NUDGE_EMPTY, NUDGE_REFUSED, RESUME_BROKEN, RESUME_CUT
from bridle.engine.turn import Ending, Turn
from bridle.engine.turn_end import (
    settle_defect,
    settle_deferral,
    settle_fault,
    settle_interrupt,
    settle_stop,
)
from bridle.transcripts.attachments import is_opening
from bridle.transcripts.deferred_calls import deferred_call
from bridle.transcripts.session import Session
from bridle.types.block import text_block
from bridle.types.entry import UserEntry
from bridle.types.errors import ProviderError
from bridle.types.event import Answered, Noticed, TurnStarted, UserTextAdded
from bridle.types.hooks.outcome import HookOutcome
from bridle.types.turn import Outcome, Prompt

_MOST_RESUMES = 3
_ESCALATED_TOKENS = 64_000


async def run_turn(session: Session, prompt: Prompt, runtime: Runtime) -> Outcome:
    """Run one prompt to its end.

    Cancelling the task is the interrupt: the conversation is put in order, the result is reported, and the
    cancellation propagates.
    """
    turn = Turn(session, prompt, runtime)
    turn.begin()
    try:
        ending = await _try_to_work(turn)
    except asyncio.CancelledError:
        turn.finish(settle_interrupt(turn))
        raise
    except BaseException as defect:
        # Not ours to handle, but the turn still gets its result and every call its answer.
        turn.finish(settle_defect(turn, defect))
        raise
    finally:
        for line in runtime.features.end_turn():
            runtime.channel.emit(Noticed(line, level="warning"))
    return turn.finish(ending)


async def _try_to_work(turn: Turn) -> Ending:
    """Take the prompt up and work on it, as far as the model can answer."""
    try:
        return await _take_up(turn) or await _work(turn)
    except ProviderError as error:
        ending = settle_fault(turn, error)
        await fire_stop_failure(turn, error.kind, ending.text)
        return ending
    finally:
        await turn.runtime.records.end_prompt()


async def _take_up(turn: Turn) -> Ending | None:
    """Put the prompt on disk and open the turn; a hook may refuse it."""
    session, prompt, runtime = turn.session, turn.prompt, turn.runtime
    runtime.hooks.begin_turn(turn.id)
    said = await fire_user_prompt_submit(turn, prompt)
    if said.block is not None:
        return Ending("completed", text=refusal(prompt, said))
    if not prompt.meta:
        prompt = turn.prompt = await runtime.sources.attach(turn, prompt)
    waiting = deferred_call(session)
    # The result of a call that waits must stand before the prompt, which is recorded behind it.
    uuid = _record(turn, said) if waiting is None else turn.id
    await runtime.records.begin_prompt(uuid)
    await session.sync()
    await runtime.servers.settle()
    runtime.channel.emit(
        TurnStarted(
            model=turn.model,
            tools=runtime.toolbox.names(),
            mode=session.state.mode,
            cwd=runtime.workspace.cwd,
            prompt=prompt.content,
            uuid=uuid,
            meta=prompt.meta,
            prompt_uuid=prompt.uuid,
        )
    )
    if waiting is not None:
        from bridle.engine.calls.deferral import resume_deferred_call

        await resume_deferred_call(turn, waiting)
        if prompt.content:
            _record(turn, said)
    if said.stop is not None:
        return Ending("hook_stopped", text=stop_words(said.stop))
    return _ended_by_calls(turn) or money_limit(turn)


def _record(turn: Turn, said: HookOutcome) -> str:
    """Put the prompt and what hooks say beside it into the conversation; the id of its entry."""
    session, prompt = turn.session, turn.prompt
    entry = record_prompt(session, msgspec.structs.replace(prompt, uuid=turn.id), turn.runtime)
    session.attach_hook_context("UserPromptSubmit", said.context)
    return entry["uuid"]


def record_prompt(session: Session, prompt: Prompt, runtime: Runtime) -> UserEntry:
    """Add a prompt to the conversation, with the reminders beside it if they have not been given yet."""
    is_briefed = any(map(is_opening, session.entries))
    entry = session.say_user(prompt.content, uuid=prompt.uuid, meta=prompt.meta, origin=prompt.origin)
    for block in () if is_briefed else runtime.briefing.opening():
        kind, facts = attachment_of(block, initial=True)
        session.attach(kind, [block], **facts)
    record_beside(session, prompt)
    return entry


async def _work(turn: Turn) -> Ending:
    """Step until there is nothing left to do or a limit says stop."""
    resumes = nudges = refusals = stop_blocks = 0
    begun = ""
    shape = turn.runtime.asking.shape
    while (objection := first_objection(turn) or await fit_window(turn)) is None:
        _tell_news(turn)
        step = await _step(turn)
        if (ending := _ended_by_calls(turn) or shape.ending()) is not None:
            return ending
        text = begun + step.text
        if step.calls:
            nudges, begun = 0, ""
            _raise_cap(turn, step)
            await take_arrivals(turn)
        elif step.broken or step.stop_reason == "max_tokens":
            if resumes == _MOST_RESUMES:
                return await _cut_short(turn, step, text)
            resumes, begun = resumes + 1, text
            _raise_cap(turn, step)
            _say_synthetic(turn, RESUME_BROKEN if step.broken else RESUME_CUT)
        elif step.stop_reason == "refusal" and not refusals:
            refusals += 1
            turn.runtime.channel.emit(Noticed("The model declined; retrying once.", "notice"))
            _say_synthetic(turn, NUDGE_REFUSED)
        elif step.stop_reason == "refusal":
            raise ProviderError(DECLINED, kind="invalid_request")
        elif (reason := shape.nudge()) is not None:
            begun = ""
            _say_synthetic(turn, reason)
        elif not step.text.strip() and not nudges:
            nudges += 1
            _say_synthetic(turn, NUDGE_EMPTY)
        elif (more := turn.runtime.features.more_work(turn)) is not None:
            begun = _continue(turn, text, more)
        elif isinstance(said := await fire_stop(turn, text, stop_blocks), str):
            stop_blocks += 1
            begun = _continue(turn, text, said)
        elif said is None and (late := await late_words(turn, stop_blocks)) is not None:
            stop_blocks += 1
            begun = _continue(turn, text, late)
        else:
            return money_limit(turn) or said or Ending("completed", text=text)
    return objection


def _tell_news(turn: Turn) -> None:
    """What has changed around the conversation stands before the step that it matters to."""
    session, runtime = turn.session, turn.runtime
    news = runtime.sources.news(session, runtime.toolbox)
    if text := "\n\n".join(filter(None, (news, *runtime.features.reminders(session)))):
        block = text_block(f"<system-reminder>\n{text}\n</system-reminder>")
        kind, facts = attachment_of(block)
        session.attach(kind, [block], **facts)


async def _step(turn: Turn) -> StepEnd:
    """One step; where the service rejects the request for its length or its images, another one without."""
    while True:
        try:
            return await take_step(turn)
        except ProviderError as error:
            if error.is_media_rejected and _strip_media(turn, error):
                continue
            if not error.is_prompt_too_long or not await compact_automatically(turn):
                raise
        return await take_step(turn)


def _strip_media(turn: Turn, error: ProviderError) -> bool:
    """Leave rejected images and PDFs out, the newest first; False where there are none to leave out."""
    from bridle.transcripts.shortened_results import strip_media

    if not strip_media(turn.session):
        return False
    text = f"The service rejected an image or a document; it was removed: {error}"
    turn.runtime.channel.emit(Noticed(text, "warning"))
    return True


def _raise_cap(turn: Turn, step: StepEnd) -> None:
    """An answer that was cut gets more room from the next request on, unless the user set the limit."""
    if step.stop_reason == "max_tokens" and turn.runtime.asking.max_tokens is None:
        facts = turn.runtime.facts(turn.model)
        turn.max_tokens = max(facts.max_tokens, min(facts.max_output, _ESCALATED_TOKENS))


def _continue(turn: Turn, answer: str, reason: str) -> str:
    """Let the model work on although it has answered; what there is of its next answer: nothing."""
    _tell_answer(turn, answer)
    _say_synthetic(turn, reason)
    return ""


def _tell_answer(turn: Turn, answer: str) -> None:
    if answer.strip():
        turn.runtime.channel.emit(Answered(answer))


def _say_synthetic(turn: Turn, text: str) -> None:
    """Say something in the user's name that the user did not write."""
    entry = turn.session.say_user([text_block(text)], meta=True)
    turn.user_lines += 1
    turn.runtime.channel.emit(
        UserTextAdded(uuid=entry["uuid"], timestamp=entry["timestamp"], content=entry["message"]["content"])
    )


def _ended_by_calls(turn: Turn) -> Ending | None:
    """The end that a call brought about: it was deferred, keeps failing, or the turn was stopped with it."""
    if turn.deferred is not None:
        return settle_deferral(turn)
    if turn.stopped_by is not None:
        return settle_stop(turn)
    if (loop := turn.repetitions.loop) is not None:
        return Ending.failed("repeated_calls", "error_repeated_calls", str(loop))
    return None


async def _cut_short(turn: Turn, step: StepEnd, so_far: str) -> Ending:
    _tell_answer(turn, so_far)
    what = "The connection kept failing" if step.broken else "The answer kept hitting the output limit"
    text = f"{what} ({_MOST_RESUMES} retries). Send another prompt to continue."
    await fire_stop_failure(turn, "unknown" if step.broken else "max_output_tokens", text)
    return Ending("model_error" if step.broken else "api_error", text=text, is_error=True)
