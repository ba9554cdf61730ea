"""Work that runs in the background of a conversation."""

from collections.abc import Awaitable, Callable
from typing import Literal, Protocol

from msgspec import Struct

TaskStatus = Literal["running", "completed", "failed", "killed"]
TaskKind = Literal["local_bash", "local_agent", "local_workflow", "monitor", "mcp_call"]


class TaskUsage(Struct, frozen=True):
    """What a job has used so far."""

    tokens: int = 0
    tool_uses: int = 0
    duration_ms: int = 0


class Task(Struct, frozen=True, kw_only=True):
    """A background job as it stands now; each change is a new value."""

    id: str
    kind: TaskKind
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
    backgrounded: bool = True
    """False while a call waits for it: then its end is that call's result and no news."""
    name: str | None = None
    """What else it can be called by."""
    agent_type: str | None = None
    prompt: str | None = None
    depth: int = 0
    """How many agents stand between it and the main thread, itself included."""
    usage: TaskUsage | None = None
    last_tool: str | None = None
    result: str | None = None
    """What it has to say at its end."""
    error: str | None = None
    resident: bool = False
    """It has ended, but the process that did it waits for more: stopping it ends that."""
    hushed: bool = False
    """The user or the model ended it: its end begins no turn."""


class Tasks(Protocol):
    """The background jobs of one session, of every kind."""

    def find(self, task_id: str) -> Task | None:
        """A job by its id, or the newest one of a name."""
        ...

    def all(self) -> tuple[Task, ...]: ...

    def begin(self, task: Task, stop: Callable[[], Awaitable[None]]) -> None:
        """List a job that has begun; `stop` ends it, and returns when that is under way."""
        ...

    def change(self, task: Task) -> None:
        """The job stands differently now; a status that is not `running` is its end."""
        ...

    def read(self, task_id: str, limit: int) -> str:
        """The newest output of a job, at most `limit` characters."""
        ...

    def tell(self, task_id: str) -> None:
        """The model knows of the end of a job, or has caused it: no note is needed."""
        ...

    def is_told(self, task_id: str) -> bool:
        """Whether the model knows of the end of a job already."""
        ...

    async def wait(self, task_id: str, timeout: float) -> Task:
        """The job once it has ended, or as it stands when `timeout` seconds are over."""
        ...

    async def stop(self, task_id: str) -> Task:
        """End a job and all its children; a job that has ended stays as it is."""
        ...


class BackgroundSessions(Protocol):
    """Sessions in the background, as far as commands of a session need them."""

    @property
    def is_inside(self) -> bool:
        """Whether this session is one of them."""
        ...

    @property
    def refusal(self) -> str | None:
        """Why there may be none; None when there may."""
        ...

    def detach(self) -> None:
        """Detach every terminal from this session; it continues."""

    def stop(self) -> None:
        """End this session."""

    def move(self, prompt: str) -> None:
        """End this program and continue the conversation in the background."""

    def begin(self, session_id: str, prompt: str) -> str:
        """Continue a conversation in the background; returns the id of the job.

        Raises:
            BridleError: it cannot be started.
        """
        ...
