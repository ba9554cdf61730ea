"""Whole tasks in every dialect: done in as many requests as they need, with no error that bridle caused."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from bench.model_tasks import TASKS, write_project
from tests.fakes.dialects import CASES
from tests.fakes.pairing import flaw_of
from tests.fakes.replays import Replay, replay

_ALLOWED = ("Edit", "Write", "Bash(python3 *)", "Bash(sleep *)", "Bash(cat *)", "Bash(file *)")
_TASKS = ("A", "B", "C", "E", "G")


@pytest.mark.parametrize("dialect", CASES)
async def test_the_tasks_are_done_without_a_detour(tmp_path: Path, dialect: str):
    done = await asyncio.gather(*(_done(tmp_path / name, dialect, name) for name in _TASKS))
    assert [_faults(name, each) for name, each in zip(_TASKS, done, strict=True)] == [[]] * len(_TASKS)


async def _done(folder: Path, dialect: str, name: str) -> Replay:
    write_project(folder)
    return await replay(dialect, folder, list(TASKS[name].steps(folder)), allow=_ALLOWED)


def _faults(name: str, done: Replay) -> list[str]:
    task = TASKS[name]
    messages: list[Any] = done.session.history.messages
    faults = [f"{call} failed: {done.results[call]}" for call in done.failed() if call not in task.fails]
    faults += [f"{done.requests} requests instead of {task.needs}"] if done.requests != task.needs else []
    return [*faults, *done.warnings, *filter(None, (flaw_of(messages),))]
