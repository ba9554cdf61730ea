"""Names of the tools with which a model finds and calls those that it is told by name alone."""

from collections.abc import Mapping
from typing import Any

SEARCH = "ToolSearch"
"""Finds and loads tools that are told by name alone."""
CALL = "CallTool"
"""Calls a tool that was loaded, at services whose list of tools would have to change for that."""


def is_deferred(definition: Mapping[str, Any]) -> bool:
    """Whether a tool is no part of what every request begins with."""
    return bool(definition.get("defer_loading"))
