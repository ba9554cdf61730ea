"""The line that opens a turn: what the session has and how it stands."""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from bridle.types.agent import AGENT_TOOL, FORMER_AGENT_TOOL
from bridle.types.event import TurnStarted
from bridle.types.services.fast_mode import FastState
from bridle.types.usage import ModelSpend
from bridle.version import COMPATIBLE_WITH, __version__

_OLD_NAMES = {AGENT_TOOL: FORMER_AGENT_TOOL}
"""Tools that hosts know by an older name than models do."""


class InitFacts(Struct, frozen=True, kw_only=True):
    """What the init message says that no event carries."""

    session_id: str
    api_key_source: str
    output_style: str = "default"
    betas: tuple[str, ...] = ()
    left_out: tuple[tuple[str, str], ...] = ()
    """The file and the key of what does not count, because the folder is not trusted."""
    spent: Mapping[str, ModelSpend] = {}
    """What the conversation had cost before this process."""
    ways: str = ""
    """How to allow that."""


class Inventory(Struct, frozen=True, kw_only=True):
    """What a session has besides its tools, as it stands when a turn begins."""

    servers: Sequence[Mapping[str, Any]] = ()
    commands: Sequence[str] = ()
    terminal_commands: Sequence[str] = ()
    """Those that need a screen."""
    agents: Sequence[str] = ()
    skills: Sequence[str] = ()
    plugins: Sequence[Mapping[str, Any]] = ()
    plugin_errors: Sequence[Mapping[str, Any]] = ()
    fast_mode: FastState | None = None
    """None where there is none."""
    start: str = ""
    """Where the session began."""
    folders: Sequence[str] = ()
    """Working folders besides that one."""
    memory: str | None = None
    """Where the model keeps what it remembers."""


NO_FAST_MODE = "sdk_opt_in_required"
"""Why there is no fast mode, in the word that hosts know."""
CAPABILITIES = ("interrupt_receipt_v1", "interrupt_cancel_queued_v1")
"""What hosts may rely on."""


def init_fields(event: TurnStarted, facts: InitFacts, inventory: Inventory) -> dict[str, Any]:
    """What `system/init` says besides its ids."""
    fields: dict[str, Any] = {
        "cwd": event.cwd,
        "tools": [_OLD_NAMES.get(name, name) for name in event.tools],
        "mcp_servers": list(inventory.servers),
        "model": event.model,
        "permissionMode": event.mode,
        "slash_commands": list(inventory.commands),
        "terminal_slash_commands": list(inventory.terminal_commands),
        "apiKeySource": facts.api_key_source,
        "claude_code_version": COMPATIBLE_WITH,
        "bridle_version": __version__,
        "output_style": facts.output_style,
        "agents": list(inventory.agents),
        "skills": list(inventory.skills),
        "plugins": list(inventory.plugins),
        "capabilities": list(CAPABILITIES),
        "fast_mode_state": inventory.fast_mode or "off",
        "original_cwd": inventory.start or event.cwd,
        "additional_directories": list(inventory.folders),
        "memory_paths": {} if inventory.memory is None else {"auto": f"{inventory.memory}/"},
        "view_mode": "default",
        "analytics_disabled": True,
        "product_feedback_disabled": True,
        "per_turn_effort_active": False,
        "ultrathink_available": False,
        "ultrathink_typed_raises": False,
    }
    if inventory.fast_mode is None:
        fields["fast_mode_disabled_reason"] = NO_FAST_MODE
    if inventory.plugin_errors:
        fields["plugin_errors"] = list(inventory.plugin_errors)
    if facts.left_out:
        items = [{"file": file, "key": key} for file, key in facts.left_out]
        fields["untrusted"] = {"left_out": items, "allow": facts.ways}
    if facts.betas:
        fields["betas"] = list(facts.betas)
    return fields
