"""Where attempts run: what the processes of this machine and a Ray cluster have in common."""

from collections.abc import Callable, Mapping
from typing import Protocol

from msgspec import Struct

from bridle.frontends.fleet.records import Assignment, Progress, Result, Task
from bridle.types.errors import BridleError


class WorkerLost(BridleError):
    """The process or the node of an attempt went away in the middle of it."""


class ClusterError(BridleError):
    """The cluster cannot be reached or used."""


class Worker(Protocol):
    """One place for one attempt at a time."""

    @property
    def node(self) -> str:
        """The machine; workers of one machine share caches."""
        ...

    def fits(self, task: Task) -> bool:
        """Whether its machine has what the task asks for."""
        ...

    async def run(self, work: Assignment, report: Callable[[Progress], None]) -> Result:
        """Do one attempt; cancelling ends it and all that it started.

        Raises:
            WorkerLost: the worker is gone and can do no more.
        """
        ...


class Executor(Protocol):
    """Keeps workers ready for a run."""

    @property
    def ledger(self) -> str:
        """The file of the budget on the machine of the workers; empty for none."""
        ...

    async def open(
        self,
        wanted: "Mapping[Needs, int]",
        ready: Callable[[Worker], None],
        failed: Callable[[ClusterError], None],
    ) -> None:
        """Start workers for tasks with these needs; `ready` gets each when it can work.

        `failed` gets the reason when one cannot be started later.

        Raises:
            ClusterError: there can be no workers.
        """
        ...

    def replace(self, worker: Worker) -> None:
        """Start another worker for one that is lost."""
        ...

    async def spent(self, work: Assignment) -> tuple[float, int]:
        """The dollars and tokens of an attempt whose worker could not say."""
        ...

    async def close(self) -> None:
        """End every worker and all that it started."""
        ...


class Needs(Struct, frozen=True):
    """What a task asks of its machine."""

    resources: tuple[tuple[str, float], ...] = ()
    placement: tuple[tuple[str, str], ...] = ()


def needs_of(task: Task) -> Needs:
    return Needs(tuple(sorted(task.resources.items())), tuple(sorted(task.placement.items())))
