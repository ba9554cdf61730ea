from pathlib import Path

import pytest

from bridle import fleet
from bridle.types.errors import UsageError
from tests.frontends.fleet.tasks import say, task, write
from tests.frontends.fleet.test_local_runs import fleet as program_of


async def test_results_come_one_after_the_other_and_a_run_that_was_left_is_resumed(tmp_path: Path):
    env = program_of(tmp_path).env
    rows = [task(f"t{at}", write(), say(f"Done {at}.")) for at in range(4)]

    results = fleet.run(rows, workers=1, env=env)
    first = await anext(results)
    await results.aclose()
    rest = [each async for each in fleet.resume(env=env)]

    assert first.ok
    assert sorted([first.task, *(each.task for each in rest)]) == ["t0", "t1", "t2", "t3"]


async def test_a_task_that_cannot_be_run_is_refused(tmp_path: Path):
    env = program_of(tmp_path).env
    with pytest.raises(UsageError, match="task 1: unknown field 'promt'"):
        [each async for each in fleet.run([{"promt": "x"}], env=env)]
