"""The MCP servers of a session: which there are, and what they are run in."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bridle.cli import choices
from bridle.cli.server_door import ServerDoor
from bridle.cli.setup import Setup
from bridle.config.mcp_places import is_any_configured
from bridle.types.channel import Channel
from bridle.types.hook_outcome import Hooks
from bridle.types.sandbox import Sandbox
from bridle.types.turn import Prompt
from bridle.types.workspace import Workspace

if TYPE_CHECKING:
    from bridle.config.mcp import Found
    from bridle.mcp.attendant import Pushed
    from bridle.mcp.auth.authorizers import Authorizers
    from bridle.mcp.authorizer import Authorizer
    from bridle.mcp.servers import Servers
    from bridle.types.block import ImageBlock
    from bridle.types.mcp import Server

Exchange = Callable[[str, Mapping[str, Any]], Awaitable[Any]]
"""Puts a message to an MCP server inside the host program and returns its answer."""

_RESOURCE_TOOLS = (
    "ListMcpResourcesTool",
    "ReadMcpResourceDirTool",
    "ReadMcpResourceTool",
    "WaitForMcpServers",
)


def open_servers(
    setup: Setup,
    *,
    channel: Channel,
    workspace: Workspace,
    hooks: Hooks,
    sandbox: Sandbox | None,
    exchange: Exchange | None,
    warn: Callable[[str], None],
    wake: Callable[[Prompt], None] = lambda _: None,
    plugins: Sequence[tuple[str, Mapping[str, Any]]] = (),
) -> ServerDoor | None:
    """The servers that are configured, connecting in the background; None where none can ever come.

    Raises:
        ConfigError: a value of --mcp-config cannot be used.
    """
    found = _find(setup, warn, plugins)
    if found is None and exchange is None:
        return None

    def make() -> "Servers":
        from bridle.mcp.attendant import Company
        from bridle.mcp.remembered import remember_toggle
        from bridle.mcp.servers import Servers, Surroundings

        around = Surroundings(
            cwd=setup.cwd,
            env=setup.env,
            company=Company(
                roots=lambda: workspace.roots,
                ask=channel.ask,
                hooks=lambda: hooks,
                pushed=_pushed(setup, wake),
            ),
            read=lambda name, raw: _read(setup, name, raw),
            fit_image=_fit,
            exchange=exchange,
            authorizer=_authorizer(setup),
            remember=lambda name, enabled: remember_toggle(setup.env, setup.cwd, name, enabled=enabled),
            sandbox=_boundary(setup, sandbox),
            offered=_offered(setup),
            waits_for_all=setup.env.get("MCP_CONNECTION_NONBLOCKING", "").lower() not in ("1", "true", "yes"),
        )
        return Servers(() if found is None else found.servers, around)

    door = ServerDoor(make)
    if found is not None and found.servers:
        door.open()
    return door


def _find(
    setup: Setup, warn: Callable[[str], None], plugins: Sequence[tuple[str, Mapping[str, Any]]]
) -> "Found | None":
    args, env = setup.args, setup.env
    flags = tuple(args.many("mcp-config") or ())
    discovers = not (choices.is_bare(args, env) or choices.is_safe(args, env))
    if not flags and not (discovers and (plugins or is_any_configured(setup.config.inputs, env))):
        return None
    from bridle.config.mcp import Wish, find_servers

    found = find_servers(
        Wish(
            config=setup.config,
            env=env,
            trusted=setup.trusted,
            attended=args.on("interactive"),
            flags=flags,
            strict=args.on("strict-mcp-config"),
            discovers=discovers,
            plugins=tuple(plugins),
        )
    )
    for problem in found.problems:
        warn(str(problem))
    for server in found.servers:
        if server.off and server.scope == "project":
            warn(f"{server.file}: the MCP server {server.name} is not started: {server.off}")
    return found


def _read(setup: Setup, name: str, raw: Any) -> "Server":
    from bridle.config.mcp import host_server

    return host_server(name, raw, config=setup.config, env=setup.env)


def _pushed(setup: Setup, wake: Callable[[Prompt], None]) -> "Callable[[Pushed], None] | None":
    """What to do with messages of channels; only servers that the user names may send any."""
    named = setup.args.many("channels")
    allowed = {
        name.removeprefix("server:") for part in named or () for name in part.replace(",", " ").split()
    }
    if not allowed or setup.config.settings.channels_enabled is False:
        return None

    def push(message: "Pushed") -> None:
        if message.server not in allowed:
            return
        # The words of a stranger must not end the frame that says whose they are.
        text = message.content.replace("</channel", "<\\/channel")
        content = f'<channel source="{message.server}">\n{text}\n</channel>'
        origin = {"kind": "channel", "server": message.server}
        wake(Prompt(content=content, meta=True, verbatim=True, origin=origin))

    return push


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


def _boundary(setup: Setup, sandbox: Sandbox | None) -> Sandbox | None:
    if sandbox is None:
        return None
    from bridle.config.sandboxing import sandbox_for_programs

    return sandbox_for_programs(setup.config, sandbox)


def _offered(setup: Setup) -> Callable[[str], bool]:
    """Tools of servers are chosen by rules; those that bridle adds for them also by --tools."""
    listed = setup.args.many("tools")
    if listed is None or "default" in listed:
        return lambda _: True
    chosen = {name for part in listed for name in part.replace(",", " ").split()}
    return lambda name: name not in _RESOURCE_TOOLS or name in chosen


def _fit(data: bytes, media_type: str) -> "ImageBlock":
    """An image of a server made small enough to show.

    Raises:
        ToolError: it cannot be shown.
    """
    from bridle.tools.images import fit
    from bridle.types.errors import ToolError

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
            raise ToolError(f"Images of the kind {media_type[:100]} cannot be shown.")
