"""Replaces the result of a call by the output of a hook."""

from collections.abc import Iterator
from typing import Any

import msgspec

from bridle.types.tool import ToolOutput


def rewritten(output: ToolOutput, value: Any) -> ToolOutput | None:
    """The result with another structured output; None when that does not have the shape of the tool's own.

    Where the texts that changed stand in what the model would read, they are replaced there; otherwise the
    model reads the new output itself, so that nothing a hook took out is left.
    """
    if isinstance(output.data, dict) != isinstance(value, dict) and not isinstance(value, str):
        return None
    if isinstance(value, str):
        return ToolOutput(content=value, data=value, is_error=output.is_error)
    content = _replaced(output.content, output.data, value) if isinstance(output.content, str) else None
    return ToolOutput(
        content=msgspec.json.encode(value).decode() if content is None else content,
        data=value,
        is_error=output.is_error,
    )


def _replaced(content: str, before: Any, after: Any) -> str | None:
    for old, new in _differences(before, after):
        if not isinstance(old, str) or not isinstance(new, str) or not old or old not in content:
            return None
        content = content.replace(old, new)
    return content


def _differences(before: Any, after: Any) -> Iterator[tuple[Any, Any]]:
    """What stands in one place before and after, where it is not the same."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key in {**before, **after}:
            yield from _differences(before.get(key), after.get(key))
    elif before != after:
        yield before, after
