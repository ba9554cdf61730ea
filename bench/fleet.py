"""Fleets: throughput of local workers and of a Ray cluster, and what a task costs beyond its session.

python -m bench.fleet [--tasks 1000] [--local 500] [--nodes 4] [--slots 4] [--think 0.2]

The model answers from a script after a time to think, so that a task of five steps takes five times that in
a slot which is free. The growth from 1 to 16 nodes is computed: each node adds its slots, a slot is held for
the measured time of a task, and the driver needs its measured processor time for each, which bounds them all.
The processor time of workers has their start in it.
"""

import argparse
import asyncio
import os
import resource
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from msgspec import Struct

sys.path.insert(0, str(Path(__file__).parents[1]))

from bridle.frontends.fleet.artifacts import open_artifacts
from bridle.frontends.fleet.attempt import WorkerContext, run_attempt
from bridle.frontends.fleet.drive import Driver
from bridle.frontends.fleet.executor import Executor
from bridle.frontends.fleet.local import LocalExecutor
from bridle.frontends.fleet.records import Assignment, Result, RunOptions, Task
from bridle.frontends.fleet.store import RunStore

_STEPS = 5
_GROWTH = (1, 2, 4, 8, 16)


class Measured(Struct, frozen=True, kw_only=True):
    """One way of running the tasks."""

    seconds: float
    first: float
    """Seconds to the first result."""
    cpu: float
    """Processor seconds of workers and driver."""
    driver: float
    """Those of the driver alone."""
    held: float
    """Seconds that a task holds its slot, in the mean."""
    growth: int
    """Kilobytes that the driver grew in the second half of the tasks."""


def tasks(count: int, think: float) -> list[Task]:
    """Tasks that read a file four times and then answer."""
    read = {"calls": [{"tool": "Read", "input": {"file_path": "a.txt"}}], "pause": think}
    script = (*[read] * (_STEPS - 1), {"text": "Done.", "pause": think})
    return [
        Task(id=f"t{at:05d}", prompt="Read a.txt.", model="sonnet", mode="plan", script=script)
        for at in range(count)
    ]


async def floor(work: list[Task], slots: int, folder: Path, env: Mapping[str, str]) -> Measured:
    """The same sessions side by side in this process."""
    options = RunOptions(sandbox=False)
    context = WorkerContext(
        env=env, folder=str(folder / "floor"), artifacts=open_artifacts(str(folder / "kept"))
    )
    free = asyncio.Semaphore(slots)
    ends: list[float] = []
    began, cpu = time.monotonic(), time.process_time()

    async def one(task: Task) -> Result:
        async with free:
            assignment = Assignment(run="floor", task=task, attempt=1, options=options)
            result = await run_attempt(assignment, context, lambda _: None)
            ends.append(time.monotonic())
            assert result.ok, result.message
            return result

    results = await asyncio.gather(*map(one, work))
    used = time.process_time() - cpu
    return Measured(
        seconds=time.monotonic() - began, first=min(ends) - began, cpu=used, driver=used, growth=0,
        held=sum(each.seconds for each in results) / len(results),
    )  # fmt: skip


async def driven(store: RunStore, executor: Executor, count: int, cpu_of_workers: Any) -> Measured:
    """A run through its driver."""
    began, own = time.monotonic(), time.process_time()
    first, held, half, done, workers = 0.0, 0.0, 0, 0, 0.0
    results: AsyncGenerator[Result] = Driver(store, executor, store.options()).results()
    async for result in results:
        assert result.ok, result.message
        done += 1
        first = first or time.monotonic() - began
        held += result.seconds
        if done == count // 2:
            half = _peak()
        if done % 25 == 0 or done == count:
            workers = max(workers, cpu_of_workers())
    seconds, driver = time.monotonic() - began, time.process_time() - own
    return Measured(
        seconds=seconds,
        first=first,
        cpu=driver + workers,
        driver=driver,
        held=held / count,
        growth=_peak() - half,
    )


