"""The product on one page: a prompt goes in, the model and the tools take turns, a result comes out."""

import asyncio

from bridle.engine.guards import first_objection, money_limit
from bridle.engine.runtime import Runtime
from bridle.engine.step import StepEnd, take_step
from bridle.engine.turn import Ending, Turn, api_ending
from bridle.engine.wording import (
    CALL_INTERRUPTED,
    CALL_LOST,
    INTERRUPTED,
    INTERRUPTED_IN_TOOLS,
    NUDGE_EMPTY,
    NUDGE_REFUSED,
    RESUME_BROKEN,
    RESUME_CUT,
)
from bridle.sessions.session import Session
from bridle.types.block import AssistantMessage, UserBlock, result_block, text_block, text_of
from bridle.types.entry import UserEntry
from bridle.types.errors import ProviderError
from bridle.types.event import ApiFault, AssistantSaid, Noticed, ToolFinished, TurnStarted, UserSaid
from bridle.types.hook_outcome import NOTHING_SAID, HookOutcome
from bridle.types.ids import new_uuid
from bridle.types.turn import Outcome, Prompt
from bridle.types.usage import Usage

_MOST_RESUMES = 3
_MOST_STOP_BLOCKS = 8
_ESCALATED_TOKENS = 64_000


async def run_turn(session: Session, prompt: Prompt, runtime: Runtime) -> Outcome:
    """Run one prompt to its end.

    Cancelling the task is the interrupt: the conversation is put in order, the result is reported, and the
    cancellation goes on its way.
    """
    turn = Turn(session, prompt, runtime)
    try:
        ending = await _take_up(turn) or await _work(turn)
    except ProviderError as error:
        ending = _record_fault(turn, error)
    except asyncio.CancelledError:
        turn.finish(_settle_interrupt(turn))
        raise
    except BaseException as defect:
        # Not ours to handle, but the turn still gets its result and every call its answer.
        turn.finish(_settle_defect(turn, defect))
        raise
    return turn.finish(ending)


async def _take_up(turn: Turn) -> Ending | None:
    """Put the prompt on disk and open the turn; a hook may refuse it."""
    session, prompt, runtime = turn.session, turn.prompt, turn.runtime
    said = await _hear_about_prompt(turn)
    if said.block is not None:
        runtime.channel.emit(Noticed(f"The prompt was refused by a hook: {said.block}", "warning"))
        return Ending("completed", text=said.block)
    entry = record_prompt(session, prompt, runtime)
    if said.context:
        session.say_user([text_block(text) for text in said.context], meta=True)
    await session.sync()
    runtime.channel.emit(
        TurnStarted(
            model=turn.model,
            tools=runtime.toolbox.names(),
            mode=session.state.mode,
            cwd=runtime.workspace.cwd,
            prompt=prompt.content,
            uuid=entry["uuid"],
            meta=prompt.meta,
        )
    )
    return money_limit(turn)


async def _hear_about_prompt(turn: Turn) -> HookOutcome:
    if not turn.runtime.hooks.listens:
        return NOTHING_SAID
    from bridle.types.hook import UserPromptSubmit

    return await turn.runtime.hooks.fire(UserPromptSubmit(prompt=text_of(turn.prompt.content)))


def record_prompt(session: Session, prompt: Prompt, runtime: Runtime) -> UserEntry:
    """Add a prompt to the conversation, with the reminders before it if they have not been given yet."""
    if not _is_briefed(session) and (reminders := runtime.briefing.opening()):
        session.say_user([*reminders], meta=True)
    return session.say_user(prompt.content, uuid=prompt.uuid, meta=prompt.meta)


def _is_briefed(session: Session) -> bool:
    """Whether the reminders stand somewhere in the conversation; one that began elsewhere may have none."""
    return any(
        entry["type"] == "user"
        and entry.get("isMeta", False)
        and text_of(entry["message"]["content"]).startswith("<system-reminder>")
        for entry in session.entries
    )


async def _work(turn: Turn) -> Ending:
    """Step until there is nothing left to do or a limit says stop."""
    resumes = nudges = refusals = stop_blocks = 0
    while (objection := first_objection(turn)) is None:
        step = await take_step(turn)
        if turn.stopped_by is not None:
            return _stopped(turn)
        if step.calls:
            _raise_cap(turn, step)
        elif step.broken or step.stop_reason == "max_tokens":
            if resumes == _MOST_RESUMES:
                return _cut_short(step)
            resumes += 1
            _raise_cap(turn, step)
            _say_synthetic(turn, RESUME_BROKEN if step.broken else RESUME_CUT)
        elif step.stop_reason == "refusal" and not refusals:
            refusals += 1
            turn.runtime.channel.emit(Noticed("The model declined; asking once more.", "notice"))
            _say_synthetic(turn, NUDGE_REFUSED)
        elif not step.text.strip() and step.stop_reason != "refusal" and not nudges:
            nudges += 1
            _say_synthetic(turn, NUDGE_EMPTY)
        elif (reason := await _held_by_hook(turn, step, stop_blocks)) is not None:
            stop_blocks += 1
            _say_synthetic(turn, reason)
        else:
            return Ending("completed", text=step.text)
    return objection


