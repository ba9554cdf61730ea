"""A fake editor: a WebSocket server that speaks MCP, and the file it leaves."""

import asyncio
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response

TOKEN = "0123456789abcdef0123456789abcdef"
TOOLS = (
    "openDiff", "openFile", "getDiagnostics", "closeAllDiffTabs", "getCurrentSelection", "getLatestSelection",
    "getOpenEditors", "getWorkspaceFolders", "checkDocumentDirty", "saveDocument", "executeCode",
)  # fmt: skip


class FakeEditor:
    """Keeps what it is asked, and answers as a test wants."""

    def __init__(
        self,
        home: Path,
        *folders: Path,
        name: str = "Neovim",
        token: str = TOKEN,
        tools: tuple[str, ...] = TOOLS,
    ) -> None:
        self._home = home
        self._folders = folders
        self._name = name
        self._token = token
        self._tools = tools
        self._server: Server | None = None
        self._sockets: set[ServerConnection] = set()
        self._diffs: dict[str, asyncio.Future[list[str]]] = {}
        self.calls: list[tuple[str, Mapping[str, Any]]] = []
        """Tools that were called, with what they were given."""
        self.heard: list[str] = []
        """The methods of every message that came."""
        self.refused = 0
        self.diagnostics: dict[str, list[Any]] = {}
        """What is wrong with each file."""
        self.selection: Mapping[str, Any] | None = None
        self.is_slow = False
        """It takes calls and answers none."""
        self.greeting: tuple[str | bytes, ...] = ()
        """What it sends before anything else."""
        self.port = 0

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()
        self.lock.unlink(missing_ok=True)

    @property
    def lock(self) -> Path:
        return self._home / "ide" / f"{self.port}.lock"

    @property
    def is_linked(self) -> bool:
        return bool(self._sockets)

    async def start(self) -> None:
        """Listen on a port of its own and leave the file."""
        self._server = await serve(self._talk, "127.0.0.1", 0, process_request=self._let_in, close_timeout=1)
        self.port = next(iter(self._server.sockets)).getsockname()[1]
        self.write_lock()

    async def stop(self) -> None:
        """Go away as a killed editor does: the file stays."""
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()
            self._server = None

    def write_lock(self, **changed: Any) -> None:
        told = {
            "pid": os.getpid(),
            "workspaceFolders": [str(folder) for folder in self._folders],
            "ideName": self._name,
            "transport": "ws",
            "authToken": self._token,
            **changed,
        }
        self.lock.parent.mkdir(parents=True, exist_ok=True)
        self.lock.write_text(json.dumps(told), encoding="utf-8")

    async def tell(self, method: str, params: Mapping[str, Any]) -> None:
        """Notify the connected session."""
        await self.send(json.dumps({"jsonrpc": "2.0", "method": method, "params": params}))

    async def send(self, data: str | bytes) -> None:
        for socket in tuple(self._sockets):
            await socket.send(data)

    async def select(
        self, path: Path, text: str = "", *, first: int = 0, last: int = 0, column: int = 5
    ) -> None:
        """Tell of a selection; its lines are counted from zero."""
        await self.tell("selection_changed", selected(path, text, first=first, last=last, column=column))

    def called(self, tool: str) -> list[Mapping[str, Any]]:
        return [arguments for name, arguments in self.calls if name == tool]

    def answer(self, *texts: str) -> None:
        """Settle the diff that was opened last."""
        self._diffs[self.called("openDiff")[-1]["tab_name"]].set_result(list(texts))

    def _let_in(self, connection: ServerConnection, request: Request) -> Response | None:
        if request.headers.get("X-Claude-Code-Ide-Authorization") == self._token:
            return None
        self.refused += 1
        return connection.respond(401, "wrong token\n")

    async def _talk(self, socket: ServerConnection) -> None:
        for data in self.greeting:
            await socket.send(data)
        self._sockets.add(socket)
        answering: set[asyncio.Task[None]] = set()
        try:
            async for data in socket:
                task = asyncio.create_task(self._take(socket, json.loads(data)))
                answering.add(task)
                task.add_done_callback(answering.discard)
        except ConnectionClosed:
            pass  # The session has ended without closing the connection.
        finally:
            self._sockets.discard(socket)
            for task in tuple(answering):
                task.cancel()
            await asyncio.gather(*answering, return_exceptions=True)

    async def _take(self, socket: ServerConnection, message: Any) -> None:
        method = message.get("method", "")
        self.heard.append(method)
        match method:
            case "initialize":
                result: Any = {
                    "protocolVersion": "2024-11-05",
                    "capabilities": {
                        "logging": {},
                        "prompts": {"listChanged": True},
                        "tools": {"listChanged": True},
                    },
                    "serverInfo": {"name": "fake-editor", "version": "1"},
                }
            case "tools/list":
                result = {
                    "tools": [{"name": name, "inputSchema": {"type": "object"}} for name in self._tools]
                }
            case "prompts/list":
                result = {"prompts": []}
            case "tools/call":
                params = message["params"]
                self.calls.append((params["name"], params.get("arguments") or {}))
                if self.is_slow:
                    return
                texts = await self._call(params["name"], params.get("arguments") or {})
                result = {"content": [{"type": "text", "text": text} for text in texts]}
            case _:
                return
        try:
            await socket.send(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}))
        except ConnectionClosed:
            pass  # Whoever asked has left.

    async def _call(self, tool: str, given: Mapping[str, Any]) -> list[str]:
        match tool:
            case "openDiff":
                waiting = self._diffs[given["tab_name"]] = asyncio.get_running_loop().create_future()
                return await waiting
            case "close_tab":
                return ["TAB_CLOSED"]
            case "getDiagnostics":
                listed = (
                    {uri: self.diagnostics.get(uri, []) for uri in [given["uri"]]}
                    if given
                    else self.diagnostics
                )
                return [json.dumps([{"uri": uri, "diagnostics": found} for uri, found in listed.items()])]
            case "getLatestSelection" | "getCurrentSelection":
                found = self.selection
                return [json.dumps({"success": True, **found} if found else {"success": False})]
            case _:
                return [f"{tool} done"]


def selected(
    path: Path, text: str = "", *, first: int = 0, last: int = 0, column: int = 5
) -> Mapping[str, Any]:
    """A selection as editors tell of it."""
    start, end = {"line": first, "character": 0}, {"line": last, "character": column}
    return {
        "text": text,
        "filePath": str(path),
        "fileUrl": f"file://{path}",
        "selection": {"start": start, "end": end, "isEmpty": not text},
    }


def problem(message: str, *, line: int = 0, severity: str = "Error") -> Mapping[str, Any]:
    """A diagnostic as editors tell of it."""
    place = {"start": {"line": line, "character": 0}, "end": {"line": line, "character": 1}}
    return {"message": message, "severity": severity, "range": place, "source": "checker"}
