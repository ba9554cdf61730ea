"""`bridle --mcp-cli`: the MCP servers of a running session for scripts."""

import asyncio
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from bridle.cli.say import say
from bridle.cli.subcommands.parser import ParsedArguments
from bridle.config.mcp.entry import read_entry
from bridle.config.options import SessionOptions
from bridle.host.files import read_bytes
from bridle.host.http.client import HttpClient, HttpFault, Limits, Request
from bridle.host.paths import bridle_dir
from bridle.host.stdio import complain
from bridle.mcp.session_snapshot import Snapshot, answer
from bridle.session.parts.mcp_endpoint import Address, endpoint_file, has_endpoint, is_enabled, state_file
from bridle.session.parts.outside_calls import OutsideCalls
from bridle.types.errors import CommandLineError, McpError, UsageError
from bridle.types.event import Event
from bridle.types.question import Answer, PermissionQuestion, Permitted, Question, Refused
from bridle.types.services.mcp import Server

_LARGEST = 64 * 1024 * 1024
_LOOK_SECONDS = 10.0


def run_automation(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """Run one command.

    Raises:
        UsageError: the words are off, or there is no session to ask.
        McpError: the session or a server does not answer.
    """
    if not is_enabled(env):
        raise UsageError("--mcp-cli is experimental: set ENABLE_EXPERIMENTAL_MCP_CLI=1 to use it")
    command = given.command[-1]
    arguments = _arguments(given)
    named = [given.text(name) for name in ("server", "tool", "pattern")]
    rest = _resource(given) if command == "read" else [word for word in named if word is not None]
    session = given.text("session") or env.get("CLAUDE_CODE_SESSION_ID") or _newest(env)
    limit = given.text("timeout") or env.get("MCP_TOOL_TIMEOUT", "")
    seconds = int(limit) / 1000 if limit.isdecimal() and int(limit) else 100_000.0
    reply = asyncio.run(_ask(env, session, command, rest, arguments=arguments, seconds=seconds))
    code = say(_shown(command, reply, as_json=given.on("json")))
    return code or (1 if command == "call" and reply.get("isError") else 0)


async def _ask(
    env: Mapping[str, str],
    session: str,
    command: str,
    words: list[str],
    *,
    arguments: dict[str, Any],
    seconds: float,
) -> Any:
    address = _address(env, session)
    if address is not None:
        patience = seconds if command in ("call", "read") else _LOOK_SECONDS
        request = {"command": command, "words": words, "arguments": arguments}
        return await _post(env, address, request, patience)
    snapshot = _read_state(env, session)
    if command == "call":
        return await _call(env, snapshot, words, arguments)
    if command == "read":
        return await _read(env, snapshot, words)
    return answer(snapshot, command, words)


async def _post(env: Mapping[str, str], address: Address, request: Any, seconds: float) -> Any:
    headers = (("Authorization", f"Bearer {address.key}"), ("Content-Type", "application/json"))
    client = HttpClient({**env, "NO_PROXY": "*", "no_proxy": "*"})
    body = msgspec.json.encode(request)
    limits = Limits(connect=5.0, idle=seconds, total=seconds, body=_LARGEST)
    try:
        async with client.send(Request("POST", f"{address.url}/mcp", headers, body), limits) as response:
            reply = msgspec.json.decode(await response.read())
    except (HttpFault, msgspec.DecodeError) as error:
        raise McpError(f"The session is not responding: {error}") from error
    finally:
        await client.close()
    if response.status >= 400:
        raise McpError(str(reply.get("error") or f"HTTP {response.status}"))
    return reply


async def _call(
    env: Mapping[str, str], snapshot: Snapshot, words: Sequence[str], arguments: Mapping[str, Any]
) -> Any:
    """Connect to the server and call, through the gate of a session of its own."""
    from bridle.session.host import Host
    from bridle.session.open import open_session

    tool = snapshot.tool(words[0])
    config = {"mcpServers": {tool.server_name: snapshot.configs[tool.server_name]}}
    given = msgspec.json.encode(config).decode()
    options = SessionOptions(no_session_persistence=True, mcp_config=(given,), strict_mcp_config=True)
    host = Host(env={**env, "ENABLE_TOOL_SEARCH": "false"}, warn=_warn, tell=_warn, greets=False)
    async with open_session(options, _Typed(), host=host) as live:
        await live.server.runtime.servers.settle()
        output = await OutsideCalls(live.session, lambda: live.server.runtime).run(tool.name, arguments)
    return {"content": output.content, "isError": output.is_error}


async def _read(env: Mapping[str, str], snapshot: Snapshot, words: Sequence[str]) -> Any:
    from bridle.cli.mcp.folder_servers import look, running

    name = snapshot.server(words[0])
    server = Server(name=name, config=read_entry(name, snapshot.configs[name], env), scope="dynamic")
    async with running(look(env), (server,)) as servers:
        await servers.settle()
        return await servers.read_resource(name, words[1])


class _Typed:
    """A call typed at a terminal is approved by the user; a script needs an allow rule."""

    def emit(self, event: Event) -> None:
        """Events are not shown."""

    async def ask(self, question: Question) -> Answer:
        if isinstance(question, PermissionQuestion) and os.isatty(0) and os.isatty(1):
            return Permitted()
        return Refused(message="Not interactive: allow the tool with a rule.", by_person=False)


def _arguments(given: ParsedArguments) -> dict[str, Any]:
    text = given.text("arguments")
    if text is None:
        return {}
    text = sys.stdin.read() if text == "-" else text
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except msgspec.DecodeError as error:
        raise UsageError(f"the arguments are not a JSON object: {error}") from error


def _resource(given: ParsedArguments) -> list[str]:
    server, uri = given.one("server"), given.text("uri")
    if uri is None:
        server, slash, uri = server.partition("/")
        if not slash:
            raise CommandLineError("missing argument <uri>; see bridle --mcp-cli read --help")
    return [server, uri]


def _address(env: Mapping[str, str], session: str) -> Address | None:
    if not has_endpoint(env):
        return None
    path = endpoint_file(env, session)
    try:
        return msgspec.json.decode(read_bytes(path, _LARGEST), type=Address)
    except (OSError, msgspec.DecodeError):
        complain(f"warning: session {session} has no endpoint at {path}; using its state file")
        return None


def _read_state(env: Mapping[str, str], session: str) -> Snapshot:
    path = state_file(env, session)
    try:
        return msgspec.json.decode(read_bytes(path, _LARGEST), type=Snapshot)
    except OSError as error:
        raise UsageError(f"no state for session {session} at {path}; is it running?") from error
    except msgspec.DecodeError as error:
        raise UsageError(f"can't read {path}: {error}") from error


def _newest(env: Mapping[str, str]) -> str:
    """The session that has written its state last; a file that is just being replaced is none."""
    folder = os.path.join(bridle_dir(env), "mcp-cli")
    found: list[tuple[float, str]] = []
    try:
        entries = list(os.scandir(folder))
    except OSError:
        entries = []
    for entry in entries:
        session = entry.name.removesuffix(".json")
        if entry.name.startswith(".") or session == entry.name or session.endswith(".endpoint"):
            continue
        try:
            found.append((entry.stat().st_mtime, session))
        except FileNotFoundError:
            continue  # The session has just ended.
    if not found:
        raise UsageError("no session with ENABLE_EXPERIMENTAL_MCP_CLI=1 is running")
    return max(found)[1]


def _shown(command: str, reply: Any, *, as_json: bool) -> str:
    if as_json or command == "info":
        return msgspec.json.format(msgspec.json.encode(reply), indent=2).decode() + "\n"
    match command:
        case "servers":
            lines = [f"{each['name']} - {each['status']}" for each in reply]
        case "tools":
            lines = list(reply)
        case "grep":
            lines = [f"{each['name']} - {each['description']}" for each in reply]
        case "resources":
            lines = [f"{each['server']}/{each['uri']} - {each['name']}" for each in reply]
        case "call":
            lines = [str(each.get("text", f"[{each.get('type')}]")) for each in reply["content"]]
        case _:
            lines = [str(each.get("text", f"[{each.get('mimeType')}]")) for each in reply.get("contents", ())]
    return "".join(f"{line}\n" for line in lines)


def _warn(text: str) -> None:
    complain(f"warning: {text}")
