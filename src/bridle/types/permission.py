"""What bears on a permission decision, the decision, and what it lets a call do."""

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any, Literal, NotRequired, TypedDict

from msgspec import Struct

from bridle.types.sandbox import Refusal, Sandbox, View
from bridle.types.shell import Reading

Mode = Literal["default", "acceptEdits", "plan", "bypassPermissions", "dontAsk", "auto", "bubble"]
"""`bubble` is for sub-agents whose questions go to the channel of their parent; no one can choose it."""
MODES: tuple[Mode, ...] = ("default", "acceptEdits", "plan", "bypassPermissions", "dontAsk", "auto")

_MOST_DENIALS_IN_A_ROW = 3
_MOST_DENIALS = 20

RuleSource = Literal[
    "userSettings",
    "projectSettings",
    "localSettings",
    "flagSettings",
    "policySettings",
    "cliArg",
    "command",
    "session",
]


class Effect(StrEnum):
    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"


class Rule(Struct, frozen=True):
    """`Tool` or `Tool(content)` with the effect it has and where it was written."""

    effect: Effect
    tool: str
    content: str | None = None
    source: RuleSource = "session"
    file: str | None = None
    line: int | None = None
    """Where it was read, when it comes from a file."""

    def __str__(self) -> str:
        return self.tool if self.content is None else f"{self.tool}({self.content})"


ReasonType = Literal[
    "rule", "mode", "hook", "workingDir", "safetyCheck", "subcommandResults", "classifier", "asyncAgent",
    "sandboxOverride", "permissionPromptTool", "other",
]  # fmt: skip


class PartDecision(Struct, frozen=True):
    """What is thought of one simple command of a shell command."""

    command: str
    decision: Literal["allow", "ask", "deny"]
    reason: str


Judged = Literal["", "read", "edit"]
"""What a command was taken to do when only judgment allowed it: read, or edit working folders as well."""


class Allow(Struct, frozen=True):
    reason: str
    reason_type: ReasonType = "other"
    rule: Rule | None = None
    parts: tuple[PartDecision, ...] = ()
    judged: Judged = ""
    """Empty when a rule, a person, a hook or a mode names the call, or when the sandbox holds it."""


class Ask(Struct, frozen=True):
    reason: str
    reason_type: ReasonType = "other"
    rule: Rule | None = None
    suggestions: tuple["PermissionUpdate", ...] = ()
    """Changes that would keep the same question from being asked again."""
    lasting: tuple["PermissionUpdate", ...] = ()
    """Rules alone that do so in later sessions as well; none where rules are not enough."""
    parts: tuple[PartDecision, ...] = ()
    blocked_path: str | None = None
    """The path that gave rise to the doubt."""
    needs_person: bool = False
    """No model may settle it in a person's place."""


class Deny(Struct, frozen=True):
    reason: str
    reason_type: ReasonType = "other"
    rule: Rule | None = None
    parts: tuple[PartDecision, ...] = ()
    suggestions: tuple["PermissionUpdate", ...] = ()
    """Changes that would allow the call."""


Decision = Allow | Ask | Deny


class ResolvedPath(Struct, frozen=True):
    """A path and everywhere it leads."""

    path: str
    """Absolute and normalized, as it was named."""
    hops: tuple[str, ...] = ()
    """Every other spelling met while following links, the last being where it ends."""
    folder: bool = False
    """It ends at a folder."""

    @property
    def target(self) -> str:
        return self.hops[-1] if self.hops else self.path

    @property
    def spellings(self) -> tuple[str, ...]:
        return (self.path, *self.hops)


class RuleValue(TypedDict):
    """A rule as hosts and settings exchange it."""

    toolName: str
    ruleContent: NotRequired[str | None]


class PermissionUpdate(TypedDict):
    """A change of rules, mode or folders, with where it is kept; the fields depend on the type."""

    type: Literal["addRules", "replaceRules", "removeRules", "setMode", "addDirectories", "removeDirectories"]
    destination: Literal["userSettings", "projectSettings", "localSettings", "session", "cliArg"]
    rules: NotRequired[list[RuleValue]]
    behavior: NotRequired[Literal["allow", "deny", "ask"]]
    mode: NotRequired[str]
    directories: NotRequired[list[str]]


