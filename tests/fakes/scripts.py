"""A script in its real child, with somebody who answers its calls."""

import asyncio
from collections.abc import Callable
from typing import Any

from msgspec import UNSET, Struct

from bridle.host.scripts.protocol import ScriptCall, ScriptEnd, ScriptError
from bridle.host.scripts.script import open_script

Answer = Callable[[ScriptCall], Any]
"""What a call gets; an exception makes it throw in the script."""


class Ran(Struct, frozen=True, kw_only=True):
    calls: tuple[ScriptCall, ...]
    end: ScriptEnd

    @property
    def value(self) -> Any:
        assert self.end.error is None, self.end.error
        return self.end.value

    @property
    def error(self) -> ScriptError:
        assert self.end.error is not None, self.end.value
        return self.end.error

    def said(self, kind: str) -> list[Any]:
        """What the calls of a kind carried."""
        key = {"agent": "prompt", "log": "message", "phase": "title", "workflow": "workflow"}[kind]
        return [call.payload[key] for call in self.calls if call.kind == kind]


async def run_script(
    source: str,
    answer: Answer = lambda call: f"<{call.payload.get('prompt')}>",
    *,
    args: Any = UNSET,
    budget: int | None = None,
    spent: Callable[[], int] = lambda: 0,
    seconds: float = 10,
) -> Ran:
    """Run a script to its end; calls are answered at once, in their order."""
    calls: list[ScriptCall] = []
    async with (
        asyncio.timeout(50),
        open_script(source, args=args, budget=budget, spent=spent, seconds=seconds) as script,
    ):
        async for event in script.events():
            if isinstance(event, ScriptEnd):
                return Ran(calls=tuple(calls), end=event)
            calls.append(event)
            if event.waits:
                try:
                    await script.answer(event.id, answer(event))
                except LookupError as error:
                    await script.fail(event.id, str(error.args[0]))
    raise AssertionError("the script did not end")
