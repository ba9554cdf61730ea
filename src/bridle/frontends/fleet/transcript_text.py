"""A transcript as lines for people."""

from collections.abc import Iterator
from typing import Any

import msgspec

from bridle.types.text import one_line

_LONGEST_RESULT = 12


def transcript_lines(data: bytes) -> Iterator[str]:
    """The prompts, answers, calls and results of a conversation in order."""
    for line in data.splitlines():
        try:
            row = msgspec.json.decode(line)
        except msgspec.DecodeError:
            continue  # The last line of a session that was killed.
        if isinstance(row, dict) and row.get("type") in ("user", "assistant"):
            yield from _message_lines(row)


def _message_lines(row: dict[str, Any]) -> Iterator[str]:
    content: Any = (row.get("message") or {}).get("content")
    blocks: list[Any] = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
    for block in blocks:
        match block:
            case {"type": "text", "text": str() as text} if text.strip():
                mark = "> " if row["type"] == "user" else "● "
                first, *rest = text.strip().splitlines()
                yield f"{mark}{first}"
                yield from (f"  {each}" for each in rest)
            case {"type": "tool_use", "name": str() as name}:
                shown = msgspec.json.encode(block.get("input") or {}).decode()
                yield f"● {name} {one_line(shown, 200)}"
            case {"type": "tool_result"}:
                yield from _result_lines(block)
            case _:
                pass  # Thinking and images are in the file.


def _result_lines(block: dict[str, Any]) -> Iterator[str]:
    content = block.get("content")
    if isinstance(content, list):
        content = "\n".join(each.get("text", "") for each in content if isinstance(each, dict))
    lines = str(content or "").splitlines()
    mark = "✗" if block.get("is_error") else "⎿"
    for at, line in enumerate(lines[:_LONGEST_RESULT]):
        yield f"  {mark if at == 0 else ' '} {line}"
    if len(lines) > _LONGEST_RESULT:
        yield f"    … {len(lines) - _LONGEST_RESULT} more lines"
