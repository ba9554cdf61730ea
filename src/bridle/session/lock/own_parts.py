"""What this version of bridle writes itself, as parts of a lock."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from bridle.context.sections import SECTIONS
from bridle.context.summary import SUMMARY_TEXTS
from bridle.features.agents.builtin import BUILTIN
from bridle.session.lock.file import PromptLock
from bridle.tools import definitions
from bridle.tools.deferred import CALL_DEFINITION, DEFINITION
from bridle.types.on_demand import CALL, SEARCH

if TYPE_CHECKING:
    from bridle.types.model import ToolDefinition


def own_parts() -> dict[str, Any]:
    """The texts by the names of their parts."""
    tools = {**definitions.load(), SEARCH: DEFINITION, CALL: CALL_DEFINITION}
    agents = {each.name: {"description": each.description, "text": each.text} for each in BUILTIN}
    groups: dict[str, Mapping[str, Any]] = {
        "system": msgspec.structs.asdict(SECTIONS),
        "compaction": msgspec.structs.asdict(SUMMARY_TEXTS),
        "tools": tools,
        "builtin-agents": agents,
    }
    return {f"{group}/{name}": value for group, values in groups.items() for name, value in values.items()}


def unkept(lock: PromptLock) -> list[str]:
    """Parts of the lock that this version has no place for."""
    own = own_parts()
    groups = {name.partition("/")[0] for name in own}
    return [name for name in lock.parts if name.partition("/")[0] in groups and name not in own]


def server_tool(name: str) -> tuple[str, str]:
    """The server and tool that a name of a tool stands for; nothing for tools of bridle."""
    head, _, rest = name.partition("__")
    server, _, tool = rest.partition("__")
    return (server, tool) if head == "mcp" and tool else ("", "")


def served(tool: "ToolDefinition") -> dict[str, Any]:
    """What the lock has of a tool of a server."""
    return {"description": tool.get("description", ""), "input_schema": tool.get("input_schema", {})}
