"""Compaction: replaces the old part of a conversation by a summary."""

import re
from collections.abc import Callable, Sequence
from typing import Any, Literal

from msgspec import Struct, to_builtins

from bridle.context.attachment_facts import attachment_of
from bridle.context.compaction_report import Dropped, dropped
from bridle.context.restoration import edits_in, restored
from bridle.context.rounds import newest_rounds, oldest_rounds_to_drop, rounds_around, rounds_of, weight
from bridle.context.summary import (
    SUMMARY_TEXTS,
    SummaryTexts,
    flaw_in,
    once_more,
    opening_text,
    read_summary,
    summary_request,
)
from bridle.context.tokens import ratio_of, tokens_now
from bridle.engine.compaction.pins import find_constraints
from bridle.engine.compaction.user_messages import TOKENS, WORDS, carried, kept_words
from bridle.engine.limits import money_limit
from bridle.engine.request import fixed_units, request_for
from bridle.engine.runtime import Runtime
from bridle.engine.side_calls import whole_answer
from bridle.engine.turn import Turn
from bridle.tools.catalog import traits_of
from bridle.transcripts.conversation import fold, is_prompt
from bridle.transcripts.shortened_results import without_media
from bridle.types.block import AssistantMessage, SentMessage, text_of
from bridle.types.entry import ConversationEntry
from bridle.types.errors import ProviderError
from bridle.types.event import CompactionFinished, CompactionStarted, Noticed, UserTextAdded
from bridle.types.history import History
from bridle.types.hooks.events import PostCompact, PreCompact, SessionStart
from bridle.types.tool import CHANGES_FILES

Trigger = Literal["manual", "auto"]

_MOST_FAILURES = 3
_MOST_TRIES = 3
_KEPT_SHARE = 10
"""One part in so many of what may be used stays as it is in an automatic compaction."""
_UNITS_PER_TOKEN = 4
_FILES_SHARE = 4
"""One part in so many goes to files that are shown again."""
_SUMMARY_TOKENS = 20_000
_NOTES_TAIL_TOKENS = 40_000
"""More than this since the notes were written is not left to them."""
_COLLAPSED_SHARE = 2
_COLLAPSED = (
    "The oldest part of it was dropped to make room, without a summary. What you need of it: read the files "
    "again, or ask."
)
_GAP = re.compile(r"(\d{4,})\s*tokens?\s*>\s*(\d{4,})")


class CompactionFailed(Exception):
    """Nothing was changed; the text says why."""


class Compaction(Struct, frozen=True, kw_only=True):
    """What a compaction did."""

    boundary: str
    tokens_before: int
    tokens_after: int
    dropped: tuple[Dropped, ...]
    summary: str


async def compact(
    turn: Turn,
    *,
    trigger: Trigger,
    focus: str = "",
    keep_from: str | None = None,
    replace_from: str | None = None,
    in_turn: bool = True,
) -> Compaction:
    """Replace the conversation by a summary and what must stay word for word.

    `keep_from` is the first entry that stays as it is; without it the newest rounds stay when the engine
    compacts automatically, and nothing does when the user asks for it. With `replace_from` it is the other
    way round: that prompt and all after it give way, and what stands before it stays.

    Raises:
        CompactionFailed: the conversation is as it was.
    """
    runtime, session = turn.runtime, turn.session
    began = runtime.clock()
    runtime.channel.emit(CompactionStarted(trigger=trigger))
    find_constraints(session)
    try:
        cut = _cut(turn, trigger, keep_from, replace_from)
        focus = await _hear(turn, trigger, focus)
        summary = _from_notes(turn, trigger, focus, cut) or _collapsed(turn, trigger, focus, cut)
        summary = summary or await _summarize(turn, cut, focus)
    except CompactionFailed as failure:
        runtime.channel.emit(CompactionFinished(trigger=trigger, error=str(failure)))
        raise
    done = _replace(turn, summary, cut, trigger=trigger, in_turn=in_turn, began=began)
    session.swap(failed_compactions=0)
    runtime.watch.forget(session.id)
    await _tell_hooks(turn, trigger, summary.text)
    return done


