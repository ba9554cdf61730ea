"""Which MCP servers an administrator, or the user, lets be started."""

from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import Any

import msgspec

from bridle.config.load import Config
from bridle.config.schema import McpServerMatch
from bridle.types.services.mcp import SdkServer, Server, StdioServer


class Policy:
    """The lists of allowed and denied servers."""

    def __init__(self, config: Config) -> None:
        settings = config.settings
        self._denied = settings.denied_mcp_servers or ()
        self._allowed = settings.allowed_mcp_servers
        if settings.allow_managed_mcp_servers_only:
            self._allowed = _managed(config)

    def objection(self, server: Server) -> str | None:
        """Why the server may not be started; None when it may."""
        if any(_covers(match, server) for match in self._denied):
            return "denied by deniedMcpServers"
        # A server inside the host program runs already, whatever the list says.
        if self._allowed is None or isinstance(server.config, SdkServer):
            return None
        return None if self._is_listed(server, self._allowed) else "not in allowedMcpServers"

    def _is_listed(self, server: Server, allowed: Iterable[McpServerMatch]) -> bool:
        """Where commands or addresses are listed, a name alone is not enough for a server of that kind."""
        listed = tuple(allowed)
        if isinstance(server.config, StdioServer):
            exact = [match for match in listed if match.server_command is not None]
        else:
            exact = [match for match in listed if match.server_url is not None]
        wanted = exact or [match for match in listed if match.server_name is not None]
        return any(_covers(match, server) for match in wanted)


def _covers(match: McpServerMatch, server: Server) -> bool:
    config = server.config
    if match.server_name is not None:
        return match.server_name == server.name
    if match.server_command is not None:
        return isinstance(config, StdioServer) and match.server_command == (config.command, *config.args)
    if match.server_url is not None and not isinstance(config, StdioServer | SdkServer):
        pattern = match.server_url.replace("[", "[[]").replace("?", "[?]")
        return fnmatchcase(config.url, pattern)
    return False


def _managed(config: Config) -> tuple[McpServerMatch, ...]:
    found: list[Any] = []
    for layer in config.layers:
        if layer.source == "policySettings":
            found += layer.values.get("allowedMcpServers") or ()
    return msgspec.convert(found, tuple[McpServerMatch, ...])
