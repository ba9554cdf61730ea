"""What a host asks about the MCP servers of a session."""

from collections.abc import Mapping
from typing import Any

import msgspec

from bridle.protocol.control import Frame
from bridle.protocol.control_requests.dispatcher import ControlDispatcher
from bridle.types.errors import UsageError
from bridle.types.permission import Effect, Mode, Rule
from bridle.types.services.mcp import McpServers, ServerState, ToolFacts, normalized

_SECRET = ("env", "headers", "headersHelper", "oauth", "authToken")


async def mcp_status(dispatcher: ControlDispatcher, request: Mapping[str, Any]) -> Frame:
    del request
    return {"mcpServers": [status_of(state) for state in dispatcher.runtime.servers.status()]}


async def mcp_reconnect(dispatcher: ControlDispatcher, request: Mapping[str, Any]) -> Frame:
    servers, name = _known(dispatcher, request.get("serverName"))
    await servers.reconnect(name)
    return {}


async def mcp_toggle(dispatcher: ControlDispatcher, request: Mapping[str, Any]) -> Frame:
    servers, name = _known(dispatcher, request.get("serverName"))
    await servers.toggle(name, enabled=request.get("enabled") is not False)
    return {}


async def mcp_set_servers(dispatcher: ControlDispatcher, request: Mapping[str, Any]) -> Frame:
    wanted = request.get("servers")
    if not isinstance(wanted, dict):
        raise UsageError("servers must be an object: {name: configuration}.")
    take_policies(dispatcher, wanted, anew=True)
    done = await dispatcher.runtime.servers.set_servers(wanted)
    return {"added": list(done.added), "removed": list(done.removed), "errors": dict(done.errors)}


def take_policies(dispatcher: ControlDispatcher, configs: Mapping[str, Any], *, anew: bool) -> None:
    """Let hold what a host says about single tools of its servers; `anew` forgets what it said of these."""
    replaced = tuple(f"mcp__{normalized(name)}__" for name in configs) if anew else ()
    kept = [rule for rule in dispatcher.policies if not rule.tool.startswith(replaced)]
    stated = [rule for name, config in configs.items() for rule in _policies(name, config)]
    policies = tuple(dict.fromkeys((*kept, *stated)))
    if policies != dispatcher.policies:
        others = [rule for rule in dispatcher.session.state.rules if rule not in dispatcher.policies]
        dispatcher.policies = policies
        dispatcher.session.swap(rules=(*others, *policies))


async def mcp_message(dispatcher: ControlDispatcher, request: Mapping[str, Any]) -> Frame:
    servers, name = _known(dispatcher, request.get("server_name"))
    message = request.get("message")
    if not isinstance(message, dict):
        raise UsageError("message must be a JSON-RPC object.")
    servers.message(name, message)
    return {}


async def mcp_call(dispatcher: ControlDispatcher, request: Mapping[str, Any]) -> Frame:
    """Call a tool of a server for the host, without asking for permission."""
    name, arguments = str(request.get("tool")), request.get("arguments")
    servers = dispatcher.runtime.servers
    found = _find_tool(servers, name)
    if found is None:
        raise UsageError(f"No connected MCP server has the tool {name}.")
    state, tool = found
    if state.source == "sdk":
        raise UsageError(f"{name} belongs to a server of the host: call it there.")
    return await servers.call(state.name, tool.name, arguments if isinstance(arguments, dict) else {})


async def mcp_read_resource(dispatcher: ControlDispatcher, request: Mapping[str, Any]) -> Frame:
    servers, name = _known(dispatcher, request.get("serverName"))
    uri = request.get("uri")
    if not isinstance(uri, str) or not uri.startswith("ui://"):
        raise UsageError("Only ui:// resources can be read here.")
    return await servers.read_resource(name, uri)


async def set_mcp_permission_mode_override(
    dispatcher: ControlDispatcher, request: Mapping[str, Any]
) -> Frame | None:
    """Decide about the calls of one server in another mode than the session's; null takes that back."""
    name, mode = request.get("serverName"), request.get("mode")
    if not isinstance(name, str):
        raise UsageError("set_mcp_permission_mode_override: serverName must be a string")
    gate, host = dispatcher.runtime.gate, dispatcher.runtime.host
    known: Mode | None = next((each for each in gate.modes if each == mode), None)
    if mode is not None and known is None:
        raise UsageError(f"Cannot set permission mode: must be one of {', '.join(sorted(gate.modes))}")
    modes = {server: kept for server, kept in host.offer.server_modes.items() if server != name}
    if known is not None:
        modes[name] = known
    dispatcher.server.change(host=host.offering(msgspec.structs.replace(host.offer, server_modes=modes)))
    if name in {state.name for state in dispatcher.runtime.servers.status()}:
        return None
    return {
        "warning": f"MCP server '{name}' is not yet known; override stored but will not apply until a server "
        "with that exact name connects."
    }


def status_of(state: ServerState) -> Frame:
    """A server as status reports show it, without what may be secret."""
    config: Frame = msgspec.to_builtins(state.config)
    shown: Frame = {
        "name": state.name,
        "status": state.status,
        "transport": config["type"],
        "scope": state.scope,
        "source": state.source,
        "config": {key: value for key, value in config.items() if value and key not in _SECRET},
        "tools": [_tool(tool) for tool in state.tools],
    }
    if state.info is not None:
        shown["serverInfo"] = {"name": state.info.name, "version": state.info.version}
    if state.error is not None:
        shown["error"] = state.error
    return shown


def _tool(tool: ToolFacts) -> Frame:
    hints = {"readOnly": tool.read_only, "destructive": tool.destructive, "openWorld": tool.open_world}
    return {
        "name": tool.name,
        "description": tool.description,
        "annotations": {name: hint for name, hint in hints.items() if hint is not None},
    }


def _known(dispatcher: ControlDispatcher, name: object) -> tuple[McpServers, str]:
    servers = dispatcher.runtime.servers
    if name not in {state.name for state in servers.status()}:
        raise UsageError(f"Server not found: {name}")
    return servers, str(name)


def _find_tool(servers: McpServers, full_name: str) -> tuple[ServerState, ToolFacts] | None:
    for state in servers.status():
        for tool in state.tools:
            if full_name == f"mcp__{normalized(state.name)}__{normalized(tool.name)}":
                return state, tool
    return None


def _policies(server: str, config: object) -> list[Rule]:
    """A tool that is said to be always allowed is still asked about: only the user's rules allow."""
    listed = config.get("tools") if isinstance(config, dict) else None
    tools: list[Any] = listed if isinstance(listed, list) else []
    rules: list[Rule] = []
    for tool in tools:
        match tool:
            case {"name": str(), "permission_policy": "always_allow"}:
                continue
            case {"name": str() as name}:
                effect = Effect.DENY if tool.get("permission_policy") == "always_deny" else Effect.ASK
                rules.append(Rule(effect, f"mcp__{normalized(server)}__{normalized(name)}"))
            case _:
                continue
    return rules
