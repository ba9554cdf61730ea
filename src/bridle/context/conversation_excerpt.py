"""A conversation as a reader from outside needs it: the messages, without results and thinking."""

from collections.abc import Sequence
from typing import Any

from bridle.types.block import text_of
from bridle.types.entry import ConversationEntry

_LONGEST = 2_000


def excerpt(entries: Sequence[ConversationEntry], *, most: int = 24_000) -> str:
    """The newest part that fits; calls are named, their results are not."""
    lines: list[str] = []
    left = most
    for entry in reversed(entries):
        line = _line(entry)
        if line is None:
            continue
        left -= len(line) + 1
        if left < 0:
            break
        lines.append(line)
    return "\n".join(reversed(lines))


def _line(entry: ConversationEntry) -> str | None:
    if entry["type"] == "system" or (entry["type"] == "user" and entry.get("isMeta")):
        return None
    content = entry["message"]["content"]
    if entry["type"] == "user":
        text = text_of(content).strip()
        return f"User: {text[:_LONGEST]}" if text else None
    if entry.get("isApiErrorMessage"):
        return None
    blocks: list[Any] = [] if isinstance(content, str) else content
    called = [
        f"[calls {block['name']}: {_about(block['input'])}]"
        for block in blocks
        if block["type"] == "tool_use"
    ]
    text = " ".join((text_of(content).strip(), *called)).strip()
    return f"Assistant: {text[:_LONGEST]}" if text else None


def _about(input: Any) -> str:
    for key in ("command", "file_path", "path", "pattern", "query", "url", "description"):
        if isinstance(value := input.get(key), str):
            return " ".join(value.split())[:120]
    return ""
