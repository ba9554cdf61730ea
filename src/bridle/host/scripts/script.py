"""Runs one script in a child of its own and passes its calls on."""

import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import msgspec
from msgspec import UNSET

from bridle.host.jsonlines import BadLine
from bridle.host.reaper import Reaper
from bridle.host.scripts.child import Child, running_child
from bridle.host.scripts.errors import ending, explain, line_of
from bridle.host.scripts.inside.limits import SECONDS
from bridle.host.scripts.protocol import (
    LARGEST_VALUE,
    Called,
    Ended,
    Failed,
    ScriptCall,
    ScriptEnd,
    ScriptError,
    decode,
)
from bridle.types.text import encodable_value

_LEADING_EXPORT = re.compile(r"(?:\s|//[^\n]*|/\*.*?\*/)*export\b", re.DOTALL)
_EXPORT = len("export")
_LONGEST_MESSAGE = 10_000


class Script:
    """A script that runs until `events` has reported its end; made by `open_script`."""

    def __init__(self, child: Child | ScriptError, source: str, spent: Callable[[], int]) -> None:
        self._child = child
        self._source = source
        self._spent = spent
        self._open: set[int] = set()

    async def events(self) -> AsyncIterator[ScriptCall | ScriptEnd]:
        """What the script wants, in its order, and exactly one end, also when the child dies."""
        while True:
            event = await self._next()
            if isinstance(event, ScriptEnd):
                self._open.clear()
                yield event
                return
            if event.waits:
                self._open.add(event.id)
            yield event

    async def answer(self, call_id: int, value: Any) -> None:
        """Give a call its value, as JSON; a call that is not open is passed over.

        A value above `LARGEST_VALUE`, or one that is no JSON, makes the call throw in the script instead.
        """
        try:
            said = _encode(value, "the answer")
        except ValueError as error:
            await self.fail(call_id, str(error))
        else:
            await self._settle(call_id, {"value": said})

    async def fail(self, call_id: int, message: str) -> None:
        """Make a call throw in the script."""
        await self._settle(call_id, {"error": _encode(message[:_LONGEST_MESSAGE], "the message")})

    async def _settle(self, call_id: int, outcome: Mapping[str, msgspec.Raw]) -> None:
        if call_id not in self._open or isinstance(self._child, ScriptError):
            return
        self._open.discard(call_id)
        await self._child.write({"id": call_id, "spent": self._spent(), **outcome})

    async def _next(self) -> ScriptCall | ScriptEnd:
        if isinstance(self._child, ScriptError):
            return ScriptEnd(error=self._child)
        try:
            said = await self._child.lines.read(decode)
        except BadLine:
            error = ScriptError(kind="crash", message="the script's process sent an unknown message")
            return ScriptEnd(error=error)
        match said:
            case None:
                return ScriptEnd(error=ending(*await self._child.ending()))
            case Called():
                place = line_of(said.stack)
                return ScriptCall(id=said.id, kind=said.kind, payload=said.payload, line=place)
            case Ended():
                return ScriptEnd(value=said.value)
            case Failed():
                return ScriptEnd(error=explain(said, self._source))


@asynccontextmanager
async def open_script(
    source: str,
    *,
    args: Any = UNSET,
    budget: int | None = None,
    spent: Callable[[], int] = lambda: 0,
    reaper: Reaper | None = None,
    seconds: float = SECONDS,
) -> AsyncGenerator[Script]:
    """Start a script in a confined child, which is gone when the block is left.

    Unless given, `args` is undefined in the script. `budget` is its `budget.total`; `spent` is asked with
    every answer, and the script sees that number until the next one. More than `seconds` of computing without
    a wait end it. The last event reports all faults.
    """
    start = {"total": budget, "spent": spent()}
    async with _opened(source, start, args=args, reaper=reaper, seconds=seconds) as child:
        yield Script(child, source, spent)


async def check_script(source: str, *, reaper: Reaper | None = None) -> ScriptError | None:
    """Parse a script without running any of it; None when it can be run."""
    start = {"total": None, "spent": 0, "check": True}
    async with _opened(source, start, args=UNSET, reaper=reaper, seconds=SECONDS) as child:
        async for event in Script(child, source, lambda: 0).events():
            if isinstance(event, ScriptEnd):
                return event.error
    return None


@asynccontextmanager
async def _opened(
    source: str, start: Mapping[str, Any], *, args: Any, reaper: Reaper | None, seconds: float
) -> AsyncGenerator[Child | ScriptError]:
    async with AsyncExitStack() as stack:
        child: Child | ScriptError
        try:
            given = {} if args is UNSET else {"args": _encode(args, "args")}
            first = {**start, **given, "source": _encode(_body(source), "the script")}
            child = await stack.enter_async_context(running_child(reaper, seconds=seconds))
            await child.write(first)
        except ValueError as error:
            child = ScriptError(kind="value", message=str(error))
        except OSError as error:
            child = ScriptError(kind="crash", message=f"can't start the script: {error}")
        yield child


def _body(source: str) -> str:
    """The script as the inside of a function: only its leading `export` is in the way, and the lines stay."""
    if "\0" in source:
        raise ValueError("the script contains a null character")
    exported = _LEADING_EXPORT.match(source)
    if exported is None:
        return source
    return f"{source[: exported.end() - _EXPORT]}{' ' * _EXPORT}{source[exported.end() :]}"


def _encode(value: Any, name: str) -> msgspec.Raw:
    """A value as JSON.

    Raises:
        ValueError: it is none, or too large.
    """
    try:
        encoded = msgspec.json.encode(encodable_value(value))
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"can't send {name} as JSON: {error}") from error
    if len(encoded) > LARGEST_VALUE and len(encoded.decode()) > LARGEST_VALUE:
        raise ValueError(f"{name} is larger than {LARGEST_VALUE} characters of JSON")
    return msgspec.Raw(encoded)
