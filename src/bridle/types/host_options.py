"""What a host program sets for a session with its `initialize` request."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from bridle.types.permission import Mode


class HostServers(Struct, frozen=True, kw_only=True):
    """MCP servers inside the host program, reached over the control protocol."""

    names: tuple[str, ...] = ()
    configs: Mapping[str, Mapping[str, Any]] = {}
    """Settings of some of them, by name: `timeout`, `tools`."""
    manifests: Mapping[str, Mapping[str, Any]] = {}
    """What some of them would answer to `initialize` and the first `tools/list`, by name."""


class HostOptions(Struct, frozen=True, kw_only=True):
    """Kept as it came, for the parts that know what to do with it."""

    agents: Mapping[str, Mapping[str, Any]] = {}
    """Definitions of sub-agents by name."""
    skills: tuple[str, ...] | None = None
    """The only skills that are listed for the model; None for all."""
    servers: HostServers = HostServers()
    plan_mode_instructions: str | None = None
    tool_aliases: Mapping[str, str] = {}
    prompt_suggestions: bool = False
    server_modes: Mapping[str, Mode] = {}
    """The permission mode for calls of single MCP servers, by name."""
    suggestions_paused: bool = False
    """The host wants no suggestions for now."""
    agent_progress_summaries: bool = False
    forward_subagent_text: bool = False
    per_task_stop: bool = False
    """The host lets people stop single tasks, so an interrupt spares the others."""
    dialog_kinds: tuple[str, ...] = ()
    """Dialogs that the host can show."""
