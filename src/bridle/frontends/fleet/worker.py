"""A worker of this machine: a process that takes one attempt after the other on its standard input."""

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable, Mapping

import msgspec
from msgspec import Struct

from bridle.frontends.fleet.artifacts import open_artifacts
from bridle.frontends.fleet.attempt import WorkerContext, run_attempt
from bridle.frontends.fleet.budget import open_ledger
from bridle.frontends.fleet.records import Assignment, Progress, Result
from bridle.host.jsonlines import read_lines
from bridle.host.streams import Output
from bridle.version import __version__

_LAST_WORDS = 10.0


class Begin(Struct, frozen=True, kw_only=True, tag="begin"):
    """The first line: what holds for all attempts."""

    folder: str
    store: str
    node: str = ""


class Work(Struct, frozen=True, tag="work"):
    assignment: Assignment


class Cancel(Struct, frozen=True, tag="cancel"):
    """End the attempt that runs."""


class Ready(Struct, frozen=True, tag="ready"):
    """The worker can take an attempt."""

    version: str


class Moved(Struct, frozen=True, tag="progress"):
    progress: Progress


class Ended(Struct, frozen=True, tag="result"):
    result: Result


Order = Begin | Work | Cancel
Report = Ready | Moved | Ended

_orders = msgspec.json.Decoder(Order)


async def serve(env: Mapping[str, str], *, input: int, output: int) -> int:
    """Take orders until there are no more; whatever runs then is ended."""
    out = Output(output)
    worker = _Worker(env, out)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, worker.cancel)
    try:
        async for line in read_lines(input):
            worker.take(_orders.decode(line))
    finally:
        await worker.close()
    return 0


class _Worker:
    def __init__(self, env: Mapping[str, str], out: Output) -> None:
        self._env = env
        self._out = out
        self._begin: Begin | None = None
        self._running: asyncio.Task[None] | None = None

    def take(self, order: Order) -> None:
        match order:
            case Begin():
                self._begin = order
                self._say(Ready(__version__))
            case Work(assignment):
                self._running = asyncio.create_task(self._run(assignment))
            case Cancel():
                self.cancel()

    def cancel(self) -> None:
        if self._running is not None:
            self._running.cancel()

    async def close(self) -> None:
        self.cancel()
        if self._running is not None:
            await asyncio.wait((self._running,), timeout=_LAST_WORDS)

    async def _run(self, work: Assignment) -> None:
        assert self._begin is not None, "the driver begins with what holds for all attempts"
        context = WorkerContext(
            env=self._env,
            folder=self._begin.folder,
            artifacts=open_artifacts(self._begin.store),
            ledger=open_ledger(work.ledger) if work.ledger else None,
            node=self._begin.node,
        )
        try:
            result = await run_attempt(work, context, self._report)
        except asyncio.CancelledError:
            result = cancelled(work)
            # The worker stays; only the attempt was to end.
            task = asyncio.current_task()
            if task is not None:
                task.uncancel()
        self._say(Ended(result))

    def _report(self, progress: Progress) -> None:
        self._say(Moved(progress))

    def _say(self, report: Report) -> None:
        self._out.write(msgspec.json.encode(report) + b"\n")


def cancelled(work: Assignment) -> Result:
    """The result of an attempt that was ended by the user."""
    return Result(
        task=work.task.id,
        attempt=work.attempt,
        status="cancelled",
        kind="cancelled",
        message="cancelled",
        labels=work.task.labels,
    )


def run_worker(env: Mapping[str, str], *, input: int, output: int) -> int:
    """The whole life of a worker process."""
    # What sessions and libraries print must not look like a report.
    reports = os.dup(output)
    with open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), output)
    with contextlib.closing(asyncio.new_event_loop()) as loop:
        asyncio.set_event_loop(loop)
        return loop.run_until_complete(serve(env, input=input, output=reports))


Sink = Callable[[Progress], None]
