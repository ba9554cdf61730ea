"""Chooses the transport for a server; each is imported with the first server that needs it."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from msgspec import Struct

from bridle.host.reaper import Reaper
from bridle.mcp.authorizer import Authorizer
from bridle.mcp.transports.base import Transport
from bridle.mcp.transports.in_process import Exchange, InProcessTransport
from bridle.types.errors import McpError
from bridle.types.sandbox import Sandbox
from bridle.types.services.mcp import (
    HttpServer,
    IdeSseServer,
    IdeWebSocketServer,
    SdkServer,
    Server,
    SseServer,
    StdioServer,
    WebSocketServer,
)

if TYPE_CHECKING:
    from bridle.mcp.transports.http_access import HeadersHelper, RemoteServer

_IDE_TOKEN = "X-Claude-Code-Ide-Authorization"


class TransportContext(Struct, frozen=True, kw_only=True):
    """What transports are made with."""

    cwd: str
    env: Mapping[str, str]
    reaper: Reaper
    sandbox: Sandbox | None = None
    exchange: Exchange | None = None
    """Reaches the servers inside the host program."""
    authorizer: Callable[[Server], Authorizer | None] = lambda _: None


def make_transport(server: Server, context: TransportContext) -> Transport:
    """A transport that is not open yet.

    Raises:
        McpError: there is no way to such a server here.
    """
    match server.config:
        case StdioServer() as config:
            from bridle.mcp.transports.stdio import LaunchContext, StdioTransport

            launch = LaunchContext(
                cwd=context.cwd, env=context.env, reaper=context.reaper, sandbox=context.sandbox
            )
            return StdioTransport(server.name, config, launch)
        case SdkServer():
            if context.exchange is None:
                raise McpError(f"{server.name} needs a host program.")
            return InProcessTransport(server.name, context.exchange)
        case HttpServer() | SseServer() | IdeSseServer():
            return _over_http(server, context)
        case WebSocketServer() | IdeWebSocketServer():
            return _over_websocket(server, context)


def _over_http(server: Server, context: TransportContext) -> Transport:
    from bridle.mcp.transports.http_access import HttpAccess

    config = server.config
    assert isinstance(config, HttpServer | SseServer | IdeSseServer)
    access = HttpAccess(_remote(server, config, context))
    if isinstance(config, HttpServer):
        from bridle.mcp.transports.streamable_http import StreamableTransport

        return StreamableTransport(access)
    from bridle.mcp.transports.sse import SseTransport

    return SseTransport(access)


def _over_websocket(server: Server, context: TransportContext) -> Transport:
    from bridle.mcp.transports.websocket import WebSocketTransport

    config = server.config
    assert isinstance(config, WebSocketServer | IdeWebSocketServer)
    return WebSocketTransport(_remote(server, config, context))


def _remote(
    server: Server,
    config: HttpServer | SseServer | WebSocketServer | IdeSseServer | IdeWebSocketServer,
    context: TransportContext,
) -> "RemoteServer":
    from bridle.mcp.transports.http_access import RemoteServer

    match config:
        case IdeSseServer():
            return RemoteServer(name=server.name, url=config.url, env=context.env)
        case IdeWebSocketServer():
            token = {_IDE_TOKEN: config.auth_token} if config.auth_token else {}
            return RemoteServer(name=server.name, url=config.url, env=context.env, headers=token)
        case _:
            return RemoteServer(
                name=server.name,
                url=config.url,
                env=context.env,
                headers=config.headers,
                helper=_helper(server.name, config, context),
                auth=context.authorizer(server),
            )


def _helper(
    name: str, config: HttpServer | SseServer | WebSocketServer, context: TransportContext
) -> "HeadersHelper | None":
    command = config.headers_helper
    if command is None:
        return None
    from bridle.mcp.transports.http_access import HeadersHelper, run_helper

    return HeadersHelper(
        lambda: run_helper(command, name=name, url=config.url, cwd=context.cwd, env=context.env)
    )