async def compact_if_it_works(turn: Turn) -> bool:
    """Compact because there is no room; whether there is some now. It is not tried for ever."""
    failures = turn.session.state.failed_compactions
    if failures >= _MOST_FAILURES:
        return False
    try:
        await compact(turn, trigger="auto")
    except CompactionFailed as failure:
        turn.session.swap(failed_compactions=failures + 1)
        turn.runtime.channel.emit(Noticed(f"Could not compact the conversation: {failure}", "warning"))
        return False
    return True


class _Cut(Struct, frozen=True, kw_only=True):
    """Which entries stay."""

    head: Sequence[ConversationEntry] = ()
    tail: Sequence[ConversationEntry] = ()
    count: int
    """How many entries, from the first on, the summary is made of."""
    partly: bool = False
    """The user chose where to compact."""


class _Summary(Struct, frozen=True):
    text: str
    tail: Sequence[ConversationEntry] | None = None
    """What must stay besides, where the summary says so itself."""


def _cut(turn: Turn, trigger: Trigger, keep_from: str | None, replace_from: str | None) -> _Cut:
    entries = turn.session.entries
    if replace_from is not None:
        at = _place(entries, replace_from)
        if at == 0 or not _begins_turn(entries[at]):
            raise CompactionFailed("choose a prompt after the first one.")
        return _Cut(head=entries[:at], count=len(entries), partly=True)
    if keep_from is not None:
        at = _place(entries, keep_from)
        return _Cut(tail=entries[at:], count=at, partly=True)
    if trigger == "manual":
        return _Cut(count=len(entries))
    tokens = turn.runtime.window(turn.model).compact_at // _KEPT_SHARE
    ratio = ratio_of(turn.session.state.measured)
    kept = newest_rounds(entries, units=round(tokens / ratio)) or _newest_round(turn, ratio)
    # What stays is summarized as well when the engine compacts: the request is the cached one and a bit.
    return _Cut(tail=kept, count=len(entries))


def _newest_round(turn: Turn, ratio: float) -> list[ConversationEntry]:
    """The newest round, where there is room for it beside all else: it is what the work stands on."""
    most = turn.runtime.window(turn.model).compact_at // 2
    *before, newest = rounds_of(turn.session.entries)
    return newest if before and weight(newest) * ratio <= most else []


def _place(entries: Sequence[ConversationEntry], uuid: str) -> int:
    at = next((i for i, entry in enumerate(entries) if entry["uuid"] == uuid), None)
    if at is None:
        raise CompactionFailed("the message is not in this conversation.")
    return at


def _begins_turn(entry: ConversationEntry) -> bool:
    return entry["type"] == "user" and is_prompt(entry)


def _from_notes(turn: Turn, trigger: Trigger, focus: str, cut: _Cut) -> _Summary | None:
    """The notes of the session in place of a summary: no model need be asked when they are up to date."""
    if trigger != "auto" or focus or cut.partly or (known := turn.runtime.features.notes(turn)) is None:
        return None
    at = next((i for i, entry in enumerate(turn.session.entries) if entry["uuid"] == known.up_to), None)
    if at is None:
        return None
    since = turn.session.entries[at + 1 :]
    ratio = ratio_of(turn.session.state.measured)
    if weight(since) * ratio > _NOTES_TAIL_TOKENS:
        return None
    tail = newest_rounds(turn.session.entries, units=round(_NOTES_TAIL_TOKENS / 4 / ratio))
    return _Summary(known.text, tail if len(tail) >= len(since) else rounds_around(turn.session.entries, at))


