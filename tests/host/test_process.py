import asyncio
import os
import subprocess
from pathlib import Path

import pytest

from bridle.host.process import Captured, Process, run, start
from bridle.host.reaper import Reaper
from tests.fakes.processes import cut_off, eventually, is_running, read_number

ENV = {"PATH": "/usr/bin:/bin"}

_SOON = 50
"""Seconds: what would wait without end takes minutes, and a busy machine takes seconds."""


async def sh(script: str, cwd: Path, *, timeout: float = 5, limit: int = 1_000_000) -> Captured:
    async with asyncio.timeout(50):
        return await run(["/bin/sh", "-c", script], cwd=str(cwd), env=ENV, timeout=timeout, limit=limit)


def begin(script: str, cwd: Path, reaper: Reaper | None = None) -> Process:
    return start(["/bin/bash", "-c", script], cwd=str(cwd), env=ENV, stdout=subprocess.DEVNULL, reaper=reaper)


async def test_a_program_is_run_to_its_end_and_its_words_are_kept_apart(tmp_path: Path):
    assert await sh("echo out; echo err >&2; exit 3", tmp_path) == Captured(
        code=3, stdout=b"out\n", stderr=b"err\n", cut=False, timed_out=False
    )


async def test_arguments_reach_the_program_as_they_are_and_input_is_empty(tmp_path: Path):
    words = ["a b", "$HOME", "`id`", "*", "-n"]
    argv = ["/bin/sh", "-c", 'printf "%s|" "$@"; cat', "sh", *words]
    result = await run(argv, cwd=str(tmp_path), env=ENV, timeout=50, limit=1000)
    assert result.stdout == b"a b|$HOME|`id`|*|-n|"


async def test_a_flood_is_cut_at_the_limit_and_the_program_stopped(tmp_path: Path):
    """R11"""
    result = await sh("yes", tmp_path, limit=100_000)
    assert (len(result.stdout), result.cut, result.timed_out) == (100_000, True, False)


async def test_a_program_out_of_time_is_stopped_with_its_children(tmp_path: Path):
    """R6"""
    command = f"sleep 300 & echo begun; echo $! > {tmp_path}/child; wait"
    result = await cut_off(
        lambda seconds: sh(command, tmp_path, timeout=seconds), lambda: read_number(tmp_path / "child")
    )
    assert (result.timed_out, result.stdout) == (True, b"begun\n")
    child = read_number(tmp_path / "child")
    assert child is not None
    assert not is_running(child)


async def test_a_child_that_keeps_the_pipe_open_holds_nobody_up(tmp_path: Path):
    """R6"""
    async with asyncio.timeout(_SOON):
        result = await sh("sleep 300 & echo $!", tmp_path, timeout=60)
    assert result.code == 0
    assert not is_running(int(result.stdout))


async def test_cancelling_the_wait_ends_the_program_and_its_children(tmp_path: Path):
    waiting = asyncio.create_task(sh(f"sleep 300 & echo $! > {tmp_path}/child; wait", tmp_path, timeout=60))
    await eventually(lambda: read_number(tmp_path / "child"))
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    child = read_number(tmp_path / "child")
    assert child is not None
    assert not is_running(child)


async def test_what_ignores_a_polite_request_is_killed_after_the_grace(tmp_path: Path):
    """R6"""
    tidies = begin(f"trap 'exit 7' TERM; echo 1 > {tmp_path}/up; while :; do sleep 0.01; done", tmp_path)
    await eventually(lambda: read_number(tmp_path / "up"))
    await tidies.end(grace=60)
    assert tidies.code == 7
    process = begin(f"trap '' TERM; sleep 300 & echo $! > {tmp_path}/child; while :; do wait; done", tmp_path)
    await eventually(lambda: read_number(tmp_path / "child"))
    await process.end(grace=0.2)
    assert process.code == -9
    assert not is_running(read_number(tmp_path / "child") or 0)


async def test_children_that_outlive_their_parent_belong_to_the_group_still(tmp_path: Path):
    process = begin(f"sleep 300 & echo $! > {tmp_path}/child", tmp_path)
    async with asyncio.timeout(50):
        assert await process.wait() == 0
    assert process.has_members()
    await process.end(grace=1)
    assert not is_running(read_number(tmp_path / "child") or 0)


async def test_a_directory_that_is_not_there_is_an_error(tmp_path: Path):
    with pytest.raises(FileNotFoundError):
        await sh("true", tmp_path / "missing")


async def test_no_descriptors_are_left_open(tmp_path: Path):
    await sh("true", tmp_path)
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        await sh("echo x", tmp_path)
    with pytest.raises(FileNotFoundError):
        await sh("true", tmp_path / "missing")
    assert len(os.listdir("/proc/self/fd")) == before


async def test_closing_the_reaper_ends_the_groups_that_are_still_listed(tmp_path: Path):
    reaper = Reaper()
    process = begin(f"trap '' TERM; echo $$ > {tmp_path}/pid; while :; do sleep 1; done", tmp_path, reaper)
    await eventually(lambda: read_number(tmp_path / "pid"))
    await asyncio.to_thread(reaper.close)
    async with asyncio.timeout(50):
        assert await process.wait() == -9


async def test_a_group_that_was_taken_off_the_list_is_left_alone(tmp_path: Path):
    reaper = Reaper()
    first = begin(f"echo $$ > {tmp_path}/first; exec sleep 300", tmp_path, reaper)
    second = begin(f"echo $$ > {tmp_path}/second; exec sleep 300", tmp_path, reaper)
    await eventually(lambda: read_number(tmp_path / "first") and read_number(tmp_path / "second"))
    reaper.forget(first.pid)
    await asyncio.to_thread(reaper.close)
    async with asyncio.timeout(50):
        assert await second.wait() == -15
    assert first.code is None
    await first.end(grace=1)


async def test_a_reaper_that_was_killed_is_replaced(tmp_path: Path):
    reaper = Reaper()
    await begin("true", tmp_path, reaper).wait()
    assert reaper._watch is not None
    reaper._watch.kill()
    reaper._watch.wait()
    async with asyncio.timeout(50):
        assert await begin("exit 4", tmp_path, reaper).wait() == 4
    await asyncio.to_thread(reaper.close)
