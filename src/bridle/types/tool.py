"""What a tool is: an input type, an async function, and a few facts about its effects."""

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar

from msgspec import Meta, Struct

from bridle.types.block import AssistantMessage, ResultContent
from bridle.types.model import ToolDefinition
from bridle.types.permission import Access
from bridle.types.question import Answer, Question
from bridle.types.sandbox import Sandbox
from bridle.types.wall import Refusal, View
from bridle.types.workspace import Workspace

if TYPE_CHECKING:
    from bridle.types.checkpoint import Changes
    from bridle.types.delegation import AgentReport, Delegation
    from bridle.types.language import Languages
    from bridle.types.message import Messages
    from bridle.types.monitor import Monitors
    from bridle.types.schedule import Schedules
    from bridle.types.skill import SkillUse
    from bridle.types.workflow import Workflows
    from bridle.types.workspace import Visit

Input = TypeVar("Input", bound=Struct)

UNLISTED = Meta(extra_json_schema={"unlisted": True})
"""Marks a parameter that is accepted and not told to the model: an old name, or one that others fill in."""


Delegate = Callable[["Delegation"], Awaitable["AgentReport"]]
"""Hands work to another agent."""


class Consultation(Struct, frozen=True, kw_only=True):
    """A question that a tool puts to a model on the side, counted and budgeted like any other call."""

    prompt: str
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


async def _no_objection(task: ListedTask) -> str | None:
    del task
    return None


class Planning(Protocol):
    """Plan mode, for the tools that begin and end it."""

    @property
    def path(self) -> str:
        """The file of the plan."""
        ...

    @property
    def active(self) -> bool: ...

    def enter(self) -> str:
        """Begin to plan; what the model must know then."""
        ...

    def read(self) -> str | None:
        """The plan so far."""
        ...

    def write(self, text: str) -> None:
        """Replace the plan.

        Raises:
            OSError: it cannot be written.
        """
        ...

    async def leave(self, prompts: Sequence[Mapping[str, str]]) -> str:
        """Go on with the work, with what the plan will have to run approved; the mode that holds then."""
        ...


class Worktrees(Protocol):
    """Moving the session to a work tree and back, for the tools that do it."""

    async def enter(self, *, name: str | None, path: str | None) -> tuple["Visit", tuple[str, ...]]:
        """Go to a new work tree, or to one that is there; with what should be said about it.

        Raises:
            ToolError: there is none to go to.
        """
        ...

    async def leave(self, *, remove: bool, discard: bool) -> tuple["Visit", bool]:
        """Go back; the stay that is over, and whether its work tree is gone.

        Raises:
            ToolError: the session is in none, or it holds work that would be lost.
        """
        ...


class ToolContext(Struct, frozen=True, kw_only=True):
    """What a running call may see and use."""

    call_id: str
    session_id: str
    workspace: Workspace
    storage: str
    """A private directory for this session's large outputs; made by whoever writes there first."""
    env: Mapping[str, str]
    """The environment for child processes, and for limits that users set by variables."""
    progress: Callable[[str], None]
    """Show that work goes on: the newest output of a long call."""
    ask: Callable[[Question], Awaitable[Answer]]
    consult: Callable[[Consultation], Awaitable[AssistantMessage]]
    approved: Mapping[str, str] = {}
    """Where each path led when the gate let the call through; what leads elsewhere by now is refused."""
    sandbox: Sandbox | None = None
    confined: bool = False
    """The gate decided on a command that runs in the sandbox: it runs there or not at all."""
    view: View | None = None
    """What a command that only judgement allowed is held to; None when something else allowed it."""
    refused: Callable[[Refusal], None] = lambda _: None
    """Hears of what a view kept a command from that runs beside the conversation."""
    hides: Callable[[str], bool] = lambda _: False
    """Whether a rule keeps the file at this absolute path from being read."""
    planning: Planning | None = None
    """For the tools of plan mode only."""
    worktrees: Worktrees | None = None
    """For the tools that enter and leave work trees only."""
    schedules: "Schedules | None" = None
    """For the tools that let prompts come later only."""
    monitors: "Monitors | None" = None
    """For the tool that watches something only."""
    languages: "Languages | None" = None
    """For the tool that asks language servers only."""
    workflows: "Workflows | None" = None
    """For the tool that runs workflows only."""
    announce: Callable[[str], None] | None = None
    """Tells the user something while they may look elsewhere."""
    leave: Callable[[], None] | None = None
    """Ends the session after this turn; None where it is not the tool's to end."""
    pause: Callable[[float], Awaitable[float | None]] | None = None
    """Waits so many seconds, or until something comes in: then after how many."""
    changes: "Changes | None" = None
    """Who wants to know before files change; nobody where nothing is to be put back."""
    delegate: Delegate | None = None
    """Hands work to another agent; None where there are none."""
    use_skill: Callable[[str, str], Awaitable["SkillUse"]] | None = None
    """Calls a skill by its name with arguments; None where there are none."""
    objection: Callable[[ListedTask], Awaitable[str | None]] = _no_objection
    """Why hooks will not have an item of a task list like this."""
    agent_id: str | None = None
    """The agent that makes the call; None for the main thread."""
    offered: Callable[[], Sequence[str]] = tuple
    """The names of the tools that the thread has which makes the call."""
    messages: "Messages | None" = None
    """For the tools that write to other agents only; None where there are none."""
    advise: Callable[[str], Awaitable[AssistantMessage]] | None = None
    """Puts a question, or none in particular, to the model that advises; for the tool that does so only."""

    @property
    def cwd(self) -> str:
        return self.workspace.cwd


class ToolOutput(Struct, frozen=True, kw_only=True):
    """A finished call: what the model reads, and the same as data for hooks, hosts and transcripts."""

    content: str | list[ResultContent]
    data: Any
    is_error: bool = False
    beside: tuple[str, ...] = ()
    """Text that the model reads after the result and that stays when old results are cleared."""
    exit_code: int | None = None
    """How a command ended that ended on its own."""


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
    """What the model is told, for tools that come from outside and are not in the catalogue."""
    describe: Callable[[], ToolDefinition] | None = None
    """Makes the definition when it is wanted, for tools of which there may be very many."""
    description: str = ""
    """All that is said about it, where `describe` makes the definition."""
    deferred: bool = False
    """Told to the model by name alone until it asks for more, where tools can be searched for."""
    search_hint: str = ""
    """Words to find it by besides its name and description."""
    server: Mapping[str, str] | None = None
    """The MCP server that serves it, as hooks and hosts are told: `name` and `source`."""
    needs_person: bool = False
    """Somebody must agree to each call, whatever rules and modes allow."""

    def told(self) -> ToolDefinition | None:
        """The definition of a tool that comes from outside."""
        return self.definition if self.describe is None else self.describe()


class Toolbox(Protocol):
    """The tools that this session offers."""

    def definitions(self) -> tuple[ToolDefinition, ...]:
        """What the model is told, in a stable order."""
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
        )

    return build
