import pytest

from tests.fakes.forked import fork
from tests.sdk.faults import make_plan, run_many


def test_equal_seeds_make_equal_plans():
    assert make_plan(7) == make_plan(7) and make_plan(7) != make_plan(8)


@pytest.mark.parametrize("first", range(0, 40, 10))
async def test_whatever_the_host_does_turns_have_one_result_and_runs_an_end(first: int):
    assert await run_many(range(first, first + 10), jobs=2, start=fork) == []
