"""Begins and resumes runs: a store, workers where the user wants them, and a driver."""

import asyncio
import os
import re
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager

from msgspec.structs import replace

from bridle.frontends.fleet.artifacts import StoreError, open_artifacts
from bridle.frontends.fleet.drive import Driver
from bridle.frontends.fleet.executor import Executor
from bridle.frontends.fleet.local import LocalExecutor
from bridle.frontends.fleet.records import RunOptions, Task
from bridle.frontends.fleet.store import RunStore, new_run_id, runs_folder, work_folder
from bridle.frontends.fleet.task_files import narrowed
from bridle.types.errors import UsageError

_CLUSTER = re.compile(r"(ray://)?[A-Za-z0-9.-]+:[0-9]{1,5}|ray://[A-Za-z0-9.-]+")
_PROBE = b"bridle\n"


async def create_run(tasks: Sequence[Task], options: RunOptions, env: Mapping[str, str]) -> RunStore:
    """Write down a new run.

    Raises:
        UsageError: a task asks for more than the run allows.
        StoreError: the run or its artifacts cannot be written.
    """
    narrow = [narrowed(task, options) for task in tasks]
    folder = runs_folder(env)
    options = replace(options, store=options.store or os.path.join(folder, "artifacts"))
    try:
        await open_artifacts(options.store).put(_PROBE)
    except StoreError as error:
        raise StoreError(f"{error}; give another --store") from error
    store = RunStore(folder, new_run_id())
    await asyncio.to_thread(store.create, narrow, options)
    return store


@asynccontextmanager
async def driving(
    store: RunStore, env: Mapping[str, str], *, lasting: bool = False
) -> AsyncGenerator[Driver]:
    """Become the driver of a run that has waiting tasks.

    Raises:
        UsageError: another process is its driver.
    """
    store.hold()
    try:
        await asyncio.to_thread(store.begin_again)
        options = store.options()
        executor = await open_executor(options, env, store)
        yield Driver(store, executor, options, lasting=lasting)
    finally:
        store.release()


async def open_executor(options: RunOptions, env: Mapping[str, str], store: RunStore) -> Executor:
    """Workers where the run is to be.

    Raises:
        UsageError: there is no such place.
    """
    if options.on == "local" or (options.on == "auto" and not env.get("RAY_ADDRESS")):
        folder = options.workspace or work_folder(env)
        return LocalExecutor(options, env, folder=folder, store=options.store, ledger=store.ledger)
    if options.on in ("ray", "auto") or _CLUSTER.fullmatch(options.on):
        from bridle.frontends.fleet.on_ray import RayExecutor

        return RayExecutor(
            options, env, run=store.id, folder=store.folder, ledger=os.path.abspath(store.ledger)
        )
    raise UsageError(f"--on takes local, auto, ray, ray://host:port or host:port, not {options.on!r}")
