"""The tool servers of the program, as the session lists them."""

from collections.abc import Mapping
from typing import Any

from bridle.sdk.errors import ClaudeSDKError
from bridle.sdk.tools import SdkMcpTool, ToolServer, session_tools
from bridle.types.tool import Tool


class ToolServers:
    """Servers that are functions: always connected, unless the program turns one off."""

    def __init__(self, servers: Mapping[str, ToolServer]) -> None:
        self._servers = servers
        self._tools = {name: session_tools({name: server}) for name, server in servers.items()}
        self._off: set[str] = set()

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._servers)

    def tools(self) -> list[Tool]:
        """The tools that the model may call now."""
        return [tool for name, tools in self._tools.items() if name not in self._off for tool in tools]

    def toggle(self, name: str, *, enabled: bool) -> None:
        """Take the tools of a server away, or offer them again.

        Raises:
            ClaudeSDKError: there is no such server.
        """
        if name not in self._servers:
            raise ClaudeSDKError(f"Server not found: {name}")
        if enabled:
            self._off.discard(name)
        else:
            self._off.add(name)

    def listed(self) -> list[dict[str, Any]]:
        """As the message that opens a turn lists them."""
        return [{"name": name, "status": self._status(name), "source": "sdk"} for name in self._servers]

    def statuses(self) -> list[dict[str, Any]]:
        """As a question about servers is answered."""
        return [
            {
                "name": name,
                "status": self._status(name),
                "serverInfo": {"name": server.name, "version": server.version},
                "config": {"type": "sdk", "name": name},
                "scope": "dynamic",
                "source": "sdk",
                "tools": [_listed(tool) for tool in server.tools],
            }
            for name, server in self._servers.items()
        ]

    def _status(self, name: str) -> str:
        return "disabled" if name in self._off else "connected"


def _listed(tool: SdkMcpTool) -> dict[str, Any]:
    hints = {
        "readOnly": getattr(tool.annotations, "readOnlyHint", None),
        "destructive": getattr(tool.annotations, "destructiveHint", None),
        "openWorld": getattr(tool.annotations, "openWorldHint", None),
    }
    given = {name: hint for name, hint in hints.items() if hint is not None}
    return {"name": tool.name, "description": tool.description, "annotations": given}
