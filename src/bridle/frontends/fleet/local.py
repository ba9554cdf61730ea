"""Workers as processes of this machine."""

import asyncio
import os
import signal
import socket
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Callable, Mapping

import msgspec

from bridle.features.budgets.ledger import Ledger
from bridle.frontends.fleet.executor import ClusterError, Needs, Worker, WorkerLost, needs_of
from bridle.frontends.fleet.records import Assignment, Progress, Result, RunOptions, Task
from bridle.frontends.fleet.worker import Begin, Cancel, Ended, Moved, Order, Ready, Report, Work
from bridle.types.budget import Payer
from bridle.version import __version__

_GRACE = 15.0
_START_SECONDS = 120.0
_MOST_FAILURES = 10
_LONGEST_LINE = 64 * 1024 * 1024
_reports = msgspec.json.Decoder(Report)


def default_workers() -> int:
    """As many as the machine has processors: sessions mostly wait, so two for each."""
    return max(2, 2 * (os.cpu_count() or 1))


class LocalWorker:
    """A process that runs one attempt after the other."""

    def __init__(self, process: Process, node: str) -> None:
        self.node = node
        self.process = process
        self._cancelled = False

    def fits(self, task: Task) -> bool:
        return needs_of(task) == Needs()

    async def begin(self, begin: Begin) -> None:
        """Wait until the process can work.

        Raises:
            WorkerLost: it ended, or is another version.
        """
        self._order(begin)
        report = await self._next()
        if not isinstance(report, Ready) or report.version != __version__:
            raise WorkerLost("the worker is another version of bridle: install the same everywhere")

    async def run(self, work: Assignment, report: Callable[[Progress], None]) -> Result:
        self._order(Work(work))
        try:
            return await self._follow(report)
        except asyncio.CancelledError:
            # The worker ends what it started before it says so.
            self._order(Cancel())
            try:
                async with asyncio.timeout(_GRACE):
                    await self._follow(report)
            except (TimeoutError, WorkerLost):
                await self.end()
            raise

    async def end(self) -> None:
        """End the process; without orders it ends what it runs and leaves."""
        if self.process.stdin is not None:
            self.process.stdin.close()
        try:
            async with asyncio.timeout(_GRACE):
                await self.process.wait()
        except TimeoutError:
            _kill(self.process)
            await self.process.wait()

    async def _follow(self, report: Callable[[Progress], None]) -> Result:
        while True:
            match await self._next():
                case Moved(progress):
                    report(progress)
                case Ended(result):
                    return result
                case _:
                    pass  # It says only once that it is ready.

    async def _next(self) -> Report:
        assert self.process.stdout is not None
        line = await self.process.stdout.readline()
        if not line.endswith(b"\n"):
            code = await self.process.wait()
            raise WorkerLost(f"the worker ended with {_named(code)}")
        return _reports.decode(line)

    def _order(self, order: Order) -> None:
        assert self.process.stdin is not None
        if not self.process.stdin.is_closing():
            self.process.stdin.write(msgspec.json.encode(order) + b"\n")


class LocalExecutor:
    """Opened by a run, which closes it."""

    def __init__(
        self, options: RunOptions, env: Mapping[str, str], *, folder: str, store: str, ledger: str
    ) -> None:
        self._ledger = ledger
        self._options = options
        self._env = env
        self._begin = Begin(folder=folder, store=store, node=socket.gethostname())
        self._workers: set[LocalWorker] = set()
        self._starting: set[asyncio.Task[None]] = set()
        self._failures = 0
        """Workers in a row that could not be started."""
        self._ready: Callable[[Worker], None] = lambda _: None
        self._failed: Callable[[ClusterError], None] = lambda _: None

    @property
    def ledger(self) -> str:
        return self._ledger

    async def open(
        self,
        wanted: Mapping[Needs, int],
        ready: Callable[[Worker], None],
        failed: Callable[[ClusterError], None],
    ) -> None:
        if special := next((needs for needs in wanted if needs != Needs()), None):
            names = ", ".join(name for name, _ in (*special.resources, *special.placement))
            raise ClusterError(f"this machine has no {names}: run the tasks on a cluster with --on ray://…")
        self._ready, self._failed = ready, failed
        count = min(self._options.workers or default_workers(), sum(wanted.values()))
        # The first shows whether there can be any.
        first = await self._start()
        ready(first)
        for _ in range(count - 1):
            self._start_one()

    def replace(self, worker: Worker) -> None:
        if isinstance(worker, LocalWorker):
            self._workers.discard(worker)
        self._start_one()

    async def spent(self, work: Assignment) -> tuple[float, int]:
        return await asyncio.to_thread(spent_in, self._ledger, work)

    async def close(self) -> None:
        for task in self._starting:
            task.cancel()
        await asyncio.gather(*self._starting, return_exceptions=True)
        await asyncio.gather(*(worker.end() for worker in self._workers))

    def _start_one(self) -> None:
        async def start() -> None:
            try:
                worker = await self._start()
            except ClusterError as error:
                self._failures += 1
                if self._failures < _MOST_FAILURES:
                    self._start_one()
                else:
                    self._failed(error)
            else:
                self._failures = 0
                self._ready(worker)

        task = asyncio.create_task(start())
        self._starting.add(task)
        task.add_done_callback(self._starting.discard)

    async def _start(self) -> LocalWorker:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-P", "-m", "bridle", "--fleet-worker",
            stdin=PIPE, stdout=PIPE, stderr=DEVNULL, env=dict(self._env), limit=_LONGEST_LINE,
            cwd=os.path.expanduser("~") if os.path.isdir(os.path.expanduser("~")) else "/",
            # A signal at the terminal is for the driver, which ends its workers in order.
            start_new_session=True,
        )  # fmt: skip
        worker = LocalWorker(process, self._begin.node)
        self._workers.add(worker)
        try:
            async with asyncio.timeout(_START_SECONDS):
                await worker.begin(self._begin)
        except (TimeoutError, WorkerLost) as error:
            self._workers.discard(worker)
            await worker.end()
            raise ClusterError(f"a worker could not be started: {error}") from error
        return worker


def spent_in(ledger: str, work: Assignment) -> tuple[float, int]:
    """What a ledger says that an attempt has used."""
    if not ledger or not os.path.exists(ledger):
        return 0.0, 0
    payer = Payer(run=work.run, project=work.run, agent=f"{work.task.id}-{work.attempt}")
    used = Ledger(ledger).used("agent", payer)
    return used.usd, used.tokens


def _kill(process: Process) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass  # It has ended just now.


def _named(code: int) -> str:
    return signal.Signals(-code).name if code < 0 else f"code {code}"
