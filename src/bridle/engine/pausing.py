"""Waiting inside a turn."""

import asyncio

from bridle.engine.turn import Turn


async def pause(turn: Turn, seconds: float) -> float | None:
    """Wait until the time is over, or something comes in: then after how many seconds."""
    arrivals, clock = turn.runtime.arrivals, turn.runtime.clock
    began = clock()
    try:
        async with asyncio.timeout(seconds):
            if arrivals is None:
                await asyncio.Event().wait()
            else:
                await arrivals.stirred()
    except TimeoutError:
        return None
    return clock() - began
