import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from bridle.host.background import BackgroundShells
from bridle.types.services.tasks import Task
from tests.fakes.processes import eventually, is_running, read_number

ENV = {"PATH": "/usr/bin:/bin"}

_SOON = 50
"""Seconds: what would wait without end takes minutes, and a busy machine takes seconds."""


class Room:
    """Background shells below a directory, with the changes they reported."""

    def __init__(self, path: Path, most_output: int = 1_000_000) -> None:
        self.path = path
        self.changes: list[Task] = []
        self.shells = BackgroundShells(
            str(path / "storage"), on_change=self.changes.append, most_output=most_output
        )

    async def start(self, script: str) -> Task:
        return await self.shells.start(
            ["/bin/bash", "-c", script],
            cwd=str(self.path),
            env=ENV,
            command=script,
            description="a job",
            call_id="call-1",
        )


@pytest_asyncio.fixture
async def room(tmp_path: Path) -> AsyncIterator[Room]:
    room = Room(tmp_path)
    yield room
    await room.shells.close()


async def test_a_job_is_reported_when_it_starts_and_when_it_ends(room: Room):
    started = await room.start("echo out; echo err >&2")
    ended = await room.shells.wait(started.id, 5)
    assert [task.status for task in room.changes] == ["running", "completed"]
    assert room.changes == [started, ended]
    assert (ended.exit_code, ended.command, ended.call_id) == (0, "echo out; echo err >&2", "call-1")
    assert ended.ended is not None
    assert ended.ended >= ended.started
    assert room.shells.read(started.id, 100) == "out\nerr\n"
    assert room.shells.find(started.id) == ended
    assert room.shells.all() == (ended,)


async def test_a_job_that_fails_keeps_its_exit_code(room: Room):
    task = await room.start("exit 7")
    ended = await room.shells.wait(task.id, 5)
    assert (ended.status, ended.exit_code) == ("failed", 7)


async def test_waiting_ends_with_the_job_as_it_stands_when_time_is_over(room: Room):
    task = await room.start("echo begun; exec sleep 300")
    async with asyncio.timeout(50):
        assert (await room.shells.wait(task.id, 0.05)).status == "running"
    await eventually(lambda: room.shells.read(task.id, 100) == "begun\n")


async def test_stopping_ends_a_job_and_its_children(room: Room, tmp_path: Path):
    task = await room.start(f"sleep 300 & echo $! > {tmp_path}/child; wait")
    await eventually(lambda: read_number(tmp_path / "child"))
    async with asyncio.timeout(50):
        stopped = await room.shells.stop(task.id)
    assert (stopped.status, stopped.exit_code) == ("killed", 143)
    assert not is_running(read_number(tmp_path / "child") or 0)
    assert [task.status for task in room.changes] == ["running", "killed"]
    assert await room.shells.stop(task.id) == stopped


async def test_output_is_private_and_ids_are_not_guessable(room: Room):
    """S36"""
    first, second = await room.start("true"), await room.start("true")
    assert first.id[0] == second.id[0] == "b"
    assert len(first.id) >= 9
    assert first.id != second.id
    assert os.stat(first.output_file).st_mode & 0o777 == 0o600
    assert os.stat(os.path.dirname(first.output_file)).st_mode & 0o777 == 0o700
    assert first.output_file.startswith(str(room.path / "storage"))


async def test_an_output_file_is_never_somebody_elses(room: Room, tmp_path: Path):
    """S36"""
    (tmp_path / "victim").write_text("precious")
    os.symlink(tmp_path / "victim", tmp_path / "output")
    with pytest.raises(FileExistsError):
        room.shells.launch(["/bin/echo"], cwd=str(tmp_path), env=ENV, output_file=str(tmp_path / "output"))
    assert (tmp_path / "victim").read_text() == "precious"


async def test_reading_gives_the_newest_output_as_plain_text(room: Room):
    task = await room.start(r"printf '%0100d\n' 0; printf '\033[31mré\377d\033[0m\n'")
    await room.shells.wait(task.id, 5)
    assert room.shells.read(task.id, 5) == "ré\ufffdd\n"


async def test_a_job_that_prints_too_much_is_ended(tmp_path: Path):
    """R11"""
    room = Room(tmp_path, most_output=100_000)
    task = await room.start("yes")
    ended = await room.shells.wait(task.id, 5)
    assert ended.status == "failed"
    assert "stopped: more than 100,000 bytes" in room.shells.read(task.id, 200)
    await room.shells.close()


async def test_closing_ends_everything_soon(tmp_path: Path):
    room = Room(tmp_path)
    for name in ("a", "b"):
        await room.start(f"trap '' TERM; echo $$ > {tmp_path}/{name}; while :; do sleep 1; done")
    await eventually(lambda: read_number(tmp_path / "a") and read_number(tmp_path / "b"))
    async with asyncio.timeout(_SOON):
        await room.shells.close()
    assert [task.status for task in room.shells.all()] == ["killed", "killed"]
    assert not any(is_running(read_number(tmp_path / name) or 0) for name in ("a", "b"))


async def test_what_a_job_leaves_running_lives_until_the_session_closes(tmp_path: Path):
    room = Room(tmp_path)
    task = await room.start(f"sleep 300 & echo $! > {tmp_path}/child")
    assert (await room.shells.wait(task.id, 5)).status == "completed"
    assert is_running(child := read_number(tmp_path / "child") or 0)
    await room.shells.close()
    assert not is_running(child)


async def test_nothing_survives_the_sudden_death_of_the_host(tmp_path: Path):
    """R7"""
    host = subprocess.Popen([sys.executable, "-c", HOST, str(tmp_path)])
    names = ("shell", "child", "leftover")
    await eventually(lambda: all(read_number(tmp_path / name) for name in names))
    pids = [read_number(tmp_path / name) or 0 for name in names]
    assert all(map(is_running, pids))
    host.send_signal(signal.SIGKILL)
    host.wait()
    await eventually(lambda: not any(map(is_running, pids)))


HOST = """
import asyncio, sys
from bridle.host.background import BackgroundShells

async def main(path):
    shells = BackgroundShells(path + "/storage", on_change=lambda task: None)

    async def start(script):
        return await shells.start(["/bin/bash", "-c", script], cwd=path, env={"PATH": "/usr/bin:/bin"},
                                  command="", description="", call_id="")

    task = await start(f"sleep 300 & echo $! > {path}/leftover")
    await shells.wait(task.id, 5)
    await start(f"trap '' TERM; echo $$ > {path}/shell; (trap '' TERM; echo $BASHPID > {path}/child;"
                " while :; do sleep 1; done); wait")
    await asyncio.sleep(300)

asyncio.run(main(sys.argv[1]))
"""
