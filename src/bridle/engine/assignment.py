"""What an agent is to do, as the engine and every feature see it."""

from msgspec import Struct

from bridle.engine.null_parts import ANY_SHAPE
from bridle.engine.runtime import Shape
from bridle.engine.worktrees import AgentWorktree
from bridle.types.agent import AgentDefinition
from bridle.types.permission import Rule


class Assignment(Struct, frozen=True, kw_only=True):
    """Who does what, and how."""

    agent_id: str
    definition: AgentDefinition
    description: str
    prompt: str
    call_id: str
    name: str | None = None
    model: str
    effort: str | None = None
    background: bool = False
    depth: int = 1
    fork: bool = False
    place: AgentWorktree | None = None
    team: str | None = None
    """The team that it is a named member of."""
    rules: tuple[Rule, ...] = ()
    shape: Shape = ANY_SHAPE
    """The shape that its answer must have."""
