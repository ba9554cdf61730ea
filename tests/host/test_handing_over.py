"""Commands that go on while one program of bridle takes a session over from another."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest

from bridle.host.background import BackgroundShells, HandedOverCommand
from bridle.types.services.tasks import Task
from tests.fakes.processes import eventually, is_running, read_number


@asynccontextmanager
async def _shells(folder: Path) -> AsyncGenerator[BackgroundShells]:
    shells = BackgroundShells(str(folder), on_change=_ignore)
    try:
        yield shells
    finally:
        await shells.close()


def _ignore(_: Task) -> None:
    """Nobody listens."""


async def _start(shells: BackgroundShells, folder: Path, command: str) -> int:
    argv = ["/bin/sh", "-c", f"echo $$ > pid; {command}"]
    await shells.start(
        argv, cwd=str(folder), env={"PATH": "/usr/bin:/bin"}, command=command, description="", call_id="c"
    )
    await eventually(lambda: read_number(folder / "pid"))
    pid = read_number(folder / "pid")
    assert pid is not None
    return pid


async def test_a_command_goes_on_with_whoever_takes_it_over_and_its_end_is_seen(tmp_path: Path):
    first = BackgroundShells(str(tmp_path), on_change=_ignore)
    pid = await _start(first, tmp_path, "until [ -e go ]; do sleep 0.02; done; echo finished")
    told = msgspec.json.encode(first.hand_over())
    await first.close()
    (handed,) = msgspec.json.decode(told, type=list[HandedOverCommand])
    async with _shells(tmp_path) as second:
        task = second.take_over(handed)
        first.part(taken=True)
        assert task is not None
        assert (task.id, task.status, is_running(pid)) == (handed.task.id, "running", True)
        (tmp_path / "go").touch()
        ended = await second.wait(task.id, 5)
        assert (ended.status, ended.exit_code) == ("completed", None)
        assert second.read(task.id, 100) == "finished\n"


async def test_a_command_that_was_taken_over_can_be_stopped(tmp_path: Path):
    first = BackgroundShells(str(tmp_path), on_change=_ignore)
    pid = await _start(first, tmp_path, "exec sleep 1000")
    (handed,) = first.hand_over()
    await first.close()
    async with _shells(tmp_path) as second:
        task = second.take_over(handed)
        first.part(taken=True)
        assert task is not None
        assert (await second.stop(task.id)).status == "killed"
        await eventually(lambda: not is_running(pid))


@pytest.mark.parametrize("closes", [True, False], ids=["closed", "parted"])
async def test_a_command_that_nobody_takes_over_ends(tmp_path: Path, closes: bool):
    first = BackgroundShells(str(tmp_path), on_change=_ignore)
    pid = await _start(first, tmp_path, "exec sleep 1000")
    (handed,) = first.hand_over()
    if closes:
        await first.close()
    assert is_running(pid)
    first.part(taken=False)
    await eventually(lambda: not is_running(pid))
    async with _shells(tmp_path) as second:
        assert second.take_over(handed) is None
    await first.close()
