"""The first answer wins: one question put to several places at once."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")


async def first_answer(*asked: Awaitable[T | None], counts: Callable[[T], bool] = lambda _: True) -> T:
    """The first answer that counts; everyone else asked is cancelled, and has ended when this returns.

    None is no answer. Of two that come at the same time, that of the earlier argument wins. When no answer
    counts, that of the last argument that has one is returned. An error of the winner is raised.

    Raises:
        LookupError: no one has an answer.
    """
    places = [asyncio.ensure_future(each) for each in asked]
    try:
        waiting = list(places)
        while waiting:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            for place in [each for each in waiting if each.done()]:
                waiting.remove(place)
                answer = place.result()
                if answer is not None and counts(answer):
                    return answer
        rest = [answer for place in places if (answer := place.result()) is not None]
        if not rest:
            raise LookupError("no one has an answer")
        return rest[-1]
    finally:
        for place in places:
            place.cancel()
        await asyncio.gather(*places, return_exceptions=True)
