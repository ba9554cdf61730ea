"""A clock that stands still until a test moves it."""

import asyncio


class FakeClock:
    """See `types.schedule.Clock`."""

    def __init__(self, now: float = 1_000_000_000.0) -> None:
        self._now = now
        self._moved = asyncio.Event()

    def now(self) -> float:
        return self._now

    async def wait(self, event: asyncio.Event, seconds: float) -> None:
        deadline = self._now + seconds
        while not event.is_set() and self._now < deadline:
            self._moved.clear()
            waits = [asyncio.ensure_future(event.wait()), asyncio.ensure_future(self._moved.wait())]
            try:
                await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for each in waits:
                    each.cancel()
                await asyncio.gather(*waits, return_exceptions=True)

    async def advance(self, seconds: float) -> None:
        """Let time pass, and everybody who waits for it act."""
        await self.settle()
        self._now += seconds
        self._moved.set()
        await self.settle()

    async def settle(self) -> None:
        """Let everybody act who can."""
        for _ in range(50):
            await asyncio.sleep(0)
