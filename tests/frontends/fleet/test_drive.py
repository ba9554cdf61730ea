"""The driver with workers that are functions: what is repeated, what is written down, and when it stops."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from bridle.frontends.fleet.drive import Driver, TaskQueue
from bridle.frontends.fleet.executor import ClusterError, Needs, Worker, WorkerLost
from bridle.frontends.fleet.records import Assignment, Progress, Result, RunOptions, Task
from bridle.frontends.fleet.store import RunStore, find_run
from bridle.types.errors import UsageError

Behavior = Callable[[Assignment], Awaitable[Result]]


class FakeWorker:
    def __init__(self, behavior: Behavior, node: str = "one") -> None:
        self.node = node
        self._behavior = behavior

    def fits(self, task: Task) -> bool:
        return not task.resources or self.node == "gpu"

    async def run(self, work: Assignment, report: Callable[[Progress], None]) -> Result:
        report(Progress(task=work.task.id, text="step 1"))
        return await self._behavior(work)


class FakeExecutor:
    ledger = ""

    def __init__(self, behavior: Behavior, workers: int = 2) -> None:
        self.behavior = behavior
        self.replaced = 0
        self.closed = False
        self._workers = workers
        self._ready: Callable[[Worker], None] = lambda _: None

    async def open(
        self,
        wanted: Mapping[Needs, int],
        ready: Callable[[Worker], None],
        failed: Callable[[ClusterError], None],
    ) -> None:
        self._ready = ready
        for _ in range(self._workers):
            ready(FakeWorker(self.behavior))

    def replace(self, worker: Worker) -> None:
        self.replaced += 1
        self._ready(FakeWorker(self.behavior))

    async def spent(self, work: Assignment) -> tuple[float, int]:
        return 0.25, 100

    async def close(self) -> None:
        self.closed = True


def made(folder: Path, count: int, **options: Any) -> RunStore:
    store = RunStore(str(folder), "run-1")
    store.create([Task(id=f"t{at}", prompt="x") for at in range(count)], RunOptions(**options))
    return store


async def drive(store: RunStore, executor: FakeExecutor) -> list[Result]:
    driver = Driver(store, executor, store.options())
    return [each async for each in driver.results()]


def ended(work: Assignment, **fields: Any) -> Result:
    usual: dict[str, Any] = {"status": "done"}
    return Result(task=work.task.id, attempt=work.attempt, **{**usual, **fields})


async def test_every_task_is_done_once_and_the_run_is_finished(tmp_path: Path):
    async def behave(work: Assignment) -> Result:
        await asyncio.sleep(0)
        return ended(work, cost=0.5)

    store, executor = made(tmp_path, 25), FakeExecutor(behave)
    results = await drive(store, executor)

    assert sorted(each.task for each in results) == sorted(f"t{at}" for at in range(25))
    assert (store.row().state, store.row().counts, store.row().cost) == ("finished", {"done": 25}, 12.5)
    assert executor.closed


async def test_an_attempt_whose_worker_is_lost_is_repeated_and_its_cost_is_counted(tmp_path: Path):
    async def behave(work: Assignment) -> Result:
        if work.attempt < 3:
            raise WorkerLost("killed")
        return ended(work, cost=1.0)

    store, executor = made(tmp_path, 2), FakeExecutor(behave)
    results = await drive(store, executor)

    assert [each.attempt for each in results] == [3, 3]
    assert executor.replaced == 4
    assert store.row().cost == 2 * 1.5
    assert [each.kind for each in store.attempts("t0")] == ["lost", "lost", ""]


async def test_a_task_that_always_ends_its_worker_is_given_up(tmp_path: Path):
    async def behave(work: Assignment) -> Result:
        raise WorkerLost("killed")

    store = made(tmp_path, 1, retries={"lost": 2})
    (result,) = await drive(store, FakeExecutor(behave))

    assert (result.status, result.kind, result.attempt) == ("error", "lost", 3)


async def test_failed_checks_are_repeated_only_when_asked(tmp_path: Path):
    async def behave(work: Assignment) -> Result:
        return ended(work) if work.attempt == 2 else ended(work, status="failed", kind="check")

    (once,) = await drive(made(tmp_path / "a", 1), FakeExecutor(behave))
    (again,) = await drive(made(tmp_path / "b", 1, retries={"check": 1}), FakeExecutor(behave))

    assert (once.status, again.status) == ("failed", "done")


async def test_a_run_stops_when_its_budget_is_used_up_and_keeps_the_rest_for_a_resume(tmp_path: Path):
    async def behave(work: Assignment) -> Result:
        if work.task.id == "t0":
            return ended(work, cost=1.0)
        return ended(work, status="error", kind="budget", message="used up")

    store = made(tmp_path, 6, budget=1.0)
    results = await drive(store, FakeExecutor(behave, workers=1))

    assert [each.task for each in results] == ["t0"]
    assert store.row().state == "stopped"
    assert "resume with a larger --budget" in store.row().note
    assert len(store.waiting()) == 5


async def test_a_cancelled_run_lets_unfinished_tasks_wait(tmp_path: Path):
    begun = asyncio.Event()

    async def behave(work: Assignment) -> Result:
        if work.task.id == "t0":
            return ended(work)
        begun.set()
        await asyncio.get_running_loop().create_future()
        raise AssertionError

    store, executor = made(tmp_path, 3), FakeExecutor(behave)
    driving = asyncio.create_task(drive(store, executor))
    await begun.wait()
    driving.cancel()
    await asyncio.gather(driving, return_exceptions=True)

    assert store.row().counts == {"done": 1, "waiting": 2}
    assert (store.row().state, executor.closed) == ("stopped", True)

    async def finish(work: Assignment) -> Result:
        return ended(work)

    store.begin_again()
    assert sorted(each.task for each in await drive(store, FakeExecutor(finish))) == ["t1", "t2"]


async def test_an_end_that_comes_twice_counts_once(tmp_path: Path):
    store = made(tmp_path, 1)
    number = store.begin_attempt("t0", node="n")
    result = Result(task="t0", status="done", attempt=number, cost=1.0)

    assert [store.end_attempt(result, finished=True) for _ in range(2)] == [True, False]
    assert store.tasks()[0].cost == 1.0


async def test_a_worker_that_cannot_be_had_ends_the_run_with_the_reason(tmp_path: Path):
    class Broken(FakeExecutor):
        async def open(self, wanted: Any, ready: Any, failed: Any) -> None:
            raise ClusterError("nothing there")

    store = made(tmp_path, 1)
    with pytest.raises(ClusterError, match="nothing there"):
        await drive(store, Broken(lambda work: asyncio.sleep(0, ended(work))))
    assert store.row().state == "stopped"


def test_tasks_of_one_repository_go_where_it_is_already():
    tasks = [Task(id=f"{name}{at}", prompt="x", repository=name) for at in range(4) for name in ("a", "b")]
    queue = TaskQueue(tasks)
    first, second = (FakeWorker(lambda work: asyncio.sleep(0, ended(work)), node) for node in ("one", "two"))

    taken = [queue.take(worker) for _ in range(4) for worker in (first, second)]

    assert [task.id[0] for task in taken[::2] if task] == ["a"] * 4
    assert [task.id[0] for task in taken[1::2] if task] == ["b"] * 4


def test_a_task_goes_only_to_a_machine_that_has_what_it_needs():
    queue = TaskQueue([Task(id="a", prompt="x", resources={"gpu": 1})])
    plain, special = (FakeWorker(lambda work: asyncio.sleep(0, ended(work)), node) for node in ("one", "gpu"))

    assert queue.take(plain) is None
    assert queue.take(special) is not None


def test_only_one_process_drives_a_run(tmp_path: Path):
    store = made(tmp_path, 1)
    store.hold()

    with pytest.raises(UsageError, match="is running"):
        RunStore(str(tmp_path), "run-1").hold()
    assert find_run(str(tmp_path), "run").driver() is not None
    store.release()
    assert find_run(str(tmp_path), "last").row().state == "interrupted"
