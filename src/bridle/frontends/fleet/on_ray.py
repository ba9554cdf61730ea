"""Workers as actors of a Ray cluster: Ray places them, and starts machines where it autoscales."""

import asyncio
import logging
import os
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

import msgspec

from bridle.frontends.fleet.artifacts import Artifacts, is_remote, open_artifacts
from bridle.frontends.fleet.executor import ClusterError, Needs, Worker, WorkerLost, needs_of
from bridle.frontends.fleet.ray_worker import Coordinator, RayWorker
from bridle.frontends.fleet.records import Assignment, Progress, Result, RunOptions, Task
from bridle.frontends.fleet.sources import is_local, pack
from bridle.frontends.fleet.workspace import AttemptError
from bridle.types.budget import Charge, Payer
from bridle.version import __version__

_REACH_SECONDS = 10.0
_GRACE = 15.0
_NEWS_SECONDS = 0.5
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_USUAL_PORT = {"ray": 10_001, "": 6_379}
_ONE_ATTEMPT = 8
"""Calls that a worker answers at once: an attempt, and that it is to end."""


class RemoteWorker:
    """An actor that runs one attempt after the other."""

    def __init__(self, executor: "RayExecutor", needs: Needs, actor: Any) -> None:
        self.node = ""
        self.needs = needs
        self.actor = actor
        self.pid = 0
        self._executor = executor

    def fits(self, task: Task) -> bool:
        return needs_of(task) == self.needs

    async def greet(self) -> None:
        """Wait until the actor has a machine.

        Raises:
            ClusterError: its bridle is another version.
        """
        version, self.node, self.pid = await self.actor.hello.remote()
        if version != __version__:
            raise ClusterError(
                f"the workers have bridle {version}, this machine has {__version__}: install the same"
            )

    async def run(self, work: Assignment, report: Callable[[Progress], None]) -> Result:
        executor = self._executor
        executor.listeners[work.task.id] = report
        call: Any = None
        try:
            source = await executor.source_of(work.task)
            call = self.actor.run.remote(msgspec.json.encode(work), source)
            data, kept = await call
            for each in kept.values():
                await executor.artifacts.put(each)
            return msgspec.json.decode(data, type=Result)
        except AttemptError as error:
            return Result(
                task=work.task.id, attempt=work.attempt, status="error", kind=error.kind, message=str(error),
                node=self.node, labels=work.task.labels,
            )  # fmt: skip
        except executor.faults as error:
            raise WorkerLost(_short(error)) from error
        except asyncio.CancelledError:
            if call is not None:
                await self._end_attempt(call)
            raise
        finally:
            executor.listeners.pop(work.task.id, None)

    async def _end_attempt(self, call: Any) -> None:
        """Let the worker end what it started, so that nothing of it is left."""
        try:
            async with asyncio.timeout(_GRACE):
                await self.actor.cancel.remote()
                await call
        except (TimeoutError, *self._executor.faults):
            pass  # It is ended with its actor.


