"""Parts of a runtime that do nothing, for sessions that have no such part: no reader has to ask first."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from bridle.types.errors import McpError, ToolError

if TYPE_CHECKING:
    from bridle.engine.turn import Ending, Turn
    from bridle.types.command import Command
    from bridle.types.permission import PermissionUpdate
    from bridle.types.services.mcp import LoginPage, Replaced, Resource, ServedSkill, ServerState
    from bridle.types.services.mcp import Prompt as ServerPrompt
    from bridle.types.tool import Tool, Toolbox
    from bridle.types.turn import Prompt


class AnyShape:
    """Answers may have any shape."""

    tools: "Sequence[Tool]" = ()

    def begin(self) -> None:
        """Nothing to do."""

    def nudge(self) -> str | None:
        return None

    def ending(self) -> "Ending | None":
        return None


class NoArrivals:
    """No prompt ever waits."""

    def peek(self) -> "Prompt | None":
        return None

    def take(self, prompt: "Prompt") -> None:
        """Nothing to do."""

    async def stirred(self) -> None:
        await asyncio.Event().wait()


class NoCommands:
    """A session without slash commands."""

    def all(self) -> "tuple[Command, ...]":
        return ()

    def find(self, name: str) -> "Command | None":
        del name

    def nearest(self, name: str) -> str | None:
        del name


class NoServers:
    """A session without MCP servers, which can get none."""

    def status(self) -> "tuple[ServerState, ...]":
        return ()

    def tools(self) -> "Sequence[Tool]":
        return ()

    def resources(self, server: str | None = None) -> "tuple[Resource, ...]":
        del server
        return ()

    def prompts(self) -> "tuple[ServerPrompt, ...]":
        return ()

    def skills(self) -> "tuple[ServedSkill, ...]":
        return ()

    def instructions(self) -> Mapping[str, str]:
        return {}

    async def settle(self) -> None:
        """Nothing to wait for."""

    async def listed(self, named: Sequence[str] = ()) -> None:
        """Nothing to wait for."""

    async def ready(self, names: Sequence[str] | None, seconds: float) -> "tuple[ServerState, ...]":
        del names, seconds
        return ()

    async def reconnect(self, name: str) -> None:
        _no_server(name)

    async def toggle(self, name: str, *, enabled: bool) -> None:
        del enabled
        _no_server(name)

    async def begin_login(self, name: str, redirect_uri: str | None = None) -> "LoginPage":
        del redirect_uri
        _no_server(name)

    async def finish_login(self, name: str, address: str) -> None:
        del address
        _no_server(name)

    async def log_out(self, name: str) -> None:
        _no_server(name)

    async def set_servers(self, configs: Mapping[str, Any]) -> "Replaced":
        from bridle.types.services.mcp import Replaced

        return Replaced(errors=dict.fromkeys(configs, "This session cannot add MCP servers."))

    def message(self, name: str, message: Mapping[str, Any]) -> None:
        """There is no server that could have sent it."""

    async def call(
        self, server: str, tool: str, input: Mapping[str, Any], *, call_id: str | None = None
    ) -> dict[str, Any]:
        del tool, input, call_id
        _no_server(server)

    async def read_resource(self, server: str, uri: str) -> dict[str, Any]:
        del uri
        _no_server(server)

    async def prompt(self, server: str, name: str, arguments: Mapping[str, str]) -> dict[str, Any]:
        del name, arguments
        _no_server(server)

    async def complete(
        self, server: str, reference: Mapping[str, Any], argument: tuple[str, str]
    ) -> tuple[str, ...]:
        del reference, argument
        _no_server(server)

    def add_sdk(
        self,
        names: Sequence[str],
        *,
        configs: Mapping[str, Mapping[str, Any]] | None = None,
        manifests: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> None:
        """No host program brings servers here."""

    def roots_changed(self) -> None:
        """No server to notify."""

    async def close(self) -> None:
        """Nothing is open."""


ANY_SHAPE = AnyShape()
NO_ARRIVALS = NoArrivals()
NO_COMMANDS = NoCommands()
NO_SERVERS = NoServers()


async def attach_nothing(turn: "Turn", prompt: "Prompt") -> "Prompt":
    """The prompt as it is."""
    del turn
    return prompt


def no_news(session: object, toolbox: "Toolbox") -> str | None:
    """Nothing has changed."""
    del session, toolbox


async def persist_nothing(update: "PermissionUpdate") -> None:
    """The update holds for this session only."""
    del update


def stay() -> None:
    """The session cannot be ended from inside.

    Raises:
        ToolError: always.
    """
    from bridle.types.services.session import LEAVE

    raise ToolError(LEAVE.missing)


def _no_server(name: str) -> NoReturn:
    raise McpError(f"unknown MCP server {name}")
