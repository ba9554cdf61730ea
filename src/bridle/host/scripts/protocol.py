"""What a running script and its parent tell each other."""

from typing import Any, Literal

import msgspec
from msgspec import Struct

from bridle.types.text import decode_json

LARGEST_VALUE = 1_000_000
"""Characters of JSON that one value may have: arguments, payloads, answers, results; also of a script."""
LONGEST_LINE = 4 * LARGEST_VALUE
"""Bytes: a character has up to three, and something stands around a value."""

CallKind = Literal["agent", "workflow", "phase", "log"]
ErrorKind = Literal["syntax", "thrown", "stalled", "time", "memory", "value", "crash"]


class ScriptCall(Struct, frozen=True, kw_only=True):
    """Something that a script wants; `agent` and `workflow` wait for an answer."""

    id: int
    """Counted from 1 in the order of calls, which is the same for the same script, arguments and answers."""
    kind: CallKind
    payload: dict[str, Any]
    """By kind: `prompt`, `options` (as written in the script) and `phase` (that of the options, else the open
    one, else None); `workflow` (a name, or an object with `scriptPath`) and, unless left out, `args`;
    `title`; `message`."""
    line: int | None = None
    """Where in the user's file; only for calls that wait."""

    @property
    def waits(self) -> bool:
        """Whether the script is to be answered."""
        return self.kind in ("agent", "workflow")


class ScriptError(Struct, frozen=True, kw_only=True):
    """Why a script came to no result."""

    kind: ErrorKind
    """`syntax`: it cannot be parsed; `thrown`: an error was not caught; `stalled`: it waits for nothing;
    `time`: it computed for too long; `memory`: it needs too much; `value`: a value is too large or no JSON;
    `crash`: the child could not be started or was killed."""
    message: str
    """One sentence without the line."""
    line: int | None = None
    """Where in the user's file, if that is known."""

    def __str__(self) -> str:
        return self.message if self.line is None else f"line {self.line}: {self.message}"


class ScriptEnd(Struct, frozen=True, kw_only=True):
    """The last event of every script; calls without an answer are moot from here on."""

    value: Any = None
    """What the script returned, as JSON; None also for nothing."""
    error: ScriptError | None = None


class Called(Struct, frozen=True, kw_only=True):
    """A line by which the child asks for something."""

    kind: CallKind
    id: int
    payload: dict[str, Any]
    stack: str


class Ended(Struct, frozen=True, kw_only=True):
    """A line by which the child tells the result."""

    value: Any


class Failed(Struct, frozen=True, kw_only=True):
    """A line by which the child tells that there will be no result."""

    error: ErrorKind
    message: str
    stack: str


def decode(line: bytes) -> Called | Ended | Failed:
    """A line of the child, which may have been taken over: nothing about it is taken for granted.

    Raises:
        msgspec.DecodeError: it is none.
    """
    said = decode_json(line)
    kind = said.get("kind") if isinstance(said, dict) else None
    match kind:
        case "end":
            return msgspec.convert(said, Ended)
        case "error":
            return msgspec.convert(said, Failed)
        case _:
            return msgspec.convert(said, Called)
