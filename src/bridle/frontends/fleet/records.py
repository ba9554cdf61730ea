"""The records of a fleet: a task, the limits of a run, an attempt, and what a task came to."""

from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct

TaskStatus = Literal["waiting", "running", "done", "failed", "error", "cancelled"]
"""`failed`: the session finished and a check did not pass; `error`: there was no finished session."""

FailureKind = Literal[
    "", "check", "overloaded", "model", "turns", "budget", "timeout", "setup", "source", "session", "lost",
    "limits", "disk", "store", "cancelled",
]  # fmt: skip
"""Why a task or an attempt failed; `lost` is a worker or node that went away in the middle of it."""

FINISHED: tuple[TaskStatus, ...] = ("done", "failed", "error", "cancelled")

MODES = ("plan", "dontAsk", "default", "acceptEdits", "auto", "bypassPermissions")
"""Permission modes, the narrowest first."""


class Check(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A command that must succeed after the session."""

    run: str
    name: str = ""
    timeout: float = 600.0

    @property
    def title(self) -> str:
        return self.name or self.run.split("\n", 1)[0][:60]


class Task(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One piece of work: a session in a work folder of its own."""

    id: str
    prompt: str
    repository: str = ""
    """A git repository: a path or an address."""
    folder: str = ""
    """A folder that is copied."""
    archive: str = ""
    """A tar or zip file that is unpacked."""
    base: str = ""
    """The commit, branch or tag of the repository to begin at."""
    setup: tuple[str, ...] = ()
    """Commands before the session."""
    checks: tuple[Check, ...] = ()
    files: Mapping[str, str] = {}
    """Files that are written into the work folder, by their relative paths."""
    check_files: Mapping[str, str] = {}
    """Files that are written after the session and before the checks, such as hidden tests."""
    model: str = ""
    mode: str = ""
    """The permission mode; never wider than the run allows."""
    budget: float = 0.0
    """The most that the task may cost in US dollars; 0 for no limit of its own."""
    timeout: float = 0.0
    """The most seconds of one attempt; 0 for the limit of the run."""
    turns: int = 0
    """The most model calls; 0 for no limit."""
    schema: Mapping[str, Any] | None = None
    """The JSON Schema of the answer."""
    system: str = ""
    """Added to the system prompt."""
    agent: str = ""
    secrets: tuple[str, ...] = ()
    """Names of secrets that commands of the task get; the run must allow each."""
    artifacts: tuple[str, ...] = ()
    """Patterns of files to keep from the work folder."""
    resources: Mapping[str, float] = {}
    """Custom resources that the worker's machine must have, such as a GPU."""
    placement: Mapping[str, str] = {}
    """Labels that the worker's machine must have."""
    labels: Mapping[str, str] = {}
    """Words to find and group tasks by."""
    script: tuple[Mapping[str, Any], ...] = ()
    """Answers of the scripted model, for evaluations without a service."""
    settings: str = ""
    """Settings of an evaluation's cell, as JSON; task files cannot have any."""
    program: str = ""
    """Another bridle program that runs the session, to compare versions."""

    @property
    def origin(self) -> str:
        """What tasks share when they can share a cache."""
        return self.repository or self.archive or self.folder


class RunOptions(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What holds for every task of a run."""

    name: str = ""
    on: str = "local"
    workers: int = 0
    """How many tasks run at once; 0 for what the machines have processors for."""
    cpus: float = 1.0
    memory: int = 0
    """Bytes of memory that each worker asks for."""
    resources: Mapping[str, float] = {}
    placement: Mapping[str, str] = {}
    model: str = ""
    mode: str = "acceptEdits"
    """The widest permission mode that a task may have, and the usual one."""
    budget: float = 0.0
    """The most that all tasks may cost together, in US dollars."""
    timeout: float = 3_600.0
    retries: Mapping[str, int] = {}
    """How often an attempt is repeated, by kind of failure."""
    sandbox: bool = True
    network: tuple[str, ...] = ()
    """Hosts that sandboxed commands may reach."""
    secrets: tuple[str, ...] = ()
    """Names of variables of the worker that tasks may ask for."""
    trust: bool = False
    """Settings, hooks and servers of the task's folder count."""
    settings: str = ""
    store: str = ""
    """Where artifacts go: a folder, or an address that fsspec knows."""
    keep: bool = False
    """Keep the work folders of finished tasks."""
    most_processes: int = 512
    """The most processes that a task may have at once."""
    most_disk: int = 4 * 1024**3
    """The most bytes that a task may put into its work folder."""
    workspace: str = ""
    """Where work folders are made; empty for the usual place."""
    workflow: str = ""
    """The script whose agents are the tasks of the run."""
    arguments: str = ""
    """What the script is given, as JSON."""
    folder: str = ""
    """Where paths of the script begin."""
    roots: tuple[str, ...] = ()
    """Other folders that tasks of the script may name."""


RETRIES: Mapping[str, int] = {"lost": 20, "overloaded": 3, "store": 2, "source": 1, "check": 0}
"""How often an attempt is repeated when nothing is said."""


class CheckResult(Struct, frozen=True, kw_only=True):
    """How one check ended."""

    name: str
    passed: bool
    code: int
    seconds: float
    output: str = ""
    """The end of what it printed."""


KeptKind = Literal["patch", "transcript", "artifact"]


class Kept(Struct, frozen=True, kw_only=True):
    """Something of a task that is kept under the digest of its content."""

    kind: KeptKind
    name: str
    digest: str
    size: int


class Result(Struct, frozen=True, kw_only=True):
    """What one attempt at a task came to."""

    task: str
    status: TaskStatus
    attempt: int = 1
    kind: FailureKind = ""
    message: str = ""
    answer: str = ""
    output: Any = None
    """The answer in the shape that was asked for."""
    checks: tuple[CheckResult, ...] = ()
    cost: float = 0.0
    tokens: int = 0
    steps: int = 0
    seconds: float = 0.0
    session: str = ""
    branch: str = ""
    base: str = ""
    """The commit that the work began at."""
    node: str = ""
    kept: tuple[Kept, ...] = ()
    labels: Mapping[str, str] = {}

    @property
    def ok(self) -> bool:
        return self.status == "done"

    def first(self, kind: str) -> Kept | None:
        """What is kept of a kind, such as the patch."""
        return next((each for each in self.kept if each.kind == kind), None)


class Progress(Struct, frozen=True, kw_only=True):
    """How far a running attempt is."""

    task: str
    text: str
    steps: int = 0
    cost: float = 0.0
    tokens: int = 0


class Assignment(Struct, frozen=True, kw_only=True):
    """What a worker gets: one attempt at a task, and what holds for the run."""

    run: str
    task: Task
    attempt: int
    options: RunOptions
    bundle: str = ""
    """The digest of the source, where it was brought along."""
    ledger: str = ""
    """The file of the run's budget, on the machine of the worker."""
