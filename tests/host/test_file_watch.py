import asyncio
import os
from collections.abc import Callable
from pathlib import Path

from bridle.host.file_watch import next_change, stamps


class FakeClock:
    """Lets something happen at each pause instead of waiting."""

    def __init__(self, *happenings: Callable[[], object]) -> None:
        self.happenings = list(happenings)
        self.pauses: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        if self.happenings:
            self.happenings.pop(0)()
        await asyncio.sleep(0)


def nothing() -> None:
    pass


async def test_a_change_is_noticed_at_the_next_look(tmp_path: Path):
    path = tmp_path / "a"
    path.write_text("1")
    known = stamps([str(path)])
    clock = FakeClock(nothing, nothing, lambda: path.write_text("22"))
    async with asyncio.timeout(50):
        current = await next_change(known, interval=7, settle=3, sleep=clock.sleep)
    assert current == stamps([str(path)]) != known
    assert clock.pauses == [7, 7, 7, 3]


async def test_a_file_that_appears_or_goes_is_a_change(tmp_path: Path):
    path = tmp_path / "a"
    known = stamps([str(path)])
    clock = FakeClock(lambda: path.write_text("1"))
    async with asyncio.timeout(50):
        current = await next_change(known, sleep=clock.sleep)
        gone = await next_change(current, sleep=FakeClock(path.unlink).sleep)
    assert known == gone == {str(path): None} != current


async def test_a_file_still_being_written_is_waited_for(tmp_path: Path):
    path = tmp_path / "a"
    path.write_text("1")
    clock = FakeClock(
        lambda: path.write_text(""), lambda: path.write_text("{"), lambda: path.write_text("{}{}"), nothing
    )
    async with asyncio.timeout(50):
        await next_change(stamps([str(path)]), interval=7, settle=3, sleep=clock.sleep)
    assert clock.pauses == [7, 3, 3, 3]


async def test_replacing_a_file_by_one_of_the_same_size_and_time_is_noticed(tmp_path: Path):
    path, other = tmp_path / "a", tmp_path / "b"
    path.write_text("1")
    other.write_text("2")
    times = (path.stat().st_atime_ns, path.stat().st_mtime_ns)
    os.utime(other, ns=times)
    async with asyncio.timeout(50):
        await next_change(stamps([str(path)]), sleep=FakeClock(lambda: other.rename(path)).sleep)