def _collapsed(turn: Turn, trigger: Trigger, focus: str, cut: _Cut) -> _Summary | None:
    """A note in place of a summary, and the newer half of the window word for word, if the user wants that.

    Where the newest round alone is more, a summary is made.
    """
    if not turn.runtime.habits.collapses or trigger != "auto" or focus or cut.partly:
        return None
    units = (
        turn.runtime.window(turn.model).compact_at / _COLLAPSED_SHARE / ratio_of(turn.session.state.measured)
    )
    tail = newest_rounds(turn.session.entries, units=round(units))
    return _Summary(_COLLAPSED, tail) if tail else None


async def _hear(turn: Turn, trigger: Trigger, focus: str) -> str:
    if not any(entry["type"] == "assistant" for entry in turn.session.entries):
        raise CompactionFailed("there is nothing to compact yet.")
    said = await turn.runtime.hooks.fire(PreCompact(trigger=trigger, custom_instructions=focus))
    if said.block is not None:
        raise CompactionFailed(f"blocked by a hook: {said.block}")
    return "\n".join((focus, *said.context)).strip()


async def _summarize(turn: Turn, cut: _Cut, focus: str) -> _Summary:
    """The summary of what gives way; where even that is too long, of what is left of it."""
    entries = turn.session.entries[: cut.count]
    request = _request(turn, cut, focus)
    whole = cut.count == len(turn.session.entries)
    history = turn.session.history if whole else fold(entries)
    pins = turn.session.state.ledger.texts
    for _ in range(_MOST_TRIES):
        try:
            answer = await _ask(turn, history.extended(_asked(request)))
            if (flaw := flaw_in(answer, pins)) is not None:
                answer = await _better(
                    turn, history.extended(_asked(once_more(request, flaw, _texts(turn)))), answer
                )
            return _Summary(read_summary(answer))
        except ValueError as flaw:
            raise CompactionFailed(f"{flaw}; no changes made.") from flaw
        except ProviderError as error:
            if error.is_media_rejected and (bare := without_media(entries)) != entries:
                entries = bare
                history = fold(entries)
                continue
            if not error.is_prompt_too_long:
                raise CompactionFailed(f"the model could not summarize it: {error}") from error
            drop = oldest_rounds_to_drop(entries, units=_missing_units(turn, str(error)))
            if not drop:
                break
            entries = entries[drop:]
            history = fold(entries)
    raise CompactionFailed("it is too long to summarize; use /clear, or rewind to an earlier message.")


async def _better(turn: Turn, history: History, poor: AssistantMessage) -> AssistantMessage:
    """A second answer for a poor one, which stands where the second is of no use at all."""
    try:
        answer = await _ask(turn, history)
    except (ProviderError, CompactionFailed):
        return poor
    return answer if _is_readable(answer) or not _is_readable(poor) else poor


def _is_readable(answer: AssistantMessage) -> bool:
    try:
        return bool(read_summary(answer))
    except ValueError:
        return False


def _asked(text: str) -> SentMessage:
    return {"role": "user", "content": text}


def _request(turn: Turn, cut: _Cut, focus: str) -> str:
    if not cut.head:
        return summary_request(focus, texts=_texts(turn))
    first = turn.session.entries[len(cut.head)]
    words = text_of(first["message"]["content"]) if first["type"] == "user" else ""
    return summary_request(focus, since=words, texts=_texts(turn))


def _texts(turn: Turn) -> SummaryTexts:
    return turn.runtime.habits.texts or SUMMARY_TEXTS


async def _ask(turn: Turn, history: History) -> AssistantMessage:
    """One model call that shares prompt, tools and history with the conversation, so the cache is used."""
    if (objection := money_limit(turn)) is not None:
        raise CompactionFailed(" ".join(objection.errors))
    facts = turn.runtime.facts(turn.model)
    request = request_for(turn, history, max_tokens=min(facts.max_output, _SUMMARY_TOKENS))
    answer = await whole_answer(turn.session, turn.runtime, request, purpose="compaction")
    if answer is None:
        raise CompactionFailed("the model returned no answer.")
    return answer