def _raise_cap(turn: Turn, step: StepEnd) -> None:
    """An answer that was cut gets more room from the next request on, unless the user set the limit."""
    if step.stop_reason == "max_tokens" and turn.runtime.asking.max_tokens is None:
        facts = turn.runtime.facts(turn.model)
        turn.max_tokens = max(facts.max_tokens, min(facts.max_output, _ESCALATED_TOKENS))


async def _held_by_hook(turn: Turn, step: StepEnd, blocks: int) -> str | None:
    """Why a stop hook wants the turn to go on, if it does."""
    if not turn.runtime.hooks.listens:
        return None
    from bridle.types.hook import Stop

    said = await turn.runtime.hooks.fire(Stop(active=blocks > 0, last_message=step.text))
    return said.block if blocks < _MOST_STOP_BLOCKS else None


def _say_synthetic(turn: Turn, text: str) -> None:
    """Say something in the user's name that the user did not write."""
    entry = turn.session.say_user([text_block(text)], meta=True)
    turn.user_lines += 1
    turn.runtime.channel.emit(
        UserSaid(uuid=entry["uuid"], timestamp=entry["timestamp"], content=entry["message"]["content"])
    )


def _stopped(turn: Turn) -> Ending:
    """A hook or a refusal that also interrupts ended the turn after its calls were settled."""
    if turn.stopped_by_hook:
        return Ending("hook_stopped")
    _say_marker(turn, INTERRUPTED_IN_TOOLS)
    return Ending.failed(
        "aborted_tools", "error_during_execution", turn.stopped_by or "The turn was stopped."
    )


def _cut_short(step: StepEnd) -> Ending:
    what = "The connection kept breaking" if step.broken else "The answer kept hitting the output limit"
    text = f"{what} after {_MOST_RESUMES} attempts to go on. Send another prompt to continue."
    return Ending("model_error" if step.broken else "api_error", text=text, is_error=True)


def _record_fault(turn: Turn, error: ProviderError) -> Ending:
    """The last word of a turn whose model call failed: shown and kept, never sent to a model."""
    ending = api_ending(error)
    message: AssistantMessage = {
        "id": new_uuid(),
        "type": "message",
        "role": "assistant",
        "model": "<synthetic>",
        "content": [text_block(ending.text)],
        "stop_reason": "stop_sequence",
        "stop_sequence": "",
        "usage": Usage().to_api(),
    }
    entry = turn.session.say_assistant(
        message, request_id=error.request_id, error=error.kind, status=error.status, api_error=True
    )
    turn.runtime.channel.emit(
        AssistantSaid(
            uuid=entry["uuid"],
            timestamp=entry["timestamp"],
            message=message,
            request_id=error.request_id,
            fault=ApiFault(error.kind, error.status, error.error_type),
        )
    )
    return ending


def _settle_interrupt(turn: Turn) -> Ending:
    """Answer every open call and leave a marker, so that the next prompt finds a valid conversation."""
    answered = _answer_open_calls(turn, CALL_INTERRUPTED)
    _say_marker(turn, INTERRUPTED_IN_TOOLS if answered else INTERRUPTED)
    reason = "aborted_tools" if answered or not turn.streaming else "aborted_streaming"
    return Ending.failed(reason, "error_during_execution", "The user interrupted the turn.")


def _settle_defect(turn: Turn, defect: BaseException) -> Ending:
    _answer_open_calls(turn, CALL_LOST)
    return Ending.failed("model_error", "error_during_execution", f"bridle has a defect: {defect!r}")


def _answer_open_calls(turn: Turn, text: str) -> int:
    """Give every call that has no result an error, and return how many there were."""
    open_calls = turn.session.open_calls()
    for call in open_calls:
        result = result_block(call["id"], text, is_error=True)
        entry = turn.session.say_user([result], data=f"Error: {text}")
        turn.user_lines += 1
        turn.runtime.channel.emit(
            ToolFinished(
                uuid=entry["uuid"],
                timestamp=entry["timestamp"],
                tool=call["name"],
                result=result,
                data=f"Error: {text}",
                seconds=0.0,
            )
        )
    return len(open_calls)


def _say_marker(turn: Turn, text: str) -> None:
    content: list[UserBlock] = [text_block(text)]
    entry = turn.session.say_user(content)
    turn.user_lines += 1
    turn.runtime.channel.emit(
        UserSaid(uuid=entry["uuid"], timestamp=entry["timestamp"], content=content, synthetic=False)
    )
