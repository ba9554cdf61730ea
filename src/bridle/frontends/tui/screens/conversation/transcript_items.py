"""The conversation as pieces that can be laid out one by one."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from bridle.engine.calls.changed_input import without_note
from bridle.engine.texts import INTERRUPTED, INTERRUPTED_IN_TOOLS
from bridle.frontends.tui.render.call import Call, State, below, header, inner
from bridle.frontends.tui.render.call_groups import render_call
from bridle.frontends.tui.render.collapse import fold_output
from bridle.frontends.tui.render.layout import fit
from bridle.frontends.tui.render.messages import assistant_text, interrupted, thinking, user_prompt
from bridle.frontends.tui.render.model_texts import is_refusal
from bridle.frontends.tui.render.tools.catalog import look_of
from bridle.frontends.tui.style.text import Line
from bridle.types.block import text_of

_MOST_SEARCHED = 100_000

Lines = Callable[[int, bool], list[Line]]
"""Rows for a width, folded or with everything."""


class TranscriptItem(Struct, frozen=True, kw_only=True):
    """A prompt, an answer, a call: something that is shown as a whole."""

    kind: Literal["prompt", "answer", "thought", "call", "note"]
    text: str
    """What a search looks through."""
    lines: Lines


def passages_of(
    messages: Sequence[Mapping[str, Any]],
    data: Mapping[str, Any] | None = None,
    *,
    ran: Mapping[str, Mapping[str, Any]] | None = None,
    unanswered: State = "interrupted",
) -> list[TranscriptItem]:
    """What was said, in the API's own messages, as passages; results stand with their calls.

    `data` has the structured output of calls by their ids, where it is known; `ran` the input that a call ran
    with where that is not what the model wrote; `unanswered` is the state of calls without a result.
    """
    results = dict(_results(messages))
    found: list[TranscriptItem] = []
    for message in messages:
        content = message.get("content")
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        if not isinstance(blocks, list | tuple):
            continue
        if message.get("role") == "user":
            found += _prompt(blocks)
        else:
            answered = (_answer(block, results, data or {}, ran or {}, unanswered) for block in blocks)
            found += (each for items in answered for each in items)
    return found


def _prompt(blocks: Sequence[Any]) -> list[TranscriptItem]:
    shown = [each for each in blocks if _type(each) in ("text", "image", "document") and not _is_meta(each)]
    if not shown:
        return []
    text = "\n".join(each.get("text", "") for each in shown)
    if text in (INTERRUPTED, INTERRUPTED_IN_TOOLS):
        in_tools = text == INTERRUPTED_IN_TOOLS
        return [
            TranscriptItem(
                kind="note", text=text, lines=lambda width, _: interrupted(width, in_tools=in_tools)
            )
        ]

    def lines(width: int, expanded: bool) -> list[Line]:
        return user_prompt(shown, width, expanded=expanded)

    return [TranscriptItem(kind="prompt", text=text[:_MOST_SEARCHED], lines=lines)]


def _answer(
    block: Any,
    results: Mapping[str, Mapping[str, Any]],
    data: Mapping[str, Any],
    ran: Mapping[str, Mapping[str, Any]],
    unanswered: State,
) -> list[TranscriptItem]:
    match block:
        case {"type": "text", "text": str() as text} if text.strip():
            return [
                TranscriptItem(kind="answer", text=text[:_MOST_SEARCHED], lines=partial(_text_lines, text))
            ]
        case {"type": "thinking", "thinking": str() as text} if text.strip():
            return [
                TranscriptItem(
                    kind="thought", text=text[:_MOST_SEARCHED], lines=partial(_thought_lines, text)
                )
            ]
        case {"type": "tool_use", "id": str() as id, "name": str() as name, "input": dict() as given}:
            call = _call(name, ran.get(id, given), results.get(id), data.get(id), unanswered)
            if id in ran:
                call = replace(call, content=without_note(call.content))
                given = {**given, "ran": ran[id]}
            text = "\n".join((name, *map(str, given.values()), call.said))
            return [TranscriptItem(kind="call", text=text[:_MOST_SEARCHED], lines=partial(_call_lines, call))]
        case _:
            return []


def _call(
    name: str, given: Mapping[str, Any], result: Mapping[str, Any] | None, data: Any, unanswered: State
) -> Call:
    if result is None:
        return Call(tool=name, input=given, state=unanswered)
    content = result.get("content")
    said = content if isinstance(content, str | list) else ""
    text = said if isinstance(said, str) else text_of(said)
    state: State = "denied" if is_refusal(text) else "failed" if result.get("is_error") else "done"
    return Call(tool=name, input=given, state=state, content=said, data=data)


def _text_lines(text: str, width: int, expanded: bool) -> list[Line]:
    del expanded
    return assistant_text(text, width)


def _thought_lines(text: str, width: int, expanded: bool) -> list[Line]:
    return thinking(text, width, expanded=expanded)


def _call_lines(call: Call, width: int, expanded: bool) -> list[Line]:
    if call.data is not None or call.state != "done" or not call.said.strip():
        return render_call(call, width, expanded=expanded)
    # Only what the model read is known; the looks of tools live on more than that.
    look = replace(look_of(call.tool), note=_without_note)
    said = fold_output(call.said, inner(width), head=3, tail=4, expanded=expanded)
    return fit([*header(call, look, width, expanded=expanded), *below(said, width)], width)


def _without_note(_: Call) -> str:
    return ""


def _results(messages: Sequence[Mapping[str, Any]]) -> list[tuple[str, Mapping[str, Any]]]:
    return [
        (block["tool_use_id"], block)
        for message in messages
        if isinstance(content := message.get("content"), list | tuple)
        for block in content
        if _type(block) == "tool_result" and isinstance(block.get("tool_use_id"), str)
    ]


def _type(block: Any) -> str:
    return str(block.get("type")) if isinstance(block, Mapping) else ""


def _is_meta(block: Mapping[str, Any]) -> bool:
    """Reminders stand beside what the user said, and are not for reading."""
    text = block.get("text")
    return isinstance(text, str) and text.lstrip().startswith("<system-reminder>")
