"""The language servers of one session."""

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from bridle.features.language_servers import answers
from bridle.features.language_servers.answers import View
from bridle.features.language_servers.diagnostics import Diagnostics
from bridle.host.lsp.connection import Launch
from bridle.host.lsp.documents import path_of, uri_of
from bridle.host.lsp.framing import LspFault
from bridle.host.lsp.server import LanguageServer, LspEntry
from bridle.host.reaper import Reaper
from bridle.types.errors import ToolError
from bridle.types.sandbox import Sandbox
from bridle.types.services.language_servers import Finding, Inquiry

_METHODS = {
    "goToDefinition": ("textDocument/definition", "definitionProvider"),
    "findReferences": ("textDocument/references", "referencesProvider"),
    "hover": ("textDocument/hover", "hoverProvider"),
    "documentSymbol": ("textDocument/documentSymbol", "documentSymbolProvider"),
    "workspaceSymbol": ("workspace/symbol", "workspaceSymbolProvider"),
    "goToImplementation": ("textDocument/implementation", "implementationProvider"),
    "prepareCallHierarchy": ("textDocument/prepareCallHierarchy", "callHierarchyProvider"),
    "incomingCalls": ("textDocument/prepareCallHierarchy", "callHierarchyProvider"),
    "outgoingCalls": ("textDocument/prepareCallHierarchy", "callHierarchyProvider"),
}
_MOST_LOOKING = 20
_TREES = "/.claude/worktrees/"


class LanguageContext(Struct, frozen=True, kw_only=True):
    """What language servers need from the session."""

    root: Callable[[], str]
    env: Mapping[str, str]
    tell: Callable[[str], None]
    sandbox: Sandbox | None = None