def made(folder: Path, name: str, work: list[Task], **options: Any) -> RunStore:
    store = RunStore(str(folder), name)
    store.create(work, RunOptions(sandbox=False, store=str(folder / "kept"), **options))
    return store


async def local(work: list[Task], slots: int, folder: Path, env: Mapping[str, str]) -> Measured:
    store = made(folder, "local", work, workers=slots)
    options = store.options()
    executor = LocalExecutor(options, env, folder=str(folder / "work"), store=options.store, ledger="")
    return await driven(
        store, executor, len(work), lambda: _cpu(each.process.pid for each in executor._workers)
    )


async def on_ray(
    work: list[Task], slots: int, folder: Path, env: Mapping[str, str], address: str
) -> Measured:
    from bridle.frontends.fleet.on_ray import RayExecutor

    store = made(folder, "ray", work, workers=slots, on=address, cpus=0.5, workspace=str(folder / "ray"))
    executor = RayExecutor(store.options(), env, run="ray", folder=str(folder), ledger=store.ledger)
    return await driven(store, executor, len(work), lambda: _cpu(each.pid for each in executor._workers))


def _cpu(processes: Any) -> float:
    """The processor seconds of processes that still run."""
    total, tick = 0.0, os.sysconf("SC_CLK_TCK")
    for process in processes:
        try:
            fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        total += (int(fields[11]) + int(fields[12])) / tick
    return total


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _show(name: str, found: Measured, count: int, *, ideal: float, session: float) -> None:
    share = ideal / found.seconds
    beyond = (found.cpu / count - session) * 1000
    print(
        f"{name:<10}  {found.seconds:7.1f} s  {count / found.seconds:6.1f} tasks/s  {share:6.1%} of ideal"
        f"  first {found.first:5.2f} s  {beyond:6.1f} ms CPU a task beyond the session"
        f"  driver {found.driver / count * 1000:5.2f} ms, grew {found.growth:,} KB"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--tasks", type=int, default=1_000, help="on the cluster")
    parser.add_argument("--local", type=int, default=500, help="on local workers")
    parser.add_argument("--nodes", type=int, default=4)
    parser.add_argument("--slots", type=int, default=4, help="for each node, and four times that locally")
    parser.add_argument("--think", type=float, default=0.2)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bridle-fleet-") as name:
        folder = Path(name)
        env = {**os.environ, "HOME": name, "CLAUDE_CONFIG_DIR": f"{name}/.claude"}
        slots = given.slots * given.nodes
        ideal_task = _STEPS * given.think

        base = asyncio.run(floor(tasks(given.local, given.think), slots, folder, env))
        session = base.cpu / given.local
        print(f"{'in process':<10}  {base.seconds:7.1f} s  {session * 1000:.1f} ms CPU a session")
        here = asyncio.run(local(tasks(given.local, given.think), slots, folder, env))
        _show("local", here, given.local, ideal=given.local * ideal_task / slots, session=session)
        print(f"local mode takes {here.seconds / base.seconds:.2f}x of the sessions in one process")
        found = here
        if find_spec("ray") is None:
            print("Ray is not installed: pip install 'bridle[fleet]'")
        else:
            from tests.fakes.ray_cluster import ray_cluster

            with ray_cluster(given.nodes, cpus=given.slots, env=env) as cluster:
                work = tasks(given.tasks, given.think)
                found = asyncio.run(on_ray(work, slots, folder, env, cluster.address))
            _show("ray", found, given.tasks, ideal=given.tasks * ideal_task / slots, session=session)
        driver = found.driver / (given.tasks if found is not here else given.local)
        print("computed for more nodes: slots / held time, at most one task in the driver's time for one")
        for nodes in _GROWTH:
            rate = min(nodes * given.slots / found.held, 1 / driver)
            share = rate * found.held / given.slots / nodes
            print(f"  {nodes:>2} nodes  {rate:7.1f} tasks/s  {share:6.1%} of linear")


if __name__ == "__main__":
    main()
