"""Fleets from Python: `async for result in bridle.fleet.run(tasks, on="ray")`.

It works in a script, in a notebook and inside a Ray job, where it uses the cluster of the job.
"""

import os
from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import aclosing
from typing import Any

from msgspec.structs import replace

from bridle.frontends.fleet.records import Result, RunOptions, Task
from bridle.frontends.fleet.run import create_run, driving
from bridle.frontends.fleet.store import find_run, runs_folder
from bridle.frontends.fleet.task_files import read_tasks, tasks_of


async def run(
    tasks: str | os.PathLike[str] | Iterable[Task | Mapping[str, Any] | str],
    *,
    on: str = "local",
    workers: int = 0,
    budget: float = 0.0,
    model: str = "",
    options: RunOptions | None = None,
    env: Mapping[str, str] | None = None,
) -> AsyncGenerator[Result]:
    """Run tasks and give each result as it comes; closing the iterator ends those that run.

    Tasks are a file or folder as `bridle fleet run` takes it, or values: prompts, dicts with the fields of a
    task file, or `Task`. `options` has the rest of what a run can have.

    Raises:
        BridleError: a task cannot be run, or there can be no workers.
    """
    known = env or os.environ
    given = options or RunOptions()
    given = replace(
        given,
        on=on if on != "local" else given.on,
        workers=workers or given.workers,
        budget=budget or given.budget,
        model=model or given.model,
    )
    store = await create_run(_tasks(tasks), given, known)
    async with aclosing(resume(store.id, env=known)) as results:
        async for result in results:
            yield result


async def resume(run: str = "last", *, env: Mapping[str, str] | None = None) -> AsyncGenerator[Result]:
    """Continue a run that was interrupted or stopped; finished tasks are not repeated.

    Raises:
        BridleError: there is no such run, or another process drives it.
    """
    known = env or os.environ
    async with (
        driving(find_run(runs_folder(known), run), known) as driver,
        aclosing(driver.results()) as results,
    ):
        async for result in results:
            yield result


def _tasks(given: str | os.PathLike[str] | Iterable[Task | Mapping[str, Any] | str]) -> list[Task]:
    if isinstance(given, str | os.PathLike):
        return read_tasks(os.fspath(given))
    found: list[Task] = []
    for number, each in enumerate(given, 1):
        if isinstance(each, Task):
            found.append(each)
            continue
        row = {"prompt": each} if isinstance(each, str) else each
        found += tasks_of([(f"task {number}", {"id": f"{number:04d}", **row})], os.getcwd())
    return found