def _missing_units(turn: Turn, text: str) -> int | None:
    """How much too long a request was, where the service says so."""
    if (found := _GAP.search(text)) is None:
        return None
    return round((int(found[1]) - int(found[2])) / ratio_of(turn.session.state.measured))


def _replace(
    turn: Turn, summary: _Summary, cut: _Cut, *, trigger: Trigger, in_turn: bool, began: float
) -> Compaction:
    runtime, session = turn.runtime, turn.session
    fixed, measured = fixed_units(turn), session.state.measured
    before = tokens_now(session.history, measured, fixed=fixed)
    tail = cut.tail if summary.tail is None else summary.tail
    ratio = ratio_of(measured)
    leaving = session.entries[len(cut.head) : len(session.entries) - len(tail)]
    gone = dropped(leaving, ratio)
    earlier, edited = carried(session.entries), edits_in(session.entries, _path_input(runtime))
    # A step back takes the prompts behind it back, too.
    said = () if cut.head else leaving
    words = kept_words(earlier, said, units=_words_budget(turn) * _UNITS_PER_TOKEN)
    took = round((runtime.clock() - began) * 1000)
    metadata: dict[str, Any] = {"trigger": trigger, "preTokens": before, "durationMs": took}
    metadata["dropped"] = to_builtins(gone)
    metadata[WORDS] = words
    boundary = session.begin_anew(metadata)
    reminders = [] if cut.head else runtime.briefing.anew()
    for entry in cut.head:
        session.repeat(entry)
    text = opening_text(
        summary.text,
        words=() if cut.head else words,
        pins=session.state.ledger.texts,
        transcript=runtime.records.transcript,
        in_turn=in_turn and not tail,
        partly=bool(cut.head),
        texts=_texts(turn),
    )
    said = session.say_user(text, summary=True)
    for block in reminders:
        kind, facts = attachment_of(block, initial=True)
        session.attach(kind, [block], **facts)
    for entry in tail:
        session.repeat(entry)
    most = runtime.window(turn.model).compact_at // _FILES_SHARE
    again = restored(runtime.workspace, [*cut.head, *tail], _sources(turn), edited=edited, tokens=most)
    session.attach("file", again)
    after = tokens_now(session.history, measured, fixed=fixed)
    turn.user_lines += 1
    runtime.channel.emit(
        CompactionFinished(
            trigger=trigger,
            boundary=boundary["uuid"],
            tokens_before=before,
            tokens_after=after,
            duration_ms=took,
        )
    )
    runtime.channel.emit(UserTextAdded(uuid=said["uuid"], timestamp=said["timestamp"], content=text))
    return Compaction(
        boundary=boundary["uuid"],
        tokens_before=before,
        tokens_after=after,
        dropped=gone,
        summary=summary.text,
    )


def _words_budget(turn: Turn) -> int:
    """The tokens that words of the user may take: in a small window less."""
    return min(TOKENS, turn.runtime.window(turn.model).compact_at // _KEPT_SHARE)


def _path_input(runtime: Runtime) -> Callable[[str], str | None]:
    """The parameter that names the file which a call of a tool changes."""

    def path_input(tool: str) -> str | None:
        traits = traits_of(tool, runtime.toolbox)
        return traits.about if traits.kind in CHANGES_FILES else None

    return path_input


def _sources(turn: Turn) -> tuple[Callable[[], str | None], ...]:
    features = turn.runtime.features.restored(turn)
    return (*turn.runtime.sources.restore, *(lambda text=text: text for text in features))


async def _tell_hooks(turn: Turn, trigger: Trigger, summary: str) -> None:
    """Notify hooks of the compaction, and of the conversation that begins with it."""
    hooks = turn.runtime.hooks
    await hooks.fire(PostCompact(trigger=trigger, compact_summary=summary))
    if not hooks.listens_to("SessionStart"):
        return
    said = await hooks.fire(SessionStart(source="compact", model=turn.model))
    turn.session.attach_hook_context("SessionStart", said.context)
