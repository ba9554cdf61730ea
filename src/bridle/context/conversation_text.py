"""A conversation in plain words, for a model of any vendor that was not part of it."""

from collections.abc import Sequence
from typing import Any

import msgspec

from bridle.context.tokens import weigh
from bridle.types.block import Block, SentMessage, text_block, text_of

_LONGEST_PART = 8_000
_PARTS = 8
"""No single call or result takes more than one part in so many of the room."""
_PICTURES = ("image", "document")


def retell(messages: Sequence[SentMessage], *, units: int) -> list[SentMessage]:
    """The conversation as words of two sides: its first message and the newest rounds that fit.

    Calls and results become text, so that no service asks for the tools; a result never stands without its
    call. Thoughts are left out, pictures and documents stay.
    """
    most, names = min(_LONGEST_PART, units // _PARTS), _names(messages)
    texts = [_as_text(message, names, most) for message in messages]
    if sum(map(weigh, texts)) <= units:
        return texts
    begins = [at for at, message in enumerate(texts) if message["role"] == "assistant"]
    opening = _opening(texts[: begins[0]] if begins else texts, most)
    left, start = units - weigh(opening), len(texts)
    for at in reversed(begins):
        left -= sum(map(weigh, texts[at:start]))
        if left < 0:
            break
        start = at
    return [opening, *texts[start:]]


def clipped(text: str, most: int) -> str:
    """The beginning and the end of a text that is too long."""
    if len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]}\n[… {len(text) - 2 * half:,} characters omitted …]\n{text[-half:]}"


def _opening(first: Sequence[SentMessage], most: int) -> SentMessage:
    """What the conversation is about, where the rest of its beginning has no room."""
    words = clipped("\n\n".join(text_of(message["content"]) for message in first), most)
    return {"role": "user", "content": f"{words}\n\n[… an earlier part of the work is omitted …]"}


def _names(messages: Sequence[SentMessage]) -> dict[str, str]:
    """The tool of each call."""
    return {
        block["id"]: block["name"]
        for message in messages
        if not isinstance(message["content"], str)
        for block in message["content"]
        if block["type"] == "tool_use"
    }


def _as_text(message: SentMessage, names: dict[str, str], most: int) -> SentMessage:
    content = message["content"]
    if isinstance(content, str):
        return message
    parts = [part for block in content for part in _parts(block, names, most)]
    return {"role": message["role"], "content": parts or "(nothing)"}


def _parts(block: Block, names: dict[str, str], most: int) -> list[Block]:
    match block["type"]:
        case "text":
            return [text_block(block["text"])] if block["text"].strip() else []
        case "image" | "document":
            return [block]
        case "tool_use" | "server_tool_use":
            input = clipped(msgspec.json.encode(block["input"]).decode(), most)
            return [text_block(f"[call {block['id']} of {block['name']}] {input}")]
        case "tool_result":
            return _result(block, names.get(block["tool_use_id"], "a tool"), most)
        case _:
            return []


def _result(block: Any, tool: str, most: int) -> list[Block]:
    """A text whose end cannot be forged by what it holds, and the pictures that came with it."""
    call, content = block["tool_use_id"], block.get("content") or ""
    failed = ", failed" if block.get("is_error") else ""
    words = clipped(text_of(content), most)
    pictures = [] if isinstance(content, str) else [each for each in content if each["type"] in _PICTURES]
    return [text_block(f"[result {call} of {tool}{failed}]\n{words}\n[end of {call}]"), *pictures]
