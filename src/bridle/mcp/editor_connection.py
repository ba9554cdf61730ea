"""A link to one editor: the tools it has, what it tells on its own, and when it is gone."""

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from bridle.host.editors import Editor
from bridle.host.lsp.documents import path_of
from bridle.host.reaper import Reaper
from bridle.mcp.catalog import ServerTool
from bridle.mcp.client_requests import RequestContext
from bridle.mcp.connection import Connection
from bridle.mcp.timeouts import Timeouts
from bridle.mcp.tools import ServerToolContext, session_tool
from bridle.mcp.transports.selection import TransportContext, make_transport
from bridle.types.errors import McpError
from bridle.types.permission import Access
from bridle.types.question import Answer, Question, Refused
from bridle.types.services.mcp import IdeSseServer, IdeWebSocketServer, Server
from bridle.types.tool import Tool, ToolContext, ToolOutput
from bridle.types.workspace import Workspace

NAME = "ide"
"""What models and rules call the editor, whichever it is: its tools are `mcp__ide__…`."""

_FOR_MODELS = ("getDiagnostics", "executeCode")
_TIMING = Timeouts(connect=10.0, attempts=0, probes=False)
_QUICK = 5.0


class EditorContext(Struct, frozen=True, kw_only=True):
    """What a link is made in, and whom it tells."""

    cwd: str
    env: Mapping[str, str]
    roots: Callable[[], tuple[str, ...]]
    notified: Callable[[str, Mapping[str, Any]], None]
    """Takes what the editor tells on its own: a method and its parameters."""


class EditorConnection:
    """Opened once, closed once; an editor that is gone is not looked for again."""

    def __init__(self, editor: Editor, context: EditorContext) -> None:
        self.editor = editor
        self.gone = asyncio.Event()
        """Set when the editor is not there any more."""
        self._context = context
        self._reaper = Reaper()
        self._made: tuple[tuple[ServerTool, ...], tuple[Tool, ...]] | None = None
        server = Server(name=NAME, config=_config(editor), scope="dynamic")
        # Whatever proxy the session has: what is said to an editor stays on the machine.
        transport = TransportContext(cwd=context.cwd, env={}, reaper=self._reaper)
        self._connection = Connection(
            server,
            make=lambda: make_transport(server, transport),
            context=RequestContext(roots=context.roots, ask=_no_one, notified=context.notified),
            timing=_TIMING,
            slots=asyncio.Semaphore(1),
            changed=self._look,
        )

    async def open(self) -> None:
        """Connect and say who is there.

        Raises:
            McpError: the editor cannot be reached, or does not let us in.
        """
        await self._connection.restart()
        self._connection.tell("ide_connected", {"pid": os.getpid()})

    def offers(self, tool: str) -> bool:
        return any(each.name == tool for each in self._connection.offer.tools)

    def tools(self) -> Sequence[Tool]:
        """What models may call; the same object until the editor has other tools."""
        listed = self._connection.offer.tools
        if self._made is None or self._made[0] is not listed:
            chosen = [each for each in listed if each.name in _FOR_MODELS]
            self._made = (listed, tuple(self._tool(each) for each in chosen))
        return self._made[1]

    async def call(
        self, tool: str, arguments: Mapping[str, Any], *, seconds: float | None = _QUICK
    ) -> tuple[str, ...]:
        """Call a tool of the editor, listed or not; the texts that it answers with.

        Raises:
            McpError: the editor is gone, refused, or did not answer in time.
        """
        named = ServerTool(full_name=tool, name=tool, description="", schema_json=b"{}")
        try:
            async with asyncio.timeout(seconds):
                result = await self._connection.call(named, arguments)
        except TimeoutError as error:
            raise McpError(f"{self.editor.name} did not answer {tool} within {seconds:g} s.") from error
        content = result.get("content")
        blocks = content if isinstance(content, list) else []
        texts = tuple(each["text"] for each in blocks if _is_text(each))
        if result.get("isError") is True:
            raise McpError(f"{self.editor.name}: {' '.join(texts)[:500] or f'{tool} failed'}")
        return texts

    async def close(self) -> None:
        await self._connection.stop()
        self.gone.set()
        await asyncio.to_thread(self._reaper.close)

    def _look(self) -> None:
        if self._connection.status not in ("connected", "pending"):
            self.gone.set()

    def _tool(self, listed: ServerTool) -> Tool:
        made = session_tool(ServerToolContext.of(self._connection, env=self._context.env, fit=None), listed)
        if listed.name != "getDiagnostics":
            return made

        async def run(input: dict[str, Any], ctx: ToolContext) -> ToolOutput:
            return _without_hidden(await made.run(input, ctx), ctx.permit.hides)

        return msgspec.structs.replace(made, run=run, read_only=_always, parallel=_always, access=_diagnosed)


def _config(editor: Editor) -> IdeWebSocketServer | IdeSseServer:
    if editor.transport == "ws":
        return IdeWebSocketServer(url=editor.url, ide_name=editor.name, auth_token=editor.token)
    return IdeSseServer(url=editor.url, ide_name=editor.name)


def _diagnosed(input: dict[str, Any], workspace: Workspace) -> Access:
    """The file that is asked about, or the whole project."""
    uri = input.get("uri")
    path = path_of(uri) if isinstance(uri, str) else None
    if isinstance(uri, str) and path is None:
        return Access(reads=(workspace.resolve(uri),))
    return Access(reads=(path or workspace.cwd,))


def _without_hidden(output: ToolOutput, hides: Callable[[str], bool]) -> ToolOutput:
    """An answer without the files that no model may read."""
    if isinstance(output.content, str):
        return msgspec.structs.replace(output, content=_shown(output.content, hides))
    content = list(output.content)
    for at, block in enumerate(content):
        if block["type"] == "text":
            content[at] = {"type": "text", "text": _shown(block["text"], hides)}
    return msgspec.structs.replace(output, content=content)


def _shown(text: str, hides: Callable[[str], bool]) -> str:
    try:
        files = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return text
    if not isinstance(files, list):
        return text
    kept = [each for each in files if not _is_hidden(each, hides)]
    return text if len(kept) == len(files) else msgspec.json.encode(kept).decode()


def _is_hidden(file: Any, hides: Callable[[str], bool]) -> bool:
    match file:
        case {"uri": str() as uri}:
            path = path_of(uri)
            return path is not None and hides(path)
        case _:
            return False


def _always(_: Any) -> bool:
    return True


def _is_text(block: Any) -> bool:
    return isinstance(block, dict) and block.get("type") == "text" and isinstance(block.get("text"), str)


async def _no_one(question: Question) -> Answer:
    """An editor shows what it has to ask itself."""
    del question
    return Refused(message="Editors ask in their own window.", by_person=False)