class SessionLanguages:
    """See `types.language.Languages`; closed with the session."""

    def __init__(self, entries: Mapping[str, Mapping[str, Any]], context: LanguageContext) -> None:
        self._entries = entries
        self._context = context
        self._reaper = Reaper()
        self._servers: dict[tuple[str, str], LanguageServer] = {}
        """By their names and the folders that they work in."""
        self._diagnostics = Diagnostics()
        self._looking: set[asyncio.Task[None]] = set()
        self._reported: set[str] = set()

    async def ask(self, inquiry: Inquiry, *, hides: Callable[[str], bool]) -> Finding:
        """What the server for the file answers, without what lies in hidden files.

        Raises:
            ToolError: there is no server for it, or the server cannot answer.
        """
        name = self._name_for(inquiry.path)
        if name is None:
            ending = os.path.splitext(inquiry.path)[1] or os.path.basename(inquiry.path)
            raise ToolError(f"No language server is configured for {ending} files: use Grep and Read.")
        view = View(root=self._root(inquiry.path), hides=hides)
        try:
            return await self._find(self._server(name, view.root), inquiry, view)
        except LspFault as fault:
            raise ToolError(f"The language server {name} failed: {fault}. Use Grep and Read.") from fault

    def touch(self, session: object, paths: Sequence[str]) -> None:
        """Let servers look at files that a conversation has changed; nothing is waited for."""
        for path in paths:
            name = self._name_for(path)
            if name is None or len(self._looking) >= _MOST_LOOKING:
                continue
            self._diagnostics.touch(session, path)
            looking = asyncio.create_task(self._show(name, path))
            self._looking.add(looking)
            looking.add_done_callback(self._looking.discard)

    def news(self, session: object) -> str | None:
        """New problems in files that this conversation has changed."""
        return self._diagnostics.news(session)

    async def change(self, entries: Mapping[str, Mapping[str, Any]]) -> None:
        """Use other servers. Those that were removed or configured differently are stopped."""
        before, self._entries = self._entries, entries
        over = [key for key in self._servers if entries.get(key[0]) != before.get(key[0])]
        self._reported.difference_update(name for name, _ in over)
        await asyncio.gather(*(self._servers.pop(key).close() for key in over))

    async def close(self) -> None:
        for task in self._looking:
            task.cancel()
        await asyncio.gather(*self._looking, return_exceptions=True)
        await asyncio.gather(*(server.close() for server in self._servers.values()))
        await asyncio.to_thread(self._reaper.close)

    def _name_for(self, path: str) -> str | None:
        ending = os.path.splitext(path)[1]
        known = (
            name
            for name, entry in self._entries.items()
            if ending and ending in (entry.get("extensionToLanguage") or {})
        )
        return next(known, None)

    def _root(self, path: str) -> str:
        """The project, or the work tree in it that a file is in: agents have trees of their own."""
        head, found, rest = path.rpartition(_TREES)
        name, inside, _ = rest.partition("/")
        return f"{head}{_TREES}{name}" if found and inside else self._context.root()

    def _server(self, name: str, root: str) -> LanguageServer:
        if (name, root) not in self._servers:
            self._servers[name, root] = LanguageServer(
                LspEntry.read(self._entries[name]),
                root=root,
                launch=self._launch,
                reaper=self._reaper,
                published=self._publish,
            )
        return self._servers[name, root]

    def _launch(self, entry: LspEntry, root: str) -> Launch:
        argv = [os.path.expanduser(entry.command), *entry.args]
        env = {**self._context.env, **entry.env}
        if self._context.sandbox is None:
            return Launch(argv=argv, cwd=root, env=env)
        try:
            confined = self._context.sandbox.confine(argv, cwd=root, env=env)
        except ToolError as error:
            raise LspFault(str(error)) from error
        return Launch(argv=confined.argv, cwd=root, env=confined.env, pass_fds=confined.pass_fds)

    def _publish(self, uri: str, found: list[Any]) -> None:
        if (path := path_of(uri)) is not None:
            self._diagnostics.publish(path, found)

    async def _show(self, name: str, path: str) -> None:
        try:
            await self._server(name, self._root(path)).show(path)
        except LspFault as fault:
            if name not in self._reported:
                self._reported.add(name)
                self._context.tell(f"The language server {name} failed: {fault}.")

    async def _find(self, server: LanguageServer, inquiry: Inquiry, view: View) -> Finding:
        method, needs = _METHODS[inquiry.operation]
        path = inquiry.path
        document: dict[str, Any] = {"textDocument": {"uri": uri_of(path)}}
        if inquiry.operation == "documentSymbol":
            found = await server.ask(method, path, document, needs=needs)
            return answers.document_symbols(found, path, view)
        if inquiry.operation == "workspaceSymbol":
            found = await server.ask(method, path, {"query": inquiry.query}, needs=needs)
            return answers.workspace_symbols(found, view)
        line = await server.line(path, inquiry.line - 1)
        column = units_before(line, inquiry.character - 1, server.encoding)
        there = {**document, "position": {"line": inquiry.line - 1, "character": column}}
        match inquiry.operation:
            case "findReferences":
                context = {"context": {"includeDeclaration": True}}
                return answers.places(await server.ask(method, path, {**there, **context}, needs=needs), view)
            case "hover":
                return answers.hover(await server.ask(method, path, there, needs=needs))
            case "goToDefinition" | "goToImplementation":
                return answers.places(await server.ask(method, path, there, needs=needs), view)
            case "prepareCallHierarchy":
                return answers.call_items(await server.ask(method, path, there, needs=needs), view)
            case "incomingCalls" | "outgoingCalls":
                return await _calls(server, inquiry, there, view)


async def _calls(server: LanguageServer, inquiry: Inquiry, there: Mapping[str, Any], view: View) -> Finding:
    method, needs = _METHODS[inquiry.operation]
    items = await server.ask(method, inquiry.path, there, needs=needs)
    if not isinstance(items, list) or not items:
        return Finding(text="There is no function or method at this position.", results=0, files=0)
    incoming = inquiry.operation == "incomingCalls"
    found = await server.ask(
        f"callHierarchy/{inquiry.operation}", inquiry.path, {"item": items[0]}, needs=needs
    )
    return answers.calls(found, "from" if incoming else "to", view)


_WIDTHS = {"utf-8": 1, "utf-16": 2, "utf-32": 4}


def units_before(line: str, character: int, encoding: str) -> int:
    """The units in front of a character, counted from zero."""
    codec, width = _codec(encoding)
    return len(line[:character].encode(codec, "surrogatepass")) // width


def _codec(encoding: str) -> tuple[str, int]:
    name = encoding if encoding in _WIDTHS else "utf-16"
    return (name if name == "utf-8" else f"{name}-le"), _WIDTHS[name]
