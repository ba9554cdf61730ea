import asyncio
from collections.abc import Coroutine

import pytest

from bridle.host.first_answer import first_answer


class Place:
    """Somewhere to ask, which notes how it ended."""

    def __init__(self) -> None:
        self.answer: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
        self.ended = ""

    async def ask(self) -> str | None:
        try:
            return await self.answer
        except asyncio.CancelledError:
            await asyncio.sleep(0)  # Closing takes a moment too.
            self.ended = "cancelled"
            raise


async def _asked(*places: Place, only: str = "") -> "asyncio.Task[str]":
    """A race that has begun; with `only`, no other answer counts."""
    race = first_answer(*(each.ask() for each in places), counts=lambda said: not only or said == only)
    task = asyncio.ensure_future(race)
    for _ in range(3):
        await asyncio.sleep(0)
    return task


async def test_first_answer_wins_and_the_loser_has_ended_by_then():
    here, there = Place(), Place()
    race = await _asked(here, there)
    there.answer.set_result("yes")
    assert (await race, there.ended, here.ended) == ("yes", "", "cancelled")


async def test_of_two_answers_at_the_same_time_the_earlier_argument_wins():
    here, there = Place(), Place()
    race = await _asked(here, there)
    there.answer.set_result("there")
    here.answer.set_result("here")
    assert await race == "here"


async def test_error_of_the_winner_is_raised_and_the_loser_has_ended():
    here, there = Place(), Place()
    race = await _asked(here, there)
    there.answer.set_exception(ValueError("broken"))
    with pytest.raises(ValueError):
        await race
    assert here.ended == "cancelled"


async def test_cancellation_from_outside_reaches_everyone_and_is_passed_on():
    here, there = Place(), Place()
    race = await _asked(here, there)
    race.cancel()
    with pytest.raises(asyncio.CancelledError):
        await race
    assert (here.ended, there.ended) == ("cancelled", "cancelled")


async def test_error_that_a_loser_ends_with_is_not_raised():
    here = Place()

    async def clumsy() -> str:
        try:
            await asyncio.Event().wait()
        finally:
            raise OSError("the connection was closed badly")

    race = asyncio.ensure_future(first_answer(here.ask(), clumsy()))
    await asyncio.sleep(0)
    here.answer.set_result("yes")
    assert await race == "yes"


async def test_none_is_no_answer_and_the_other_is_waited_for():
    here, there = Place(), Place()
    race = await _asked(here, there)
    there.answer.set_result(None)
    await asyncio.sleep(0)
    assert not race.done()
    here.answer.set_result("yes")
    assert await race == "yes"


async def test_answer_that_does_not_count_is_kept_for_when_there_is_no_better_one():
    here, there = Place(), Place()
    race = await _asked(here, there, only="yes")
    there.answer.set_result("nobody is there")
    await asyncio.sleep(0)
    assert not race.done()
    here.answer.set_result(None)
    assert await race == "nobody is there"


async def test_answer_that_counts_beats_an_earlier_one_that_does_not():
    here, there = Place(), Place()
    race = await _asked(here, there, only="yes")
    there.answer.set_result("nobody is there")
    await asyncio.sleep(0)
    here.answer.set_result("yes")
    assert await race == "yes"


async def test_when_no_one_has_an_answer_that_is_an_error():
    async def nothing() -> str | None:
        return None

    with pytest.raises(LookupError):
        await first_answer(nothing(), nothing())


async def test_future_that_lost_takes_no_answer_any_more():
    given: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def at_once() -> str:
        return "yes"

    asking: Coroutine[None, None, str] = at_once()
    assert (await first_answer(given, asking), given.cancelled()) == ("yes", True)
