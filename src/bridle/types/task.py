"""Work that goes on beside the conversation."""

from typing import Literal, Protocol

from msgspec import Struct

TaskStatus = Literal["running", "completed", "failed", "killed"]


class Task(Struct, frozen=True, kw_only=True):
    """A background job as it stands now; each change is a new value."""

    id: str
    kind: Literal["local_bash", "local_agent"]
    description: str
    call_id: str
    """The tool call that started it."""
    command: str = ""
    status: TaskStatus = "running"
    output_file: str
    exit_code: int | None = None
    started: float
    """Seconds since the epoch."""
    ended: float | None = None


class Tasks(Protocol):
    """The background jobs of one session."""

    def find(self, task_id: str) -> Task | None: ...

    def all(self) -> tuple[Task, ...]: ...

    def read(self, task_id: str, limit: int) -> str:
        """The newest output of a job, at most `limit` characters."""
        ...

    async def wait(self, task_id: str, timeout: float) -> Task:
        """The job once it has ended, or as it stands when `timeout` seconds are over."""
        ...

    async def stop(self, task_id: str) -> Task:
        """End a job and all its children; a job that has ended stays as it is."""
        ...
