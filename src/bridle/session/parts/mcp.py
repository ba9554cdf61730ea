"""The MCP servers of a session: which there are, and what they are run in."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bridle.config.mcp.locations import is_any_configured
from bridle.engine.mcp_servers import LazyServers
from bridle.session import choices
from bridle.session.base import SessionBase
from bridle.session.setup import Setup
from bridle.types.channel import Channel
from bridle.types.origin import Origin
from bridle.types.turn import Prompt

if TYPE_CHECKING:
    from bridle.config.mcp.servers import FoundServers
    from bridle.engine.permissions.relay import RelayedChannel
    from bridle.mcp.client_requests import ChannelMessage, Sampler
    from bridle.mcp.servers import Servers

Allowed = Callable[[str], bool]
"""Whether a server, by its full name, may be a channel."""


def open_servers(base: SessionBase) -> LazyServers | None:
    """The servers that are configured, connecting in the background; None where none can ever come.

    Raises:
        ConfigError: a value of --mcp-config cannot be used.
    """
    setup, channel, workspace = base.setup, base.channel, base.workspace
    exchange = base.connection.exchange
    found = _find(setup, base.warn, base.plugins.servers(), shared=base.plugins.shared_servers())
    if found is None and exchange is None:
        return None
    allowed = allowed_channels(setup, base.plugins.is_channel)
    relay = _relay_for(allowed, channel)

    def make() -> "Servers":
        from bridle.mcp.approvals import remember_toggle
        from bridle.mcp.client_requests import RequestContext
        from bridle.mcp.servers import Servers
        from bridle.session.parts.mcp_context import servers_context

        company = RequestContext(
            roots=lambda: workspace.roots,
            ask=channel.ask,
            hooks=lambda: base.hooks,
            sample=sampler(base),
            pushed=_pushed(allowed, base.wake),
            settled=None if relay is None else relay.settle,
        )
        context = servers_context(
            base,
            company,
            cwd=setup.cwd,
            exchange=exchange,
            remember=lambda name, enabled: remember_toggle(setup.env, setup.cwd, name, enabled=enabled),
        )
        return Servers(() if found is None else found.servers, context)

    servers = LazyServers(make, relay=relay)
    if relay is not None and allowed is not None:
        relay.relay_by(lambda question: servers.relay(question, allowed))
    if found is not None and found.servers:
        servers.open()
    return servers


def _find(
    setup: Setup,
    warn: Callable[[str], None],
    plugins: Sequence[tuple[str, Mapping[str, Any]]],
    *,
    shared: frozenset[str],
) -> "FoundServers | None":
    options, env = setup.options, setup.env
    flags = options.mcp_config
    discovers = not choices.is_closed(options, env)
    if not flags and not (discovers and (plugins or is_any_configured(setup.config.inputs, env))):
        return None
    from bridle.config.mcp.servers import UNTRUSTED, ServerSources, find_servers

    found = find_servers(
        ServerSources(
            config=setup.config,
            env=env,
            trusted=setup.trusted,
            attended=options.interactive,
            flags=flags,
            strict=options.strict_mcp_config,
            discovers=discovers,
            plugins=tuple(plugins),
            shared=shared,
        )
    )
    for problem in found.problems:
        warn(str(problem))
    for server in found.servers:
        if server.off == UNTRUSTED and not options.interactive:
            continue  # Print mode and hosts get one line, with all else that was left out.
        if server.off and (server.scope == "project" or server.name in shared):
            warn(f"{server.file}: the MCP server {server.name} is not started: {server.off}")
    return found


def _pushed(
    allowed: Allowed | None, wake: Callable[[Prompt], None]
) -> "Callable[[ChannelMessage], None] | None":
    """What to do with messages of channels; only servers that the user names may send any."""
    if allowed is None:
        return None

    def push(message: "ChannelMessage") -> None:
        if not allowed(message.server):
            return
        # The words of a stranger must not end the frame that says whose they are.
        text = message.content.replace("</channel", "<\\/channel")
        content = f'<channel source="{message.server}">\n{text}\n</channel>'
        origin = Origin(source="channel", who=message.server)
        wake(Prompt(content=content, origin=origin, meta=True, verbatim=True))

    return push


def relayed(channel: Channel, servers: LazyServers | None) -> Channel:
    """The channel that asks for permission: with others beside it, where some may decide."""
    return channel if servers is None or servers.asking is None else servers.asking


def _relay_for(allowed: Allowed | None, channel: Channel) -> "RelayedChannel | None":
    if allowed is None:
        return None
    from bridle.engine.permissions.relay import RelayedChannel

    return RelayedChannel(channel)


def sampler(base: SessionBase) -> "Sampler":
    """Who asks a model for a server; what does it is imported with the first question."""

    async def sample(server: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        from bridle.engine.sampling import sample_for

        return await sample_for(server, params, base.session, base.runtime())

    return sample


def allowed_channels(setup: Setup, is_channel: Allowed) -> Allowed | None:
    """Which servers may send messages and pass on answers; None where none may.

    `--channels` names a server, `server:name`, or with `plugin:name@marketplace` all servers of a plugin that
    its manifest lets be channels.
    """
    settings = setup.config.settings
    named = [each for part in setup.options.channels for each in part.replace(",", " ").split()]
    if settings.channels_enabled is False or not named:
        return None
    plugins = [each.removeprefix("plugin:") for each in named if each.startswith("plugin:") and "@" in each]
    if (listed := settings.allowed_channel_plugins) is not None:
        known = {f"{each.plugin}@{each.marketplace}" for each in listed}
        plugins = [each for each in plugins if each in known]
    starts = tuple(f"plugin:{each.partition('@')[0]}:" for each in plugins)
    servers = {each.removeprefix("server:") for each in named}
    return lambda name: (name in servers or (bool(starts) and name.startswith(starts))) and is_channel(name)
