"""A call and what it came to."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from bridle.types.tool import ToolOutput


class Call(Struct, frozen=True, kw_only=True):
    """A tool_use block on its way through."""

    id: str
    name: str
    input: Mapping[str, Any]
    flaw: str | None = None
    """Why the input could not be read at all."""


class Settled(Struct, frozen=True, kw_only=True):
    """What a call came to."""

    output: ToolOutput
    context: tuple[str, ...] = ()
    """Text for the model beside the result: instructions for the files it touched, words of hooks."""


def failure(message: str) -> ToolOutput:
    """A result that says what went wrong."""
    return ToolOutput(content=message, data=f"Error: {message}", is_error=True)
