"""What runs on the machines of a Ray cluster: a worker for one attempt at a time, and the ledger of a run."""

import asyncio
import os
import socket
import time
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import msgspec

from bridle.features.budgets.ledger import Ledger, Refusal
from bridle.frontends.fleet.artifacts import digest_of, is_remote, open_artifacts
from bridle.frontends.fleet.attempt import WorkerContext, run_attempt
from bridle.frontends.fleet.records import Assignment, Progress, Result
from bridle.frontends.fleet.sources import place
from bridle.frontends.fleet.store import work_folder
from bridle.frontends.fleet.worker import cancelled
from bridle.types.budget import Budgets, Charge, Payer, Scope
from bridle.types.errors import OverBudget
from bridle.version import __version__

_TELL_SECONDS = 0.5
_ANSWER_SECONDS = 60.0


class InMemory:
    """Keeps artifacts until the driver takes them, where the store is a folder of its machine."""

    def __init__(self) -> None:
        self.kept: dict[str, bytes] = {}

    async def put(self, data: bytes) -> str:
        digest = digest_of(data)
        self.kept[digest] = data
        return digest

    async def get(self, digest: str) -> bytes:
        return self.kept[digest]

    async def remove(self, digest: str) -> None:
        self.kept.pop(digest, None)


class RayWorker:
    """An actor; its methods take and give bytes, so that every version of Ray can carry them."""

    def __init__(self, folder: str, store: str, coordinator: Any) -> None:
        self._folder = folder or work_folder(os.environ)
        self._store = store
        self._coordinator = coordinator
        self._running: asyncio.Task[Result] | None = None
        self._node = ""

    async def hello(self) -> tuple[str, str, int]:
        """The version, the machine, and the process."""
        context = import_module("ray").get_runtime_context()
        self._node = f"{socket.gethostname()}-{context.get_node_id()[:6]}"
        return __version__, self._node, os.getpid()

    async def run(self, work: bytes, source: Sequence[Any]) -> tuple[bytes, dict[str, bytes]]:
        """Do one attempt; the result, and what it keeps where the store is on the driver's machine.

        `source` holds a reference to the packed source, if it was packed.
        """
        assignment = msgspec.json.decode(work, type=Assignment)
        if source:
            data: bytes = await source[0]
            task = await asyncio.to_thread(place, assignment.task, data, self._folder)
            assignment = msgspec.structs.replace(assignment, task=task)
        memory = InMemory()
        context = WorkerContext(
            env={name: value for name, value in os.environ.items() if not name.startswith("RAY_")},
            folder=self._folder,
            artifacts=open_artifacts(self._store) if is_remote(self._store) else memory,
            ledger=RayLedger(self._coordinator) if assignment.options.budget else None,
            node=self._node,
        )
        self._running = asyncio.create_task(run_attempt(assignment, context, _Teller(self._coordinator)))
        try:
            result = await asyncio.shield(self._running)
        except asyncio.CancelledError:
            self._running.cancel()
            await asyncio.wait((self._running,))
            result = cancelled(assignment)
        return msgspec.json.encode(result), memory.kept

    async def cancel(self) -> None:
        """End the attempt that runs."""
        if self._running is not None:
            self._running.cancel()


class _Teller:
    """Tells the driver how far an attempt is, now and then."""

    def __init__(self, coordinator: Any) -> None:
        self._coordinator = coordinator
        self._last = 0.0

    def __call__(self, progress: Progress) -> None:
        if (now := time.monotonic()) - self._last >= _TELL_SECONDS:
            self._last = now
            self._coordinator.note.remote(msgspec.json.encode(progress))


class Coordinator:
    """An actor: the ledger of a run for workers on any machine, and news on their way to the driver."""

    def __init__(self, ledger: str) -> None:
        self._ledger = Ledger(ledger)
        self._news: list[bytes] = []

    def reserve(self, payer: Payer, charge: Charge, budgets: Budgets) -> int | Refusal:
        return self._ledger.reserve(payer, charge, budgets)

    def settle(
        self, reservation: int | None, payer: Payer, charge: Charge | None, about: dict[str, Any]
    ) -> None:
        self._ledger.settle(reservation, payer, charge, **about)

    def used(self, scope: Scope, payer: Payer) -> Charge:
        return self._ledger.used(scope, payer)

    def release(self, payer: Payer) -> Charge:
        """Give back what a lost worker had reserved; what it had used."""
        self._ledger.release(payer)
        return self._ledger.used("agent", payer)

    def note(self, progress: bytes) -> None:
        self._news.append(progress)

    def drain(self) -> list[bytes]:
        """What was noted since the last call."""
        news, self._news = self._news, []
        return news


class RayLedger:
    """The ledger of a run as its workers use it; every call blocks its thread."""

    def __init__(self, coordinator: Any) -> None:
        self._coordinator = coordinator

    def reserve(self, payer: Payer, charge: Charge, budgets: Budgets) -> int | Refusal:
        return self._ask(self._coordinator.reserve.remote(payer, charge, dict(budgets)))

    def settle(
        self,
        reservation: int | None,
        payer: Payer,
        charge: Charge | None,
        *,
        model: str = "",
        source: str = "",
        output: int = 0,
    ) -> None:
        about = {"model": model, "source": source, "output": output}
        self._ask(self._coordinator.settle.remote(reservation, payer, charge, about))

    def used(self, scope: Scope, payer: Payer) -> Charge:
        return self._ask(self._coordinator.used.remote(scope, payer))

    def _ask(self, answer: Any) -> Any:
        """Wait for the coordinator; without it nothing may be spent.

        Raises:
            OverBudget: it does not answer.
        """
        ray: Any = import_module("ray")
        try:
            return ray.get(answer, timeout=_ANSWER_SECONDS)
        except ray.exceptions.RayError as error:
            raise OverBudget("The ledger of the run does not answer.", kind="billing_error") from error
