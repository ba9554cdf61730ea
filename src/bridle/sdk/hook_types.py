"""Functions that listen to a session."""

from collections.abc import Awaitable, Callable
from typing import Any, Literal

from msgspec import Struct

HookContext = dict[str, Any]
"""Reserved: `{"signal": None}`."""
HookCallback = Callable[[Any, str | None, Any], Awaitable[Any]]
"""Takes the input of an event, the id of its tool call and a context; returns an output such as `{}`."""


class HookMatcher(Struct):
    """Functions to call when an event happens and its subject matches."""

    matcher: str | None = None
    """A tool name or a regular expression over the subject; None matches everything."""
    hooks: list[HookCallback] = []
    """The functions to call."""
    timeout: float | None = None
    """How many seconds each function may take; 60 unless given."""
    on_failure: Literal["continue", "block"] | None = None
    """Whether a function that raises blocks the call; it continues unless given."""


def plain_output(output: Any) -> Any:
    """An output with the names that are keywords in Python put right."""
    if not isinstance(output, dict):
        return output
    return {
        {"async_": "async", "continue_": "continue"}.get(name, name): value for name, value in output.items()
    }
