"""Drives a run: gives tasks to free workers, repeats what may be repeated, and writes down results."""

import asyncio
import time
from collections import Counter, deque
from collections.abc import AsyncGenerator, Callable, Sequence

from bridle.frontends.fleet.artifacts import StoreError
from bridle.frontends.fleet.executor import ClusterError, Executor, Needs, Worker, WorkerLost, needs_of
from bridle.frontends.fleet.records import RETRIES, Assignment, Progress, Result, RunOptions, Task
from bridle.frontends.fleet.store import RunStore

_FLUSH_SECONDS = 0.5
_WRITE_TRIES = 6
_WRITE_PAUSE = 0.2
_FIRST_BACKOFF = 1.0
_LONGEST_BACKOFF = 60.0
_MANY = 1_000
"""Tasks that a script may have at once, as far as workers are concerned."""


class Driver:
    """Drives one run once."""

    def __init__(
        self,
        store: RunStore,
        executor: Executor,
        options: RunOptions,
        *,
        lasting: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """With `lasting`, tasks come by `submit` until `finish` says that there are no more."""
        self.note = ""
        """Why the run stopped before all tasks were finished."""
        self._store = store
        self._executor = executor
        self._options = options
        self._clock = clock
        # The tasks of a script come again, in its order.
        self._queue = TaskQueue(() if lasting else store.waiting())
        self._lasting = lasting
        self._waiters: dict[str, asyncio.Future[Result]] = {}
        self._idle: list[Worker] = []
        self._busy: set[asyncio.Task[None]] = set()
        self._delayed = 0
        self._results: asyncio.Queue[Result | Exception | None] = asyncio.Queue()
        self._failures: dict[str, Counter[str]] = {}
        self._progress: list[Progress] = []
        self._stopping = False

    async def results(self) -> AsyncGenerator[Result]:
        """Every result as it comes; closing the generator ends all work.

        Raises:
            ClusterError: no worker can be had.
            StoreError: results cannot be saved.
        """
        state = "stopped"
        flushing = asyncio.create_task(self._flush_often())
        try:
            if self._queue or self._lasting:
                needs = self._queue.needs() or {Needs(): _MANY}
                await self._executor.open(needs, self._take, self._lose_hope)
                while not self._is_over():
                    item = await self._results.get()
                    if isinstance(item, Exception):
                        raise item
                    if item is not None:
                        yield item
            while not self._results.empty():
                if isinstance(item := self._results.get_nowait(), Result):
                    yield item
            if not self._stopping:
                state = "finished"
        finally:
            for each in (*self._busy, flushing):
                each.cancel()
            await asyncio.gather(*self._busy, flushing, return_exceptions=True)
            await self._executor.close()
            for waiter in self._waiters.values():
                if not waiter.done():
                    waiter.set_exception(ClusterError(self.note or "the run was stopped"))
            self._flush()
            self._store.end(state, self.note)

    async def submit(self, task: Task) -> Result:
        """Add a task and wait for its result."""
        await self._write(lambda: self._add(task))
        if self._stopping:
            raise ClusterError(self.note or "the run was stopped")
        waiter = self._waiters[task.id] = asyncio.get_running_loop().create_future()
        self._queue.put_last(task)
        self._assign()
        return await waiter

    def finish(self) -> None:
        """No more tasks will be submitted."""
        self._lasting = False
        self._results.put_nowait(None)

    def _add(self, task: Task) -> bool:
        self._store.add(task)
        return True

    def stop(self, note: str) -> None:
        """Begin no more tasks; those that run finish."""
        self._stopping, self.note = True, self.note or note
        self._results.put_nowait(None)

    def _is_over(self) -> bool:
        if not self._results.empty() or self._busy:
            return False
        return self._stopping or not (self._queue or self._delayed or self._lasting)

    def _take(self, worker: Worker) -> None:
        """A worker is free."""
        self._idle.append(worker)
        self._assign()

    def _lose_hope(self, error: ClusterError) -> None:
        """A worker could not be started; without any, the run cannot continue."""
        if not self._idle and not self._busy:
            self._results.put_nowait(error)

    def _assign(self) -> None:
        if self._stopping:
            return
        for worker in tuple(self._idle):
            task = self._queue.take(worker)
            if task is not None:
                self._idle.remove(worker)
                job = asyncio.create_task(self._work(worker, task))
                self._busy.add(job)
                job.add_done_callback(self._finish_job)

    def _finish_job(self, job: asyncio.Task[None]) -> None:
        self._busy.discard(job)
        if not job.cancelled() and isinstance(fault := job.exception(), Exception):
            self._results.put_nowait(fault)
        self._results.put_nowait(None)

    async def _work(self, worker: Worker, task: Task) -> None:
        """One attempt, and what follows from it."""
        number = await self._write(lambda: self._store.begin_attempt(task.id, node=worker.node))
        work = Assignment(
            run=self._store.id,
            task=task,
            attempt=number,
            options=self._options,
            ledger=self._executor.ledger if self._options.budget else "",
        )
        began = self._clock()
        try:
            result = await worker.run(work, self._progress.append)
        except WorkerLost as error:
            cost, tokens = await self._executor.spent(work)
            result = Result(
                task=task.id, attempt=number, status="error", kind="lost", message=str(error),
                node=worker.node, cost=cost, tokens=tokens, seconds=self._clock() - began, labels=task.labels,
            )  # fmt: skip
            self._executor.replace(worker)
        else:
            self._idle.append(worker)
        await self._settle(task, result)
        self._assign()

    async def _settle(self, task: Task, result: Result) -> None:
        failures = self._failures.setdefault(task.id, Counter())
        failures[result.kind] += 1
        allowed = {**RETRIES, **self._options.retries}.get(result.kind, 0)
        again = bool(result.kind) and failures[result.kind] <= allowed and not self._stopping
        if result.kind == "budget" and self._options.budget and not task.budget:
            # Nothing that comes later could be paid either; the task can be resumed with a larger budget.
            again = True
            self.stop(f"the budget of ${self._options.budget:g} is used up: resume with a larger --budget")
        finished = await self._write(lambda: self._store.end_attempt(result, finished=not again))
        waiter = self._waiters.pop(task.id, None) if finished or self._stopping else None
        if waiter is not None and not waiter.done():
            waiter.set_result(result)
        if finished:
            self._results.put_nowait(result)
        elif again and not self._stopping:
            self._repeat(task, failures[result.kind] if result.kind == "overloaded" else 0)

    def _repeat(self, task: Task, failures: int) -> None:
        """Put a task back, after a while where its service is too busy."""
        if not failures:
            self._queue.put_first(task)
            return
        self._delayed += 1

        def put() -> None:
            self._delayed -= 1
            self._queue.put_first(task)
            self._assign()

        asyncio.get_running_loop().call_later(
            min(_FIRST_BACKOFF * 2 ** (failures - 1), _LONGEST_BACKOFF), put
        )

    async def _write(self, job: "Callable[[], _Written]") -> "_Written":
        """Write into the store, more than once where its disk is full or busy."""
        for left in reversed(range(_WRITE_TRIES)):
            try:
                return job()
            except StoreError:
                if not left:
                    self._stopping = True
                    raise
            await asyncio.sleep(_WRITE_PAUSE * (_WRITE_TRIES - left))
        raise AssertionError

    async def _flush_often(self) -> None:
        while True:
            await asyncio.sleep(_FLUSH_SECONDS)
            self._flush()

    def _flush(self) -> None:
        events, self._progress[:] = list(self._progress), []
        if events:
            try:
                self._store.note_progress(events)
            except StoreError:
                pass  # Only how far tasks are is lost; results are written with patience.


_Written = int | bool


class TaskQueue:
    """Waiting tasks by what they need and what they can share."""

    def __init__(self, tasks: Sequence[Task]) -> None:
        self._groups: dict[tuple[Needs, str], deque[Task]] = {}
        self._seen: dict[str, set[str]] = {}
        """The machines that have had tasks of an origin."""
        for task in tasks:
            self._group(task).append(task)

    def __bool__(self) -> bool:
        return any(self._groups.values())

    def needs(self) -> dict[Needs, int]:
        """How many tasks have each kind of needs."""
        counts: dict[Needs, int] = {}
        for (needs, _), tasks in self._groups.items():
            counts[needs] = counts.get(needs, 0) + len(tasks)
        return counts

    def put_first(self, task: Task) -> None:
        self._group(task).appendleft(task)

    def put_last(self, task: Task) -> None:
        self._group(task).append(task)

    def take(self, worker: Worker) -> Task | None:
        """The best task for a worker: of an origin that its machine has, else of one that few have."""
        fitting = [
            (origin, tasks) for (_, origin), tasks in self._groups.items() if tasks and worker.fits(tasks[0])
        ]
        if not fitting:
            return None

        def rank(group: tuple[str, deque[Task]]) -> tuple[bool, int]:
            machines = self._seen.get(group[0], set())
            return (bool(group[0]) and worker.node not in machines, len(machines))

        origin, tasks = min(fitting, key=rank)
        if origin:
            self._seen.setdefault(origin, set()).add(worker.node)
        return tasks.popleft()

    def _group(self, task: Task) -> deque[Task]:
        return self._groups.setdefault((needs_of(task), task.origin), deque())
