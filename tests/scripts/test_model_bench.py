"""What replayed tasks cost is stored, keeps its aims, and is what they cost now."""

from pathlib import Path

import msgspec
import pytest

from bench.model import faults, measured, stored_figures
from bench.model_tasks import TASKS

_HERE = Path(__file__).parents[2]


def test_stored_figures_keep_the_aims_of_every_task():
    stored = stored_figures()
    assert list(stored) == list(TASKS) and {"A", "B", "C", "D", "E", "F", "G"} <= stored.keys()
    before, now = (sum(getattr(each, when).bytes for each in stored.values()) for when in ("before", "now"))
    assert now <= before * 0.7
    for name, each in stored.items():
        assert (each.now.errors, each.now.wasted) == (0, 0), name
        assert each.now.requests <= each.before.requests
        assert faults(TASKS[name], each.now, each) == []


@pytest.mark.parametrize("name", ["H", "N"])
async def test_a_task_costs_what_is_stored(name: str):
    """After a change of texts or results on purpose: `python -m bench.model --write`."""
    figures, stored = await measured(TASKS[name], _HERE), stored_figures()[name]
    # `make bench` sees a percent more; here other machines may have longer names.
    assert figures.bytes <= stored.now.bytes * 1.05
    assert faults(TASKS[name], msgspec.structs.replace(figures, bytes=0), stored) == []
    assert figures.wasted == 0


def test_more_bytes_requests_and_errors_are_seen():
    stored = stored_figures()["A"]
    worse = type(stored.now)(
        requests=stored.now.requests + 1, bytes=stored.now.bytes * 2, cacheable=0.5, errors=1, wasted=1
    )
    assert len(faults(TASKS["A"], worse, stored)) == 4
