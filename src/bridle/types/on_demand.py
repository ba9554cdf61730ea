"""Names of the tools with which a model finds and calls tools that are loaded on demand."""

from collections.abc import Mapping
from typing import Any

SEARCH = "ToolSearch"
"""Finds and loads tools of which the model sees only the names."""
CALL = "CallTool"
"""Calls a tool that was loaded, at services whose list of tools would have to change for that."""


def is_deferred(definition: Mapping[str, Any]) -> bool:
    """Whether a tool is no part of what every request begins with."""
    return bool(definition.get("defer_loading"))
