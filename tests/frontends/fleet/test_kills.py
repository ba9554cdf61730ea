"""Workers and drivers are killed at random in a long run; FLEET_TASKS and FLEET_KILLS say how long."""

import asyncio
import os
import random
import signal
from collections import Counter
from pathlib import Path

import pytest

from bridle.frontends.fleet.store import all_runs
from tests.frontends.fleet.tasks import say, task, tasks_file, write
from tests.frontends.fleet.test_local_runs import fleet, gone, workers

_TASKS = int(os.environ.get("FLEET_TASKS", "500"))
_KILLS = int(os.environ.get("FLEET_KILLS", "200"))
_USAGE = {"input_tokens": 10_000, "output_tokens": 100}


@pytest.mark.soak
@pytest.mark.timeout(3_600)
async def test_every_task_ends_once_however_often_workers_and_drivers_are_killed(tmp_path: Path):
    program = fleet(tmp_path)
    chance = random.Random(25)
    script = (write(usage=_USAGE, pause=0.1), say(usage=_USAGE, pause=0.1))
    tasks = tasks_file(tmp_path, *(task(f"t{at:03d}", *script) for at in range(_TASKS)))
    words = ("--workers", "4", "--no-sandbox", "--budget", "1000", "--retries", "lost=1000")
    process = await program.start("fleet", "run", tasks, *words)
    ending = asyncio.create_task(process.communicate())
    kills = drivers = 0
    while kills < _KILLS:
        # The pause is the chance in which the kills fall.
        await asyncio.wait((ending,), timeout=chance.uniform(0.05, 0.6))
        runs = all_runs(str(tmp_path / "fleet"))
        is_busy = bool(runs) and runs[0].row().counts.get("running", 0) > 1
        if not ending.done() and is_busy and (running := workers(tmp_path)):
            if chance.random() < 0.1:
                process.kill()
                drivers += 1
            else:
                os.kill(chance.choice(running), signal.SIGKILL)
            kills += 1
        if ending.done() or process.returncode is not None:
            await ending
            assert await gone(tmp_path)
            if all_runs(str(tmp_path / "fleet"))[0].row().finished == _TASKS:
                break
            process = await program.start("fleet", "resume", "last")
            ending = asyncio.create_task(process.communicate())
    await ending
    (store,) = all_runs(str(tmp_path / "fleet"))
    while store.row().finished < _TASKS:
        await (await program.start("fleet", "resume", "last")).communicate()

    ends = Counter(each.task for each in store.attempts() if not each.kind)
    results = [each.task for each in store.results()]
    print(f"{kills} kills, {drivers} of drivers, {len(store.attempts())} attempts for {_TASKS} tasks")
    assert store.row().counts == {"done": _TASKS}
    assert len(results) == len(set(results)) == _TASKS
    assert len(ends) == _TASKS
    assert await gone(tmp_path)
