"""The clock of the machine."""

import asyncio
import time


class SystemClock:
    """See `types.schedule.Clock`."""

    def now(self) -> float:
        return time.time()

    async def wait(self, event: asyncio.Event, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await event.wait()
        except TimeoutError:
            pass  # Then it is time.
