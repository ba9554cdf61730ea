"""Reads the messages of a request into facts: what was asked, and what was done with which results."""

import re
from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from bridle.providers.offline.procedure import Call, Result
from bridle.types.block import SentMessage
from bridle.types.model import ModelRequest

LABEL = "bridle's offline planner, not a language model"

_REMINDER = r"<system-reminder>.*?</system-reminder>"
_INTERRUPTED = "[Request interrupted"
_LONGEST_PROMPT = 2_000
"""What lies beyond it is pasted material, not the request."""
_GO_ON = (
    r"(please |ok(ay)?,? |yes,? )?(continue|go on|carry on|proceed|keep going|try again|retry|again|go ahead)"
    r"( please)?[.! ]*"
)


class Round(Struct, frozen=True):
    """The calls of one answer and their results, in the same order."""

    calls: tuple[Call, ...]
    results: tuple[Result, ...]


class Conversation(Struct, frozen=True, kw_only=True):
    prompt: str
    """What the user wants now; a bare "continue" stands for the request before it."""
    rounds: tuple[Round, ...]
    """What has been done for this prompt."""
    earlier: tuple[Round, ...]
    """What was done for the prompts before."""
    prompts: tuple[str, ...]
    tools: tuple[str, ...]
    introduced: bool
    """The user has read that there is no language model."""


def read_conversation(request: ModelRequest) -> Conversation:
    """The facts that a plan is made from."""
    prompts: list[str] = []
    earlier: list[Round] = []
    rounds: list[Round] = []
    calls: dict[str, Call] = {}
    introduced = False
    for message in request.history.messages:
        if message["role"] == "assistant":
            calls = dict(_calls(message))
            introduced = introduced or LABEL in _text(message)
            continue
        if results := dict(_results(message)):
            rounds.append(_round(calls, results))
        if said := _own_words(message):
            prompts.append(said)
            earlier += rounds
            rounds = []
    return Conversation(
        prompt=_meant(prompts),
        rounds=tuple(rounds),
        earlier=tuple(earlier),
        prompts=tuple(prompts),
        tools=tuple(tool["name"] for tool in request.tools),
        introduced=introduced,
    )


def known_text(conversation: Conversation, path: str) -> str | None:
    """The text of a file as it was when this turn first read it, from all reads and edits until then."""
    text: str | None = None
    for each in conversation.earlier:
        for call, result in zip(each.calls, each.results, strict=True):
            if call.input.get("file_path") == path and not result.is_error:
                text = _text_after(call, result, text)
    for each in conversation.rounds:
        for call, result in zip(each.calls, each.results, strict=True):
            if call.name == "Read" and call.input.get("file_path") == path:
                return _text_after(call, result, text)
    return text


def numbered_text(result: str) -> str | None:
    """The text of a file from the numbered lines that Read gives, or None when there are none."""
    lines = re.findall(r"^ *\d+[\t→](.*)$", result, re.MULTILINE)
    return "\n".join(lines) if lines else None


def _text_after(call: Call, result: Result, text: str | None) -> str | None:
    match call:
        case Call("Read", {"file_path": _}) if "offset" not in call.input and "limit" not in call.input:
            shown = numbered_text(result.text)
            return text if shown is None else shown
        case Call("Write", {"content": str(content)}):
            return content
        case Call("Edit", {"old_string": str(old), "new_string": str(new)}) if text is not None:
            return text.replace(old, new, -1 if call.input.get("replace_all") else 1)
        case _:
            return text


def _meant(prompts: list[str]) -> str:
    for prompt in reversed(prompts):
        if not re.fullmatch(_GO_ON, prompt, re.IGNORECASE):
            return prompt[:_LONGEST_PROMPT]
    return ""


def _round(calls: dict[str, Call], results: dict[str, Result]) -> Round:
    answered = {call_id: call for call_id, call in calls.items() if call_id in results}
    return Round(tuple(answered.values()), tuple(results[call_id] for call_id in answered))


def _calls(message: SentMessage) -> Iterator[tuple[str, Call]]:
    for block in _blocks(message):
        if block.get("type") == "tool_use":
            yield block["id"], Call(block["name"], block["input"])


def _results(message: SentMessage) -> Iterator[tuple[str, Result]]:
    for block in _blocks(message):
        if block.get("type") == "tool_result":
            text = _joined(block.get("content", ""))
            yield block["tool_use_id"], Result(text, bool(block.get("is_error")))


def _own_words(message: SentMessage) -> str:
    words = re.sub(_REMINDER, "", _text(message), flags=re.DOTALL).strip()
    return "" if words.startswith(_INTERRUPTED) else words


def _text(message: SentMessage) -> str:
    return _joined(message["content"])


def _joined(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(block["text"] for block in content if block.get("type") == "text")


def _blocks(message: SentMessage) -> list[Any]:
    content = message["content"]
    return [] if isinstance(content, str) else list(content)
