"""What a tool is: an input type, an async function, and a few facts about its effects."""

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar

from msgspec import Meta, Struct

from bridle.types.block import AssistantMessage, ResultContent
from bridle.types.errors import ToolError
from bridle.types.model import ToolDefinition
from bridle.types.permission import Access, Permit
from bridle.types.question import Answer, Question
from bridle.types.services.service import Offered, Service
from bridle.types.workspace import Workspace

if TYPE_CHECKING:
    from bridle.types.services.checkpoints import Changes
    from bridle.types.services.delegation import AgentReport, Delegation

Input = TypeVar("Input", bound=Struct)

UNLISTED = Meta(extra_json_schema={"unlisted": True})
"""Marks a parameter that is accepted and hidden from the model: an old name, or one that others fill in."""


Delegate = Callable[["Delegation"], Awaitable["AgentReport"]]
"""Hands work to another agent."""


class Consultation(Struct, frozen=True, kw_only=True):
    """A question that a tool puts to a model on the side, counted and budgeted like any other call."""

    prompt: str
    purpose: str
    """What its cost is listed as."""
    system: str = ""
    role: Literal["small", "main"] = "small"
    tools: tuple[ToolDefinition, ...] = ()
    max_tokens: int = 4096


class ListedTask(Struct, frozen=True, kw_only=True):
    """An item of a task list that was just made or is about to be done."""

    moment: Literal["created", "completed"]
    id: str
    subject: str
    description: str | None = None
    owner: str | None = None
    team: str | None = None


class ToolContext(Struct, frozen=True, kw_only=True):
    """What a running call may see and use."""

    call_id: str
    session_id: str
    workspace: Workspace
    storage: str
    """A private directory for this session's large outputs; made by the first write."""
    env: Mapping[str, str]
    """The environment for child processes, and for limits that users set by variables."""
    progress: Callable[[str], None]
    """Show progress: the newest output of a long call."""
    ask: Callable[[Question], Awaitable[Answer]]
    consult: Callable[[Consultation], Awaitable[AssistantMessage]]
    permit: Permit = Permit()
    changes: "Changes | None" = None
    """Called by tools before files change; None where changes are not kept for undo."""
    agent_id: str | None = None
    """The agent that makes the call; None for the main thread."""
    offered: Callable[[], Sequence[str]] = tuple
    """The names of the tools that the thread has which makes the call."""
    services: Callable[[Service[Any]], Any] = lambda _: None
    """What features offer to this call; `service` and `need` ask for it."""

    @property
    def cwd(self) -> str:
        return self.workspace.cwd

    def service(self, key: Service[Offered]) -> Offered | None:
        """What a feature offers under a key; None where there is none."""
        return self.services(key)

    def need(self, key: Service[Offered]) -> Offered:
        """What a feature offers under a key, for a tool that can do nothing without it.

        Raises:
            ToolError: no feature of this session offers it.
        """
        if (found := self.services(key)) is None:
            raise ToolError(key.missing)
        return found


class ToolOutput(Struct, frozen=True, kw_only=True):
    """A finished call: what the model reads, and the same as data for hooks, hosts and transcripts."""

    content: str | list[ResultContent]
    data: Any
    is_error: bool = False
    beside: tuple[str, ...] = ()
    """Text that the model reads after the result and that stays when old results are cleared."""
    exit_code: int | None = None
    """How a command ended that ended on its own."""


Kind = Literal[
    "advice", "agent", "choice", "command", "edit", "fetch", "list", "notebook", "other", "plan",
    "plan_start", "read", "search", "skill", "task", "task_list", "task_output", "task_stop", "todo", "watch",
    "web_search", "workflow", "write", "browse", "page_view", "page",
]  # fmt: skip
"""What a call does: how it is shown, grouped, summarized and suggested follows from this."""

LOOKS_AT_FILES = ("read", "search", "list")
"""Calls that look at files and do nothing else."""
CHANGES_FILES = ("edit", "write", "notebook")
RUNS_COMMANDS = ("command", "watch")

ForAgents = Literal["main", "foreground", "team", "any"]
"""Who has it: the main thread only, agents that are waited for, those and teammates, or all agents."""


