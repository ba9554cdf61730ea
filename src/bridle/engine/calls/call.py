"""A call and what it came to."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from bridle.host.secrets import SECRETS
from bridle.types.tool import ToolOutput


class Call(Struct, frozen=True, kw_only=True):
    """A tool_use block on its way through."""

    id: str
    name: str
    input: Mapping[str, Any]
    flaw: str | None = None
    """Why the input could not be read at all."""

    def as_use(self) -> dict[str, Any]:
        """The call as the result of a turn names it."""
        return {"id": self.id, "name": self.name, "input": dict(self.input)}


class Settled(Struct, frozen=True, kw_only=True):
    """What a call came to."""

    output: ToolOutput
    context: tuple[str, ...] = ()
    """Text for the model beside the result: instructions for the files it touched, words of hooks."""
    ran: bool = False
    """The tool was started: its input could be read and the gate let it through."""
    ran_input: Mapping[str, Any] | None = None
    """What it ran with, where that is not what the model wrote."""
    decision: Mapping[str, str] | None = None
    """What the gate said, in the words of the transcript; None for a call that did not come to it."""
    sandboxed: bool | None = None
    """Whether a command ran in the sandbox; None for a call that is no command."""


class DeferredCall(Struct, frozen=True, kw_only=True):
    """A call that a hook deferred to a later run: it gets no result now."""

    call: Call


def failure(message: str) -> ToolOutput:
    """A result that says what went wrong, without secrets that the error text repeats."""
    message = SECRETS.hide(message)
    return ToolOutput(content=message, data=f"Error: {message}", is_error=True)
