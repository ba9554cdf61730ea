"""Chooses the transport for a server; each is imported with the first server that needs it."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from msgspec import Struct

from bridle.host.reaper import Reaper
from bridle.mcp.authorizer import Authorizer
from bridle.mcp.in_process import Exchange, InProcessTransport
from bridle.mcp.transport import Transport
from bridle.types.errors import McpError
from bridle.types.mcp import (
    HttpServer,
    IdeSseServer,
    IdeWebSocketServer,
    SdkServer,
    Server,
    SseServer,
    StdioServer,
    WebSocketServer,
)
from bridle.types.sandbox import Sandbox

if TYPE_CHECKING:
    from bridle.mcp.door import Helper, Remote

_IDE_TOKEN = "X-Claude-Code-Ide-Authorization"


class Means(Struct, frozen=True, kw_only=True):
    """What transports are made with."""

    cwd: str
    env: Mapping[str, str]
    reaper: Reaper
    sandbox: Sandbox | None = None
    exchange: Exchange | None = None
    """Reaches the servers inside the host program."""
    authorizer: Callable[[Server], Authorizer | None] = lambda _: None


def make_transport(server: Server, means: Means) -> Transport:
    """A transport that is not open yet.

    Raises:
        McpError: there is no way to such a server here.
    """
    match server.config:
        case StdioServer() as config:
            from bridle.mcp.stdio import StdioTransport, Surroundings

            around = Surroundings(cwd=means.cwd, env=means.env, reaper=means.reaper, sandbox=means.sandbox)
            return StdioTransport(server.name, config, around)
        case SdkServer():
            if means.exchange is None:
                raise McpError(f"{server.name} lives in a host program, and there is none.")
            return InProcessTransport(server.name, means.exchange)
        case HttpServer() | SseServer() | IdeSseServer():
            return _over_http(server, means)
        case WebSocketServer() | IdeWebSocketServer():
            return _over_websocket(server, means)


def _over_http(server: Server, means: Means) -> Transport:
    from bridle.mcp.door import Door

    config = server.config
    assert isinstance(config, HttpServer | SseServer | IdeSseServer)
    door = Door(_remote(server, config, means))
    if isinstance(config, HttpServer):
        from bridle.mcp.streamable import StreamableTransport

        return StreamableTransport(door)
    from bridle.mcp.sse import SseTransport

    return SseTransport(door)


def _over_websocket(server: Server, means: Means) -> Transport:
    from bridle.mcp.websocket import WebSocketTransport

    config = server.config
    assert isinstance(config, WebSocketServer | IdeWebSocketServer)
    return WebSocketTransport(_remote(server, config, means))


def _remote(
    server: Server,
    config: HttpServer | SseServer | WebSocketServer | IdeSseServer | IdeWebSocketServer,
    means: Means,
) -> "Remote":
    from bridle.mcp.door import Remote

    match config:
        case IdeSseServer():
            return Remote(name=server.name, url=config.url, env=means.env)
        case IdeWebSocketServer():
            token = {_IDE_TOKEN: config.auth_token} if config.auth_token else {}
            return Remote(name=server.name, url=config.url, env=means.env, headers=token)
        case _:
            return Remote(
                name=server.name,
                url=config.url,
                env=means.env,
                headers=config.headers,
                helper=_helper(server.name, config, means),
                auth=means.authorizer(server),
            )


def _helper(name: str, config: HttpServer | SseServer | WebSocketServer, means: Means) -> "Helper | None":
    command = config.headers_helper
    if command is None:
        return None
    from bridle.mcp.door import Helper, run_helper

    return Helper(lambda: run_helper(command, name=name, url=config.url, cwd=means.cwd, env=means.env))
