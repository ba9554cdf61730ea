"""Lets scripts beside a session use its MCP servers: a local address with a key, and a file beside it."""

import asyncio
import os
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from bridle.engine.mcp_servers import LazyServers
from bridle.engine.runtime import Runtime
from bridle.host.files import make_folders, write_atomic
from bridle.host.paths import bridle_dir
from bridle.host.socket_server import SocketServer, serve_tcp
from bridle.mcp.session_snapshot import Snapshot, answer, take_snapshot
from bridle.session.parts.outside_calls import OutsideCalls
from bridle.transcripts.session import Session
from bridle.types.errors import BridleError, McpError, UsageError
from bridle.types.variables import is_off, is_on

_LARGEST = 16 * 1024 * 1024
_PAUSE = 0.1


def _nothing() -> None:
    """Ignore changes of the servers."""


class Address(Struct, frozen=True):
    url: str
    key: str


def is_enabled(env: Mapping[str, str]) -> bool:
    return is_on(env, "ENABLE_EXPERIMENTAL_MCP_CLI")


def has_endpoint(env: Mapping[str, str]) -> bool:
    return is_enabled(env) and not is_off(env, "ENABLE_MCP_CLI_ENDPOINT")


def state_file(env: Mapping[str, str], session_id: str) -> str:
    return os.path.join(bridle_dir(env), "mcp-cli", f"{session_id}.json")


def endpoint_file(env: Mapping[str, str], session_id: str) -> str:
    return os.path.join(bridle_dir(env), "mcp-cli", f"{session_id}.endpoint.json")


class Automation:
    """Opened with a session, closed with it; the files are gone then."""

    def __init__(
        self, servers: LazyServers, calls: OutsideCalls, *, env: Mapping[str, str], session_id: str
    ) -> None:
        self._servers = servers
        self._calls = calls
        self._env = env
        self._id = session_id
        self._key = os.urandom(24).hex()
        self._server: SocketServer | None = None
        self._written = b""
        self._due: asyncio.TimerHandle | None = None

    async def open(self) -> None:
        """Begin to listen, where that is wanted, and say where.

        Raises:
            OSError: a file cannot be written.
        """
        make_folders(os.path.dirname(state_file(self._env, self._id)), private=True)
        if has_endpoint(self._env):
            self._server = await serve_tcp(self._serve, "127.0.0.1", 0)
            address = Address(f"http://127.0.0.1:{self._server.port}", self._key)
            write_atomic(endpoint_file(self._env, self._id), msgspec.json.encode(address), mode=0o600)
        self.note()
        self._servers.watch(self._note_soon)

    def note(self) -> None:
        """Write down how the servers are now."""
        data = msgspec.json.encode(self._snapshot())
        if data != self._written:
            self._written = data
            write_atomic(state_file(self._env, self._id), data, mode=0o600)

    def _note_soon(self) -> None:
        """Servers change in swarms when they connect."""
        if self._due is not None:
            self._due.cancel()
        self._due = asyncio.get_running_loop().call_later(_PAUSE, self.note)

    async def close(self) -> None:
        if self._due is not None:
            self._due.cancel()
        self._servers.watch(_nothing)
        if self._server is not None:
            await self._server.close()
        for path in (state_file(self._env, self._id), endpoint_file(self._env, self._id)):
            if os.path.exists(path):
                os.unlink(path)

    def _snapshot(self) -> Snapshot:
        schemas = {state.name: self._servers.input_schemas(state.name) for state in self._servers.status()}
        return take_snapshot(self._servers, schemas)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            status, body = await self._answer(reader)
            data = msgspec.json.encode(body)
            phrase = "OK" if status < 400 else "Error"
            head = (
                f"HTTP/1.1 {status} {phrase}\r\n"
                f"Content-Type: application/json\r\nContent-Length: {len(data)}\r\n"
            )
            writer.write(head.encode() + b"Connection: close\r\n\r\n" + data)
            await writer.drain()
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # The script is gone.
        finally:
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader) -> tuple[int, Any]:
        import hmac

        line, *lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (each.partition(":") for each in lines)}
        given = headers.get("authorization", "").encode()
        if not hmac.compare_digest(given, f"Bearer {self._key}".encode()):
            return 401, {"error": "the key is wrong", "type": "Unauthorized"}
        length = headers.get("content-length", "0")
        if line.split(" ")[:2] != ["POST", "/mcp"] or not length.isdecimal() or int(length) > _LARGEST:
            return 404, {"error": "only POST /mcp is supported", "type": "NotFound"}
        try:
            request = msgspec.json.decode(await reader.readexactly(int(length)), type=dict[str, Any])
            return 200, await self._do(request)
        except msgspec.DecodeError as error:
            return 400, {"error": f"not a JSON object: {error}", "type": "BadRequest"}
        except UsageError as error:
            return 400, {"error": str(error), "type": "BadRequest"}
        except McpError as error:
            return 502, {"error": str(error), "type": "ConnectionFailedError"}
        except BridleError as error:
            return 500, {"error": str(error), "type": type(error).__name__}

    async def _do(self, request: Mapping[str, Any]) -> Any:
        command, words = str(request.get("command")), request.get("words")
        given = [str(word) for word in words] if isinstance(words, list) else []
        snapshot = self._snapshot()
        if command == "call" and given:
            tool = snapshot.tool(given[0])
            arguments = request.get("arguments")
            output = await self._calls.run(tool.name, arguments if isinstance(arguments, dict) else {})
            return {"content": output.content, "isError": output.is_error}
        if command == "read" and len(given) == 2:
            return await self._servers.read_resource(snapshot.server(given[0]), given[1])
        return answer(snapshot, command, given)


async def automate(session: Session, runtime: Callable[[], Runtime], servers: LazyServers) -> None:
    """Let scripts use the servers of a session, where a variable asks for that."""
    env = runtime().env
    if is_enabled(env):
        calls = OutsideCalls(session, runtime)
        automation = Automation(servers, calls, env=env, session_id=session.id)
        await automation.open()
        servers.before_close(automation.close)