class RayExecutor:
    """Opened by a run, which closes it."""

    def __init__(
        self, options: RunOptions, env: Mapping[str, str], *, run: str, folder: str, ledger: str
    ) -> None:
        self.listeners: dict[str, Callable[[Progress], None]] = {}
        self.artifacts: Artifacts = open_artifacts(options.store)
        self.faults: tuple[type[BaseException], ...] = ()
        self._options = options
        self._env = env
        self._run = run
        self._folder = folder
        self._ledger = ledger
        self._ray: Any = None
        self._owns_connection = False
        self._coordinator: Any = None
        self._workers: set[RemoteWorker] = set()
        self._waiting: set[asyncio.Task[None]] = set()
        self._sources: dict[str, asyncio.Task[Any]] = {}
        self._news: asyncio.Task[None] | None = None
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
        self._ready, self._failed = ready, failed
        await self._connect()
        self._coordinator = self._make_coordinator()
        slots = self._options.workers or await asyncio.to_thread(self._slots)
        for needs, count in _shares(wanted, slots).items():
            for _ in range(count):
                self._start(needs)
        self._news = asyncio.create_task(self._follow_news())

    def replace(self, worker: Worker) -> None:
        if isinstance(worker, RemoteWorker):
            self._workers.discard(worker)
            self._kill(worker.actor)
            self._start(worker.needs)

    async def spent(self, work: Assignment) -> tuple[float, int]:
        if not self._options.budget:
            return 0.0, 0
        payer = Payer(run=work.run, project=work.run, agent=f"{work.task.id}-{work.attempt}")
        try:
            used: Charge = await self._coordinator.release.remote(payer)
        except self.faults as error:
            raise ClusterError(f"the ledger of the run is lost: {_short(error)}") from error
        return used.usd, used.tokens

    async def close(self) -> None:
        for task in (*self._waiting, *self._sources.values(), *filter(None, (self._news,))):
            task.cancel()
        await asyncio.gather(*self._waiting, return_exceptions=True)
        if self._ray is None:
            return
        for actor in (*(worker.actor for worker in self._workers), self._coordinator):
            if actor is not None:
                self._kill(actor)
        if self._owns_connection:
            await asyncio.to_thread(self._ray.shutdown)

    async def source_of(self, task: Task) -> list[Any]:
        """A reference to the packed source of a task, made once for all tasks that share it.

        Raises:
            AttemptError: it cannot be packed.
        """
        if not is_local(task):
            return []

        async def make() -> Any:
            data = await pack(task, self._folder, self._env)
            return await asyncio.to_thread(self._ray.put, data)

        if task.origin not in self._sources:
            self._sources[task.origin] = asyncio.create_task(make())
        return [await asyncio.shield(self._sources[task.origin])]

    async def _connect(self) -> None:
        """Connect to the cluster, unless this process is part of one already.

        Raises:
            ClusterError: it cannot be reached, or Ray is not installed.
        """
        address = self._options.on
        host = _host_of(address)
        if host in _LOOPBACK:
            # Ray takes another address of this machine for its own, where such a cluster does not listen.
            os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
        try:
            self._ray = await asyncio.to_thread(import_module, "ray")
        except ImportError as error:
            raise ClusterError("this needs Ray: pip install 'bridle[fleet]', or use --on local") from error
        # It warns of signals that it does not take over here.
        logging.getLogger("ray").setLevel(logging.ERROR)
        self.faults = (self._ray.exceptions.RayError,)
        if self._ray.is_initialized():
            return
        await _reach(address)
        self._owns_connection = True
        try:
            await asyncio.to_thread(
                self._ray.init,
                address=None if address in ("ray", "auto") else address,
                namespace=f"bridle-{self._run}",
                log_to_driver=False,
                configure_logging=False,
                ignore_reinit_error=True,
            )
        except (ConnectionError, RuntimeError, ValueError, ImportError, *self.faults) as error:
            raise ClusterError(f"can't use the Ray cluster {address}: {_short(error)}") from error

    def _make_coordinator(self) -> Any:
        actor = self._ray.remote(num_cpus=0, max_restarts=0)(Coordinator)
        if not self._options.on.startswith("ray://"):
            # Beside the driver, whose disk keeps the ledger for a resume.
            strategies: Any = import_module("ray.util.scheduling_strategies")
            here = self._ray.get_runtime_context().get_node_id()
            actor = actor.options(
                scheduling_strategy=strategies.NodeAffinitySchedulingStrategy(here, soft=False)
            )
        return actor.remote(self._ledger)

    def _slots(self) -> int:
        """As many workers as the cluster has processors for."""
        processors = self._ray.cluster_resources().get("CPU", 1.0)
        return max(1, int(processors / max(self._options.cpus, 0.01)))

    def _start(self, needs: Needs) -> None:
        options = self._options
        resources = {**options.resources, **dict(needs.resources)}
        wanted: dict[str, Any] = {
            "num_cpus": options.cpus,
            "max_restarts": 0,
            "max_concurrency": _ONE_ATTEMPT,
        }
        if gpus := resources.pop("GPU", 0.0) or resources.pop("gpu", 0.0):
            wanted["num_gpus"] = gpus
        if resources:
            wanted["resources"] = resources
        if options.memory:
            wanted["memory"] = options.memory
        if labels := {**options.placement, **dict(needs.placement)}:
            wanted["label_selector"] = labels
        store = options.store if is_remote(options.store) else ""
        actor = (
            self._ray.remote(RayWorker).options(**wanted).remote(options.workspace, store, self._coordinator)
        )
        worker = RemoteWorker(self, needs, actor)
        self._workers.add(worker)

        async def wait() -> None:
            try:
                await worker.greet()
            except ClusterError as error:
                self._failed(error)
            except self.faults as error:
                self._workers.discard(worker)
                self._failed(ClusterError(f"a worker could not be started: {_short(error)}"))
                self._start_later(needs)
            else:
                self._ready(worker)

        task = asyncio.create_task(wait())
        self._waiting.add(task)
        task.add_done_callback(self._waiting.discard)

    def _start_later(self, needs: Needs) -> None:
        """Try once more where a machine was lost before its worker was there."""
        asyncio.get_running_loop().call_later(1.0, self._start, needs)

    async def _follow_news(self) -> None:
        while True:
            await asyncio.sleep(_NEWS_SECONDS)
            try:
                news: list[bytes] = await self._coordinator.drain.remote()
            except self.faults:
                continue  # Only how far tasks are is missing.
            for each in news:
                progress = msgspec.json.decode(each, type=Progress)
                if (listener := self.listeners.get(progress.task)) is not None:
                    listener(progress)

    def _kill(self, actor: Any) -> None:
        try:
            self._ray.kill(actor)
        except self.faults:
            pass  # It is gone.


def _shares(wanted: Mapping[Needs, int], slots: int) -> dict[Needs, int]:
    """How many workers each kind of needs gets, at least one."""
    total = sum(wanted.values())
    return {
        needs: max(1, min(count, round(slots * count / total) if len(wanted) > 1 else slots))
        for needs, count in wanted.items()
    }


def _host_of(address: str) -> str:
    place = address.partition("://")[2] or address
    return place.rpartition(":")[0] or place


async def _reach(address: str) -> None:
    """See that something listens; Ray itself tries for minutes.

    Raises:
        ClusterError: nothing does.
    """
    if address in ("ray", "auto"):
        return
    scheme, _, place = address.rpartition("://")
    host, _, port = place.rpartition(":")
    number = int(port) if host and port.isdigit() else _USUAL_PORT.get(scheme, 6_379)
    try:
        async with asyncio.timeout(_REACH_SECONDS):
            _, writer = await asyncio.open_connection(host or place, number)
    except (OSError, TimeoutError) as error:
        raise ClusterError(
            f"no Ray cluster answers at {host or place}:{number}: start one with ray start --head"
        ) from error
    writer.close()


def _short(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0][:200] if lines else type(error).__name__
