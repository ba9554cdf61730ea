"""`bridle mcp list` and `bridle mcp get`: what there is, and whether it can be reached."""

import asyncio
from collections.abc import Mapping, Sequence

import msgspec

from bridle.cli.mcp.folder_servers import FolderServers, look, running
from bridle.cli.say import say, tell
from bridle.cli.subcommands.parser import ParsedArguments
from bridle.config.mcp.servers import waits_for_user
from bridle.host.secrets import shown_address
from bridle.mcp.timeouts import Timeouts
from bridle.types.services.mcp import SdkServer, Server, ServerState, StdioServer

_MARKS = {
    "connected": "✓ Connected",
    "needs-auth": "! Needs authentication",
    "failed": "✗ Failed to connect",
    "pending": "✗ Failed to connect",
    "disabled": "⏸ Disabled",
}
_SECRET_HEADERS = ("authorization", "cookie", "key", "token", "secret")


def run_show(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """Print servers and their health.

    Raises:
        UsageError: there is no such server.
    """
    folder = look(env)
    if given.command[-1] == "list":
        return asyncio.run(_list(folder))
    return asyncio.run(_get(folder, folder.find(given.one("name"))))


async def _list(folder: FolderServers) -> int:
    if not folder.servers:
        return say("No MCP servers configured. Use `bridle mcp add` to add a server.\n")
    say("Checking MCP server health...\n\n")
    states = await _states(folder, folder.servers)
    lines = [f"{server.name}: {_address(server)} - {_health(server, states)}" for server in folder.servers]
    return tell(*lines)


async def _get(folder: FolderServers, server: Server) -> int:
    states = await _states(folder, (server,))
    state = states.get(server.name)
    config = server.config
    lines = [f"{server.name}:", f"  Scope: {_scope(server)}", f"  Status: {_health(server, states)}"]
    lines.append(f"  Type: {config.__struct_config__.tag}")
    if isinstance(config, StdioServer):
        lines += [f"  Command: {config.command}", f"  Args: {' '.join(config.args)}", "  Environment:"]
        lines += [f"    {name}={_hidden(name, value)}" for name, value in config.env.items()]
    elif not isinstance(config, SdkServer):
        lines.append(f"  URL: {shown_address(config.url)}")
        headers: Mapping[str, str] = msgspec.to_builtins(config).get("headers") or {}
        lines += ["  Headers:"] if headers else []
        lines += [f"    {name}: {_hidden(name, value)}" for name, value in headers.items()]
    if state is not None and state.info is not None:
        lines.append(f"  Server: {state.info.name} {state.info.version} (protocol {state.protocol})")
        lines.append(f"  Tools: {len(state.tools)}")
    if server.scope in ("local", "project", "user"):
        lines += ["", f'To remove this server, run: bridle mcp remove "{server.name}" -s {server.scope}']
    return tell(*lines)


async def _states(folder: FolderServers, servers: Sequence[Server]) -> dict[str, ServerState]:
    timing = Timeouts.of(folder.env)
    patient = msgspec.structs.replace(timing, first_turn=timing.connect)
    async with running(folder, servers, timing=patient) as every:
        await every.settle()
        return {state.name: state for state in every.status()}


def _health(server: Server, states: Mapping[str, ServerState]) -> str:
    state = states[server.name]
    mark = _MARKS[state.status]
    if waits_for_user(server):
        mark = "⏸ Pending approval"
    return f"{mark} ({state.error})" if state.error and state.status in ("failed", "disabled") else mark


def _address(server: Server) -> str:
    config = server.config
    if isinstance(config, StdioServer):
        return " ".join((config.command, *config.args))
    if isinstance(config, SdkServer):
        return "inside a host program"
    return f"{shown_address(config.url)} ({str(config.__struct_config__.tag).upper()})"


def _scope(server: Server) -> str:
    return f"{server.scope} ({server.file})" if server.file else server.scope


def _hidden(name: str, value: str) -> str:
    """What may be secret is shown by its length alone."""
    if any(word in name.lower() for word in _SECRET_HEADERS):
        return f"({len(value)} characters, not shown)"
    return value
