"""A program on a pseudo terminal that somebody holds: shown, typed into, resized, ended."""

import asyncio
import os
import signal
import stat
from pathlib import Path

import pytest

from bridle.host.jobs import protocol, records
from bridle.host.jobs.launcher import JobError
from bridle.host.jobs.output_log import CURRENT, OLDER, everything
from tests.fakes.jobs import Attached, jobs_home
from tests.fakes.processes import eventually, is_running


async def test_what_a_program_shows_is_kept_and_its_end_is_written_down(tmp_path: Path):
    async with jobs_home(tmp_path / "home") as home:
        job = await home.shell("echo hello; tty >/dev/null && echo on a terminal")
        facts = await home.ended(job)
        assert (facts["state"], facts["exitCode"]) == ("done", 0)
        assert home.shown(job).split("\r\n") == ["hello", "on a terminal", ""]


async def test_a_program_that_fails_is_a_job_that_failed(tmp_path: Path):
    async with jobs_home(tmp_path / "home") as home:
        facts = await home.ended(await home.shell("exit 3"))
        assert (facts["state"], facts["exitCode"]) == ("failed", 3)


async def test_a_program_that_cannot_be_started_says_why(tmp_path: Path):
    async with jobs_home(tmp_path / "home") as home:
        job = await home.shell("", argv=["/nowhere/at-all"])
        facts = await home.ended(job)
        assert (facts["state"], facts["exitCode"]) == ("failed", 127)
        assert "/nowhere/at-all cannot be started" in home.shown(job)


async def test_a_job_of_somebody_without_a_terminal_has_one(tmp_path: Path):
    async with jobs_home(tmp_path / "home", TERM="dumb") as home:
        job = await home.shell("echo $TERM")
        await home.ended(job)
        assert home.shown(job) == "xterm-256color\r\n"


async def test_whoever_attaches_sees_what_was_shown_and_types_into_the_program(tmp_path: Path):
    async with jobs_home(tmp_path / "home") as home:
        job = await home.shell("echo first; read line; echo got $line; read line")
        await eventually(lambda: "first" in home.shown(job))
        attached = await Attached.to(home.facts(job))
        await attached.until(b"first")
        attached.type("words\n")
        await attached.until(b"got words")
        await attached.close()
        again = await Attached.to(home.facts(job))
        await again.until(b"got words")
        assert "endedAt" not in home.facts(job)
        again.type("\n")
        assert (await home.ended(job))["state"] == "done"
        await eventually(lambda: again.frames[-1][0] == protocol.OVER)
        await again.close()
        assert again.frames[-1] == (protocol.OVER, b'{"state": "done", "exitCode": 0}')


async def test_the_window_follows_whoever_came_or_changed_theirs_last(tmp_path: Path):
    async with jobs_home(tmp_path / "home") as home:
        job = await home.shell("trap 'stty size' WINCH; echo ready; while :; do read line && stty size; done")
        await eventually(lambda: "ready" in home.shown(job))
        first = await Attached.to(home.facts(job), rows=30, columns=100)
        await first.until(b"30 100")
        second = await Attached.to(home.facts(job), rows=40, columns=120)
        await second.until(b"40 120")
        first.say(protocol.message(protocol.SIZE, rows=20, columns=60))
        await second.until(b"20 60")
        assert (home.facts(job)["rows"], home.facts(job)["columns"]) == (20, 60)
        await first.close()
        await second.close()


async def test_a_program_hears_of_somebody_new_even_when_the_window_stays_the_same(tmp_path: Path):
    async with jobs_home(tmp_path / "home") as home:
        job = await home.shell("trap 'echo painted' WINCH; echo ready; while :; do read line; done")
        await eventually(lambda: "ready" in home.shown(job))
        attached = await Attached.to(home.facts(job), rows=24, columns=80)
        await attached.until(b"painted")
        await attached.close()


async def test_a_job_is_stopped_gently_and_then_for_good(tmp_path: Path):
    async with jobs_home(tmp_path / "home") as home:
        gentle = await home.shell("trap 'echo bye; exit 0' HUP; echo ready; while :; do sleep 0.05; done")
        stubborn = await home.shell("trap '' HUP TERM; echo ready; while :; do sleep 0.05; done", grace=0.3)
        for job, said in ((gentle, "bye"), (stubborn, "ready")):
            await eventually(lambda job=job: "ready" in home.shown(job))
            attached = await Attached.to(home.facts(job))
            attached.say(protocol.frame(protocol.STOP))
            facts = await home.ended(job)
            await attached.close()
            assert facts["state"] == "stopped"
            assert said in home.shown(job)
        assert home.facts(stubborn)["exitCode"] == -signal.SIGKILL


async def test_what_a_program_leaves_running_goes_with_it(tmp_path: Path):
    async with jobs_home(tmp_path / "home") as home:
        job = await home.shell("trap '' HUP; sleep 1000 & echo $! >/dev/tty; exit 0")
        await home.ended(job)
        child = int(home.shown(job).split()[0])
        await eventually(lambda: not is_running(child))


