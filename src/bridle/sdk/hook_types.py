"""Functions that listen to a session."""

from collections.abc import Awaitable, Callable
from typing import Any, Literal

from msgspec import Struct

HookContext = dict[str, Any]
"""Reserved: `{"signal": None}`."""
HookCallback = Callable[[Any, str | None, Any], Awaitable[Any]]
"""Takes the input of the event, the id of the call it is about, and a context; returns an output object."""


class HookMatcher(Struct):
    """Functions for those events of a kind whose subject matches."""

    matcher: str | None = None
    hooks: list[HookCallback] = []
    timeout: float | None = None
    """Seconds; 60 unless given."""
    on_failure: Literal["continue", "block"] | None = None


def plain_output(output: Any) -> Any:
    """An output with the names that are keywords in Python put right."""
    if not isinstance(output, dict):
        return output
    return {
        {"async_": "async", "continue_": "continue"}.get(name, name): value for name, value in output.items()
    }
