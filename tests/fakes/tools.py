"""Small tools whose timing a test controls."""

import asyncio

from msgspec import Struct

from bridle.types.errors import ToolError
from bridle.types.tool import Tool, ToolContext, ToolOutput, tool


class WorkInput(Struct, forbid_unknown_fields=True):
    name: str
    count: int = 1
    fail: bool = False


class Workshop:
    """Makes tools that note when they start and wait for `release`."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self._gates: dict[str, asyncio.Event] = {}
        self._changed = asyncio.Condition()

    def gate(self, name: str) -> asyncio.Event:
        return self._gates.setdefault(name, asyncio.Event())

    def release(self, *names: str) -> None:
        for name in names:
            self.gate(name).set()

    async def started(self, *names: str) -> None:
        """Wait until all of these are at work."""
        async with asyncio.timeout(50), self._changed:
            await self._changed.wait_for(lambda: all(f"start {name}" in self.log for name in names))

    def tool(self, name: str, *, parallel: bool, waits: bool = True) -> Tool:
        shell = "awaited" if name == "Bash" else ""

        @tool(name, WorkInput, subject=lambda i: i.name, read_only=parallel, shell=shell)
        async def work(input: WorkInput, ctx: ToolContext) -> ToolOutput:
            """Work until let go."""
            async with self._changed:
                self.log.append(f"start {input.name}")
                self._changed.notify_all()
            try:
                if waits:
                    await self.gate(input.name).wait()
            except asyncio.CancelledError:
                self.log.append(f"cancel {input.name}")
                raise
            self.log.append(f"end {input.name}")
            if input.fail:
                raise ToolError(f"{input.name} broke")
            return ToolOutput(content=f"{input.name} done", data={"name": input.name})

        return work