async def test_a_program_that_is_killed_is_a_job_that_failed(tmp_path: Path):
    async with jobs_home(tmp_path / "home") as home:
        job = await home.shell("sleep 1000")
        os.kill(home.facts(job)["pid"], signal.SIGKILL)
        facts = await home.ended(job)
        assert (facts["state"], facts["exitCode"]) == ("failed", -signal.SIGKILL)


async def test_a_job_that_has_ended_starts_again_while_its_holder_still_goes(tmp_path: Path):
    async with jobs_home(tmp_path / "home") as home:
        job = await home.shell("true")
        ended = await home.ended(job)
        lock: list[int] = []
        await eventually(lambda: lock.extend(filter(None, [records.hold(home.folder(job))])) or lock)
        again = asyncio.create_task(home.shell("echo again", id=job, endedAt=ended["endedAt"]))
        done, _ = await asyncio.wait([again], timeout=0.2)
        os.close(lock[0])
        assert not done and await again == job
        await eventually(lambda: home.shown(job) == "again\r\n")
        await home.ended(job)


async def test_a_job_that_runs_is_not_started_again(tmp_path: Path):
    async with jobs_home(tmp_path / "home") as home:
        job = await home.shell("exec sleep 60")
        with pytest.raises(JobError, match="attach to it, or stop it first"):
            await home.shell("true", id=job)


async def test_a_killed_holder_is_noticed_and_its_program_ended(tmp_path: Path):
    async with jobs_home(tmp_path / "home") as home:
        job = await home.shell("exec sleep 1000")
        facts = home.facts(job)
        os.kill(facts["holder"], signal.SIGKILL)
        ended = await home.ended(job)
        assert (ended["state"], ended["why"]) == ("failed", "the process that holds its terminal was killed")
        await eventually(lambda: not os.path.exists(facts["socket"]))
        await eventually(lambda: not is_running(facts["pid"]))


async def test_without_a_supervisor_whoever_looks_finds_a_dead_holder(tmp_path: Path):
    async with jobs_home(tmp_path / "home") as home:
        job = await home.shell("sleep 1000")
        for pid in home.supervisors():
            os.kill(pid, signal.SIGKILL)
        os.kill(home.facts(job)["holder"], signal.SIGKILL)
        await eventually(lambda: not is_running(home.facts(job)["holder"]))
        facts = records.settle(home.folder(job))
        assert facts is not None
        assert facts["state"] == "failed"


async def test_sockets_and_files_are_for_the_user_alone(tmp_path: Path):
    async with jobs_home(tmp_path / "home") as home:
        job = await home.shell("read line")
        facts = home.facts(job)
        modes = {
            path: stat.S_IMODE(os.stat(path).st_mode)
            for path in (
                os.path.dirname(facts["socket"]),
                facts["socket"],
                home.folder(job),
                os.path.join(home.folder(job), "state.json"),
                os.path.join(home.folder(job), CURRENT),
            )
        }
        assert list(modes.values()) == [0o700, 0o600, 0o700, 0o600, 0o600]


async def test_what_is_kept_never_grows_beyond_its_bounds(tmp_path: Path):
    async with jobs_home(tmp_path / "home") as home:
        job = await home.shell("head -c 4000000 /dev/zero | tr '\\0' x; echo; echo the end")
        await home.ended(job)
        sizes = [os.stat(os.path.join(home.folder(job), name)).st_size for name in (CURRENT, OLDER)]
        assert max(sizes) <= 1 << 20
        assert everything(home.folder(job)).endswith(b"the end\r\n")


async def test_one_who_does_not_read_holds_nobody_up(tmp_path: Path):
    async with jobs_home(tmp_path / "home") as home:
        job = await home.shell("read line; head -c 6000000 /dev/zero | tr '\\0' x; echo; echo the end")
        with protocol.connect(home.facts(job)["socket"]) as idle:
            idle.sendall(protocol.message(protocol.ATTACH, rows=24, columns=80))
            attached = await Attached.to(home.facts(job))
            attached.type("\n")
            await attached.until(b"the end\r\n")
            facts = await home.ended(job)
        await attached.close()
        assert facts["state"] == "done"


async def test_nonsense_on_the_socket_harms_nobody(tmp_path: Path):
    async with jobs_home(tmp_path / "home") as home:
        job = await home.shell("read line; echo got $line")
        for nonsense in (
            b"\xff" * 100,
            protocol.frame(protocol.ATTACH, b"{{{"),
            protocol.frame(protocol.STATE, b"[]"),
            b"A",
        ):
            with protocol.connect(home.facts(job)["socket"]) as caller:
                caller.sendall(nonsense)
        attached = await Attached.to(home.facts(job))
        attached.type("words\n")
        await attached.until(b"got words")
        await attached.close()
        assert (await home.ended(job))["state"] == "done"
