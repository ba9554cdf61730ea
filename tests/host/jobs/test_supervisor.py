"""One supervisor for all jobs of a user: it comes, watches, goes, and can be killed."""

import asyncio
import json
import os
import signal
import stat
from pathlib import Path

from bridle.host.jobs.supervisor import running
from tests.fakes.jobs import jobs_home
from tests.fakes.processes import eventually, is_running


async def test_twenty_jobs_at_once_have_one_supervisor(tmp_path: Path):
    async with jobs_home(tmp_path / "home") as home:
        jobs = await asyncio.gather(*(home.shell(f"echo {number}; read line") for number in range(20)))
        assert len(set(jobs)) == 20
        await eventually(lambda: set(home.roster().get("jobs", ())) == set(jobs), seconds=20)
        await eventually(lambda: len(home.supervisors()) == 1)
        found = running(home.path)
        assert found is not None
        assert home.supervisors() == [found[0]] == [home.roster()["supervisor"]["pid"]]


async def test_a_killed_supervisor_loses_nothing_and_the_next_one_adopts_what_runs(tmp_path: Path):
    async with jobs_home(tmp_path / "home") as home:
        first = await home.shell("read line")
        (killed,) = home.supervisors()
        os.kill(killed, signal.SIGKILL)
        await eventually(lambda: not is_running(killed))
        assert running(home.path) is None
        assert is_running(home.facts(first)["pid"])
        second = await home.shell("read line")
        await eventually(lambda: set(home.roster().get("jobs", ())) == {first, second})
        assert home.roster()["supervisor"]["pid"] != killed
        os.kill(home.facts(first)["holder"], signal.SIGKILL)
        assert (await home.ended(first))["state"] == "failed"


async def test_a_supervisor_ends_when_nothing_has_run_for_a_while(tmp_path: Path):
    async with jobs_home(tmp_path / "home", BRIDLE_SUPERVISOR_IDLE_MS="200") as home:
        job = await home.shell("read line")
        (pid,) = home.supervisors()
        os.kill(home.facts(job)["pid"], signal.SIGTERM)
        await home.ended(job)
        await eventually(lambda: not is_running(pid))
        assert home.roster() == {"supervisor": None, "jobs": {}}
        log = Path(home.path, "daemon.log").read_text(encoding="utf-8")
        assert [line.split(" ", 1)[1] for line in log.splitlines()] == [
            f"supervisor {pid} started",
            f"job {job}: working",
            f"job {job}: failed, ended",
            f"supervisor {pid} ended",
        ]


async def test_what_others_keep_in_the_roster_stays(tmp_path: Path):
    roster = tmp_path / "home" / "daemon" / "roster.json"
    roster.parent.mkdir(parents=True)
    roster.write_text('{"workers": {"other": 1}}', encoding="utf-8")
    async with jobs_home(tmp_path / "home") as home:
        job = await home.shell("read line")
        await eventually(lambda: "bridle" in json.loads(roster.read_bytes()))
        await eventually(lambda: set(home.roster()["jobs"]) == {job})
        assert json.loads(roster.read_bytes())["workers"] == {"other": 1}


async def test_jobs_that_come_while_a_supervisor_ends_are_watched_over(tmp_path: Path):
    async with jobs_home(tmp_path / "home", BRIDLE_SUPERVISOR_IDLE_MS="1") as home:
        for _ in range(15):
            await home.ended(await home.shell("exit 0"))
        last = await home.shell("read line")
        await eventually(lambda: set(home.roster().get("jobs", ())) == {last})
        await eventually(lambda: len(home.supervisors()) == 1)


async def test_a_program_that_outlives_its_holder_is_ended(tmp_path: Path):
    async with jobs_home(tmp_path / "home", BRIDLE_SUPERVISOR_GRACE_MS="200") as home:
        job = await home.shell("trap '' HUP; echo ready; while :; do sleep 0.05; done")
        await eventually(lambda: "ready" in home.shown(job))
        facts = home.facts(job)
        os.kill(facts["holder"], signal.SIGKILL)
        await eventually(lambda: not is_running(facts["pid"]))


async def test_a_home_with_a_long_name_works_too(tmp_path: Path):
    deep = tmp_path / ("d" * 60) / ("e" * 60)
    deep.mkdir(parents=True)
    async with jobs_home(deep / "home") as home:
        job = await home.shell("read line")
        socket = home.facts(job)["socket"]
        assert len(socket) < 100
        assert stat.S_IMODE(os.stat(os.path.dirname(socket)).st_mode) == 0o700
        await eventually(lambda: set(home.roster().get("jobs", ())) == {job})
        await home.close()
        left = os.path.basename(socket).partition("-")[0]
        assert not [name for name in os.listdir(os.path.dirname(socket)) if name.startswith(left)]
