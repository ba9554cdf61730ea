"""The context that MCP servers run in, for those of a session and of its agents."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from bridle.config.mcp.servers import host_server
from bridle.config.sandbox.settings import sandbox_for_programs
from bridle.mcp.client_requests import RequestContext
from bridle.mcp.resource_tools import NAMES as RESOURCE_TOOLS
from bridle.mcp.servers import ServersContext
from bridle.mcp.transports.in_process import Exchange
from bridle.session.base import SessionBase
from bridle.session.setup import Setup
from bridle.types.errors import ToolError
from bridle.types.services.mcp import Server
from bridle.types.variables import is_on

if TYPE_CHECKING:
    from bridle.mcp.auth.authorizers import Authorizers
    from bridle.mcp.authorizer import Authorizer
    from bridle.types.block import ImageBlock


def servers_context(
    base: SessionBase,
    company: RequestContext,
    *,
    cwd: str,
    exchange: Exchange | None = None,
    remember: Callable[[str, bool], None] | None = None,
) -> ServersContext:
    """The context of servers that start in `cwd`, with the sandbox, log-ins and images of the session."""
    setup, sandbox = base.setup, base.sandbox
    return ServersContext(
        cwd=cwd,
        env=setup.env,
        requests=company,
        read=lambda name, raw: read_server(setup, name, raw),
        fit_image=fit_image,
        exchange=exchange,
        authorizer=_authorizer(setup),
        remember=remember,
        sandbox=None if sandbox is None else sandbox_for_programs(setup.config, sandbox),
        offered=_offered(setup),
        waits_for_all=not is_on(setup.env, "MCP_CONNECTION_NONBLOCKING"),
    )


def read_server(setup: Setup, name: str, raw: Any) -> Server:
    """A server that no settings file names.

    Raises:
        ConfigError: the entry cannot be used, or the policy refuses it.
    """
    return host_server(name, raw, config=setup.config, env=setup.env)


def _authorizer(setup: Setup) -> "Callable[[Server], Authorizer | None]":
    """Who lets requests in; the code for logging in is imported with the first remote server."""
    made: list[Authorizers] = []

    def authorizer(server: "Server") -> "Authorizer | None":
        if not made:
            from bridle.mcp.auth.authorizers import Authorizers
            from bridle.mcp.auth.xaa import read_provider

            provider = read_provider(setup.config.raw.get("xaaIdp"))
            made.append(Authorizers(setup.env, provider=provider))
        return made[0](server)

    return authorizer


def _offered(setup: Setup) -> Callable[[str], bool]:
    """Tools of servers are chosen by rules; those that bridle adds for them also by --tools."""
    listed = setup.options.tools
    if listed is None or "default" in listed:
        return lambda _: True
    chosen = {name for part in listed for name in part.replace(",", " ").split()}
    return lambda name: name not in RESOURCE_TOOLS or name in chosen


def fit_image(data: bytes, media_type: str) -> "ImageBlock":
    """An image of a server made small enough to show.

    Raises:
        ToolError: it cannot be shown.
    """
    from bridle.tools.files.images import fit

    match media_type.partition(";")[0].strip().lower():
        case "image/png":
            return fit(data, "png").block()
        case "image/jpeg" | "image/jpg":
            return fit(data, "jpeg").block()
        case "image/gif":
            return fit(data, "gif").block()
        case "image/webp":
            return fit(data, "webp").block()
        case _:
            raise ToolError(f"Can't show images of type {media_type[:100]}.")
