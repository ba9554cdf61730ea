"""What bears on a permission decision, and the decision."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Literal, NotRequired, TypedDict

from msgspec import Struct

Mode = Literal["default", "acceptEdits", "plan", "bypassPermissions", "dontAsk", "auto"]
MODES: tuple[Mode, ...] = ("default", "acceptEdits", "plan", "bypassPermissions", "dontAsk", "auto")

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

    def __str__(self) -> str:
        return self.tool if self.content is None else f"{self.tool}({self.content})"


ReasonType = Literal[
    "rule", "mode", "hook", "workingDir", "safetyCheck", "subcommandResults", "classifier", "asyncAgent",
    "sandboxOverride", "permissionPromptTool", "other",
]  # fmt: skip


class Allow(Struct, frozen=True):
    reason: str
    reason_type: ReasonType = "other"
    rule: Rule | None = None


class Ask(Struct, frozen=True):
    reason: str
    reason_type: ReasonType = "other"
    rule: Rule | None = None
    suggestions: tuple[Mapping[str, Any], ...] = ()


class Deny(Struct, frozen=True):
    reason: str
    reason_type: ReasonType = "other"
    rule: Rule | None = None


Decision = Allow | Ask | Deny


class Place(Struct, frozen=True):
    """A path and everywhere it leads."""

    path: str
    """Absolute and normalised, as it was named."""
    hops: tuple[str, ...] = ()
    """Every other spelling met while following links, the last being where it ends."""

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
    rules: tuple[Rule, ...] = ()
    mode: Mode = "default"
    cwd: str
    roots: tuple[str, ...] = ()
    """Working directories, each where it leads and as it was named; the project's is first."""
    readable: tuple[str, ...] = ()
    """Folders that may be read but are not worked in, such as the session's saved outputs."""
    home: str | None = None
    config_home: str | None = None
    """Where `~/` and, in the user's settings, `/` begin."""
    hook: Decision | None = None
    """What pre-call hooks said, already folded into one."""
