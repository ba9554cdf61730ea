"""Workflow runs: what begins one, and the state of one for its viewers."""

from typing import Any, Literal, Protocol

import msgspec
from msgspec import UNSET, Struct

from bridle.types.services.service import Service

AgentState = Literal["waiting", "running", "done", "replayed", "failed", "skipped", "stopped"]
"""`replayed`: an earlier run had the result already; `skipped`: a person continued without it."""
RunState = Literal["running", "paused", "completed", "failed", "stopped", "interrupted", "elsewhere"]
"""`interrupted`: the program ended before the run did; `elsewhere`: another one works on it."""


class Launch(Struct, frozen=True, kw_only=True):
    """What is to be run: a script, a file with one, or a saved one by its name."""

    script: str | None = None
    path: str | None = None
    name: str | None = None
    args: Any = UNSET
    resume: str | None = None
    """The run whose results count again; alone it stands for that run's script, too."""


class Launched(Struct, frozen=True, kw_only=True):
    """A run has begun; a note will tell of its end."""

    run_id: str
    """Also the id of its background job."""
    name: str
    description: str
    script_path: str
    output_file: str
    known: int = 0
    """Results that an earlier run left and that need not be worked for again."""
    background: bool = True
    """False where nothing may run in the background: then the call waits for the end."""


class PhaseView(Struct, frozen=True, kw_only=True):
    """A part of a run, with how many of its agents stand where."""

    title: str
    detail: str = ""
    waiting: int = 0
    running: int = 0
    done: int = 0
    """Replayed ones included."""
    failed: int = 0
    """Skipped and stopped ones included."""


class AgentView(Struct, frozen=True, kw_only=True):
    """One agent of a run."""

    number: int
    """Counted from 1 in the order of the calls: how people name it."""
    label: str
    phase: str | None
    state: AgentState
    model: str
    agent_id: str | None = None
    """Its transcript is `subagents/agent-<id>.jsonl` beside the session."""
    tokens: int = 0
    tool_uses: int = 0
    seconds: float = 0.0
    preview: str = ""
    """The beginning of its result, or why there is none."""


class RunView(Struct, frozen=True, kw_only=True):
    """A run as it stands; each look is a new value."""

    run_id: str
    """Also the id of its background job."""
    name: str
    description: str
    state: RunState
    script_path: str
    phases: tuple[PhaseView, ...] = ()
    agents: tuple[AgentView, ...] = ()
    logs: tuple[str, ...] = ()
    """The newest lines that the script wrote."""
    tokens: int = 0
    started: float = 0.0
    """Seconds since the epoch."""
    ended: float | None = None
    preview: str = ""
    """The beginning of the result, or why there is none."""

    @property
    def done(self) -> int:
        return sum(phase.done for phase in self.phases)

    @property
    def live(self) -> bool:
        """Whether it can be paused and stopped."""
        return self.state in ("running", "paused")


def read_arguments(text: str) -> Any:
    """What a script gets as `args` for a text: JSON where it is an object or a list, else the text."""
    text = text.strip()
    if text[:1] not in ("{", "["):
        return text
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text


class Workflows(Protocol):
    """Begins workflow runs for a call of a tool."""

    async def start(self, launch: Launch) -> Launched:
        """Begin a run, which continues in the background.

        Raises:
            ToolError: there is no such workflow or run, or the script cannot be run.
        """
        ...


WORKFLOWS: Service[Workflows] = Service(
    "workflows",
    missing="There are no workflows in this session: use the Agent tool, or do the work yourself.",
)