class Access(Struct, frozen=True):
    """Files that a call touches, with links not yet followed."""

    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()


class Case(Struct, frozen=True, kw_only=True):
    """One call before the gate, with everything that may be weighed; deciding does no I/O of its own."""

    tool: str
    input: Mapping[str, Any]
    subject: str
    read_only: bool
    access: Access = Access()
    places: Mapping[str, ResolvedPath] = {}
    """Where each path that the call or its command names leads; one that is not here leads nowhere else."""
    reading: Reading | None = None
    """The command taken apart, when the call is one."""
    rules: tuple[Rule, ...] = ()
    mode: Mode = "default"
    cwd: str
    start: tuple[str, ...] = ()
    """The project's directory, as it was named and where it leads: relative patterns begin there."""
    roots: tuple[str, ...] = ()
    """Working directories, each where it leads and as it was named; the project's is first."""
    readable: tuple[str, ...] = ()
    """Folders that may be read but are not worked in, such as the session's saved outputs."""
    own: tuple[str, ...] = ()
    """Files and folders of notes that the model itself is asked to keep, such as the plan."""
    home: str | None = None
    config_home: str | None = None
    """Where `~/` and, in the user's settings, `/` begin."""
    hook: Decision | None = None
    """What pre-call hooks said, already folded into one."""
    confined: bool = False
    """A boundary of the kernel holds around this command, and the user lets such commands run unasked."""
    leaves_sandbox: bool = False
    """The call asks to run outside the boundary."""
    local_host: bool = False
    """The address named is this machine or in a network around it."""
    attended: bool = False
    """A person may be asked, so that plan mode asks about what it would refuse."""
    checkout: str | None = None
    """The main checkout of the repository, while the session must leave it as it is."""
    kept_back: tuple[str, ...] | None = None
    """Files in the working folders that rules keep from being read; None when it is not known which."""

    def place(self, path: str) -> ResolvedPath:
        return self.places.get(path) or ResolvedPath(path)

    @property
    def touched(self) -> tuple[str, ...]:
        """Every file that the call names, as far as that is known."""
        parts = self.reading.parts if self.reading is not None else ()
        named = (path for part in parts for path in (*part.reads, *part.writes))
        return (*self.access.reads, *self.access.writes, *named)


class Permit(Struct, frozen=True, kw_only=True):
    """What the gate let one call do, and what holds it to that."""

    approved: Mapping[str, str] = {}
    """Where each path led when the gate let the call through; what leads elsewhere by now is refused."""
    sandbox: Sandbox | None = None
    confined: bool = False
    """The gate decided on a command that runs in the sandbox: it runs there or not at all."""
    local_host: bool = False
    """A person, or a rule that names the host, let the call reach this machine or a network around it."""
    view: View | None = None
    """What a command that only judgment allowed is held to; None when something else allowed it."""
    refused: Callable[[Refusal], None] = lambda _: None
    """Called with what a view kept a background command from."""
    hides: Callable[[str], bool] = lambda _: False
    """Whether a rule keeps the file at this absolute path from being read."""


class DenialCount(Struct, frozen=True):
    """How often auto mode has denied calls.

    A child begins with the count of its parent, so that delegating work never resets it.
    """

    consecutive: int = 0
    total: int = 0

    def plus_one(self) -> "DenialCount":
        return DenialCount(self.consecutive + 1, self.total + 1)

    def after_success(self) -> "DenialCount":
        """The row is broken; the same value when there is none."""
        return DenialCount(0, self.total) if self.consecutive else self

    @property
    def exhausted(self) -> bool:
        """Whether a refusal is by now a question for a person."""
        return self.consecutive >= _MOST_DENIALS_IN_A_ROW or self.total >= _MOST_DENIALS
