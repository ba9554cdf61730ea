import asyncio
from pathlib import Path

import pytest

from bridle.hooks.program import Program
from bridle.host.reaper import Reaper
from tests.fakes.hook_scripts import ENV
from tests.fakes.processes import eventually, is_running, read_number


def _start(folder: Path, script: str, reaper: Reaper | None, *, shell: str, input: bytes = b"in") -> Program:
    return Program.start(
        shell,
        script,
        ["one", "two"],
        cwd=str(folder),
        env=ENV,
        input=input,
        most_output=1_000_000,
        reaper=reaper,
    )


@pytest.mark.parametrize("shell", ["/bin/bash", "/bin/sh"])
async def test_any_shell_takes_its_input(tmp_path: Path, shell: str):
    reaper = Reaper()
    async with asyncio.timeout(50):
        program = _start(tmp_path, 'cat; echo " $1 $2"', reaper, shell=shell, input=b"x" * 200_000)
        assert not await program.settle()
        assert await program.finish() == 0
    assert program.printed() == b"x" * 200_000 + b" one two\n"
    program.process.forget()
    reaper.close()


@pytest.mark.parametrize("shell", ["/bin/bash", "/bin/sh"])
async def test_script_in_any_shell_dies_with_us(tmp_path: Path, shell: str):
    reaper = Reaper()
    program = _start(tmp_path, "echo $$ > pid; sleep 60", reaper, shell=shell)
    await eventually(lambda: read_number(tmp_path / "pid"))
    reaper.close()
    async with asyncio.timeout(50):
        await program.settle()
        assert await program.finish() == -15
    assert not is_running(program.process.pid)


async def test_what_a_quick_script_leaves_running_dies_with_us_too(tmp_path: Path):
    reaper = Reaper()
    program = _start(tmp_path, "sleep 60 >/dev/null 2>&1 & echo $! > pid", reaper, shell="/bin/sh")
    async with asyncio.timeout(50):
        await program.settle()
        assert await program.finish() == 0
    left = read_number(tmp_path / "pid")
    assert left is not None and is_running(left)
    reaper.close()
    await eventually(lambda: not is_running(left))


async def test_what_was_looked_for_is_seen_while_it_runs(tmp_path: Path):
    program = _start(tmp_path, "echo ready; sleep 60", None, shell="/bin/sh")
    async with asyncio.timeout(50):
        assert await program.settle(until=lambda printed: b"ready" in printed)
        await program.end()
    assert not is_running(program.process.pid)


async def test_shell_that_does_not_exist_leaves_nothing_behind(tmp_path: Path):
    with pytest.raises(FileNotFoundError):
        _start(tmp_path, "true", None, shell="/no/such/sh")
