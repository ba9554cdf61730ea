"""Work that one agent hands to another, and what comes back."""

from collections.abc import Mapping
from typing import Any, Literal

from msgspec import UNSET, Struct

from bridle.types.block import TextBlock
from bridle.types.permission import Rule


class Delegation(Struct, frozen=True, kw_only=True):
    """What an agent is asked to do."""

    description: str
    prompt: str
    agent_type: str | None = None
    """None for a fork of the conversation where that is possible, else for an agent of the general kind."""
    model: str | None = None
    effort: str | int | None = None
    background: bool | None = None
    """Whether the work runs in the background; None for the default."""
    name: str | None = None
    isolation: Literal["worktree"] | None = None
    rules: tuple[Rule, ...] = ()
    """What the work allows and denies besides what holds in the session."""


class AgentCompleted(Struct, frozen=True, kw_only=True):
    """The agent is done, or was cut off and has left what it had."""

    agent_id: str
    agent_type: str
    prompt: str
    content: list[TextBlock]
    tool_uses: int
    duration_ms: int
    tokens: int
    usage: dict[str, Any]
    """That of its last model call, as the service wrote it."""
    model: str
    partial: str | None = None
    """Why this is not all, in one sentence."""
    worktree_path: str | None = None
    worktree_branch: str | None = None
    """Set when its work tree is kept, because it holds work."""
    warning: str | None = None
    """What a review of its work objects to."""
    calls: Mapping[str, int] = {}
    """How often it has called each tool."""
    lines_added: int = 0
    lines_removed: int = 0
    structured: Any = UNSET
    """The answer in the shape that was asked for, when it was given."""

    @property
    def text(self) -> str:
        """The report as a model reads it, after what it must know of it."""
        notes = [note for note in (self.warning, self.partial) if note]
        if self.worktree_path is not None:
            branch = f" on branch {self.worktree_branch}" if self.worktree_branch else ""
            notes.append(f"Its changes are in the work tree {self.worktree_path}{branch}.")
        said = "\n".join(block["text"] for block in self.content)
        return "\n\n".join((*notes, said or "(The agent ended without a report.)"))


class AgentLaunched(Struct, frozen=True, kw_only=True):
    """The agent works in the background; a note will tell of its end."""

    agent_id: str
    agent_type: str
    description: str
    prompt: str
    output_file: str
    model: str


AgentReport = AgentCompleted | AgentLaunched