class ToolTraits(Struct, frozen=True, kw_only=True):
    """Facts about a tool that other parts act on, so that no part needs its name."""

    kind: Kind = "other"
    about: str = ""
    """The parameter that says what a call is about: a path, a command, an address."""
    agents: ForAgents = "foreground"
    repeatable: bool = False
    """Old results may be cleared: they can be had again, or say nothing that the call did not say."""
    essential: bool = False
    """Offered also to a model whose window is small."""
    updates_tasks: bool = False
    """Its calls keep the list of things to do up to date."""
    is_question: bool = False
    """Asking a person is its whole purpose: no rule of a host can answer it."""
    missing: str = ""
    """What a model reads that calls it where no person is present."""
    sample: Mapping[str, Any] = {}
    """An input to try hooks with; `{cwd}` stands for the folder."""


NO_TRAITS = ToolTraits()
"""Nothing is known of the tool: one that comes from outside, for instance."""


class Tool(Struct, frozen=True, kw_only=True):
    name: str
    input: Any
    """The type that the model's JSON is turned into: a Struct, or a dict where a JSON Schema describes it."""
    summary: str
    run: Callable[[Any, ToolContext], Awaitable[ToolOutput]]
    subject: Callable[[Any], str]
    """The text that permission rules are matched against."""
    access: Callable[[Any, Workspace], Access]
    """Files that the call would touch, as absolute paths."""
    read_only: Callable[[Any], bool]
    parallel: Callable[[Any], bool]
    """Whether the call may run beside others."""
    check: Callable[[Any, ToolContext], None]
    """The second phase: does this input make sense here? Raises ToolError."""
    max_result_chars: int | None
    """Longer results go to a file with a preview left behind; None means that the tool bounds itself."""
    interrupt: Literal["cancel", "block"] = "cancel"
    definition: ToolDefinition | None = None
    """The definition for the model, for tools from outside that are not in the catalog."""
    describe: Callable[[], ToolDefinition] | None = None
    """Makes the definition when it is wanted, for tools of which there may be very many."""
    description: str = ""
    """All that is said about it, where `describe` makes the definition."""
    deferred: bool = False
    """The model sees its name only until it asks for more, where tools are loaded on demand."""
    search_hint: str = ""
    """Words to find it by besides its name and description."""
    server: Mapping[str, str] | None = None
    """The MCP server that serves it, for hooks and hosts: `name` and `source`."""
    shell: Literal["", "awaited", "background"] = ""
    """Whether it runs shell commands, and whether its calls last as long as they do."""
    needs_person: bool = False
    """A person must agree to each call, whatever rules and modes allow."""
    traits: ToolTraits = NO_TRAITS
    """What other parts act on; those of built-in tools stand in their catalog."""

    def own_definition(self) -> ToolDefinition | None:
        """The definition of a tool that comes from outside."""
        return self.definition if self.describe is None else self.describe()


class Toolbox(Protocol):
    """The tools that this session offers."""

    def definitions(self) -> tuple[ToolDefinition, ...]:
        """The definitions for the model, in a stable order."""
        ...

    def names(self) -> tuple[str, ...]: ...

    def find(self, name: str) -> Tool | None:
        """A tool by its name or an old name."""
        ...


def tool(
    name: str,
    input: type[Input],
    *,
    subject: Callable[[Input], str] = lambda _: "",
    access: Callable[[Input, Workspace], Access] = lambda _, __: Access(),
    read_only: bool | Callable[[Input], bool] = False,
    parallel: Callable[[Input], bool] | None = None,
    check: Callable[[Input, ToolContext], None] = lambda _, __: None,
    max_result_chars: int | None = 100_000,
    interrupt: Literal["cancel", "block"] = "cancel",
    shell: Literal["", "awaited", "background"] = "",
) -> Callable[[Callable[[Input, ToolContext], Awaitable[ToolOutput]]], Tool]:
    """Turn an async function into a `Tool`; unless said otherwise it writes and runs alone."""
    is_read_only: Callable[[Input], bool] = read_only if callable(read_only) else lambda _: bool(read_only)

    def build(run: Callable[[Input, ToolContext], Awaitable[ToolOutput]]) -> Tool:
        return Tool(
            name=name,
            input=input,
            summary=re.sub(r"\s+", " ", run.__doc__ or "").strip(),
            run=run,
            subject=subject,
            access=access,
            read_only=is_read_only,
            parallel=parallel or is_read_only,
            check=check,
            max_result_chars=max_result_chars,
            interrupt=interrupt,
            shell=shell,
        )

    return build
