"""What agents need of the parts around the engine."""

from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any

from msgspec import Struct

from bridle.types.agent import AgentDefinition
from bridle.types.tool import Tool, Toolbox


class AgentServers(Struct, frozen=True, kw_only=True):
    """The MCP servers that an agent brings along."""

    tools: Callable[[], Sequence[Tool]]
    close: Callable[[], Coroutine[Any, Any, None]]


class Means(Struct, frozen=True, kw_only=True):
    """What agents need of the parts around the engine."""

    found: Callable[[], Sequence[AgentDefinition]] = tuple
    """The agents of files, plugins and flags, as they are now."""
    resolve_model: Callable[[str, str], str] = lambda name, parent: name
    may_choose: Callable[[str, str], bool] = lambda name, parent: True
    """Whether anyone other than the user may choose this model instead of the parent's."""
    """The full id of a model that a definition names, in a session whose model is the second."""
    add_hooks: Callable[[AgentDefinition, str], Callable[[], None]] = lambda definition, agent_id: (
        lambda: None
    )
    """Let the hooks of an agent listen; what is returned takes them away again."""
    open_servers: Callable[[AgentDefinition, str], Awaitable[AgentServers | None]] | None = None
    skill: Callable[[str], Awaitable[str | None]] | None = None
    """The text of a skill that an agent begins with."""
    workers: Toolbox | None = None
    """The tools of agents, where the main thread has fewer because it only leads."""
    appended: str = ""
    """Stands at the end of every agent's prompt."""
    interactive: bool = False
    hosted: bool = False
