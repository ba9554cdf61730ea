"""What an agent is: a prompt of its own, some of the tools, and limits."""

from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct

from bridle.types.permission import Mode

AGENT_TOOL = "Agent"
"""The tool that starts agents, as rules, definitions and calls name it."""
FORMER_AGENT_TOOL = "Task"
"""Its name in older transcripts, hooks and hosts."""

AgentSource = Literal["builtin", "plugin", "user", "project", "flag", "managed", "host"]
MemoryScope = Literal["user", "project", "local"]


class AgentDefinition(Struct, frozen=True, kw_only=True):
    name: str
    description: str
    text: str = ""
    """Its system prompt, where that is in no file."""
    source: AgentSource = "builtin"
    file: str | None = None
    tools: tuple[str, ...] | None = None
    """The tools it may use, `Agent(a, b)` naming what it may start; None for all."""
    disallowed_tools: tuple[str, ...] = ()
    model: str | None = None
    """An alias, an id or `inherit`."""
    effort: str | int | None = None
    permission_mode: Mode | None = None
    max_turns: int | None = None
    skills: tuple[str, ...] = ()
    mcp_servers: tuple[str | Mapping[str, Any], ...] = ()
    hooks: Mapping[str, Any] = {}
    memory: MemoryScope | None = None
    background: bool = False
    isolation: Literal["worktree"] | None = None
    color: str | None = None
    initial_prompt: str | None = None
    omit_instructions: bool = False
    reminder: str | None = None
    """Said again at every turn."""
    auto_compact_window: int | None = None
    listed: bool = True
    """Whether the model is offered the agent: not one that only commands of the user start."""

    @property
    def prompt(self) -> str:
        """Its system prompt.

        Raises:
            ToolError: it is in a file that cannot be read any more.
        """
        return self.text
