"""The services of a session itself: plan mode, work trees, agents, skills, waiting, notifying, ending."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, Protocol

from msgspec import Struct

from bridle.types.services.service import Service

if TYPE_CHECKING:
    from bridle.types.block import AssistantMessage
    from bridle.types.tool import Delegate, ListedTask
    from bridle.types.turn import Prompt
    from bridle.types.workspace import EnteredWorktree


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
        """Leave plan mode, with the commands of the plan approved; returns the new mode."""
        ...


class Worktrees(Protocol):
    """Moving the session to a work tree and back, for the tools that do it."""

    async def enter(self, *, name: str | None, path: str | None) -> tuple["EnteredWorktree", tuple[str, ...]]:
        """Go to a new work tree, or to one that is there; with what should be said about it.

        Raises:
            ToolError: there is none to go to.
        """
        ...

    async def leave(self, *, remove: bool, discard: bool) -> tuple["EnteredWorktree", bool]:
        """Go back; the stay that is over, and whether its work tree is gone.

        Raises:
            ToolError: the session is in none, or it holds work that would be lost.
        """
        ...


class Digest(Protocol):
    """Puts prompts that wait for a session together, so that they are read as one."""

    def covers(self, prompt: "Prompt") -> bool:
        """Whether a prompt is one of those."""
        ...

    def is_stale(self, prompt: "Prompt") -> bool:
        """Whether the model knows already what a prompt says."""
        ...

    def combine(self, prompts: "Sequence[Prompt]") -> "Prompt":
        """All of them in one."""
        ...


PLANNING: Service[Planning] = Service(
    "planning", missing="No one can approve a plan here; continue without one."
)
WORKTREES: Service[Worktrees] = Service("worktrees", missing="There are no work trees in this session.")
DELEGATE: "Service[Delegate]" = Service(
    "delegate", missing="There are no agents in this session: do the work yourself."
)
SKILLS: "Service[Callable[[str, str], Awaitable[SkillUse]]]" = Service(
    "skills", missing="There are no skills in this session."
)
"""Calls a skill by its name with arguments."""
ANNOUNCE: Service[Callable[[str], None]] = Service("announce", missing="No one can be notified from here.")
"""Tells the user something while they may look elsewhere."""
LEAVE: Service[Callable[[], None]] = Service(
    "leave", missing="This conversation cannot be ended from here: say why you will not continue."
)
"""Ends the session after this turn."""
PAUSE: Service[Callable[[float], Awaitable[float | None]]] = Service(
    "pause", missing="This session cannot wait."
)
"""Waits so many seconds, or until something comes in: then after how many."""
OBJECTIONS: "Service[Callable[[ListedTask], Awaitable[str | None]]]" = Service(
    "objections", missing="No hooks look at tasks here."
)
"""Why hooks will not have an item of a task list like this."""
ADVISOR = "Advisor"
"""The tool that asks the advisor; what its answers cost is listed under the same name."""
ADVISE: "Service[Callable[[str], Awaitable[AssistantMessage]]]" = Service(
    "advise", missing="Only the main thread of a session has an advisor; continue without one."
)
"""Puts a question, or none in particular, to the model that advises."""
MEMORY: Service[str] = Service("memory", missing="Nothing is remembered in this session.")
"""The folder of what is remembered from session to session."""
TOKEN_GOAL: "Service[Callable[[Prompt], int | None]]" = Service(
    "token_goal", missing="This session has no budgets."
)
"""How many tokens a prompt asks to be used, if it names a number."""
DIGEST: Service[Digest] = Service("digest", missing="Prompts are read one by one.")


class SkillLoaded(Struct, frozen=True, kw_only=True):
    """The skill's text joins the conversation."""

    name: str
    text: str
    allowed_tools: tuple[str, ...] = ()
    model: str | None = None


class SkillDone(Struct, frozen=True, kw_only=True):
    """An agent of its own has followed the skill, or is about to."""

    name: str
    agent_id: str
    result: str


SkillUse = SkillLoaded | SkillDone


class WorktreeOptions(Struct, frozen=True, kw_only=True):
    base: Literal["fresh", "head"] = "fresh"
    """Where they begin: at the newest of the remote's main branch, or at the current commit."""
    sparse: tuple[str, ...] = ()
    """The only folders that are checked out, where any are named."""
    links: tuple[str, ...] = ()
    """Folders that they share with the main checkout."""
    protected: str | None = None
    """The main checkout, where a session in the background may change nothing before it is in a work tree."""


WORKTREE_OPTIONS: Service[WorktreeOptions] = Service(
    "worktree_options", missing="There are no work trees in this session."
)
