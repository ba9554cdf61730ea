"""One language server: started when first asked, restarted when it crashes, ended with the session."""

import asyncio
import os
from collections.abc import Callable, Mapping
from typing import Any, Literal

import msgspec
from msgspec import Struct

from bridle.host.lsp.connection import Launch, LspConnection
from bridle.host.lsp.documents import Documents, uri_of
from bridle.host.lsp.framing import LspFault
from bridle.host.reaper import Reaper

_STARTUP_MS = 30_000
_SHUTDOWN_MS = 2_000
_MOST_RESTARTS = 3
_REQUEST_SECONDS = 30.0


class LspEntry(Struct, frozen=True, kw_only=True, rename="camel"):
    """How a plugin describes a language server; keys that are not known are passed over."""

    command: str
    extension_to_language: dict[str, str]
    args: tuple[str, ...] = ()
    transport: Literal["stdio", "socket"] = "stdio"
    env: dict[str, str] = {}
    initialization_options: Any = None
    settings: Any = None
    workspace_folder: str | None = None
    startup_timeout: int = _STARTUP_MS
    """Milliseconds; so is the next."""
    shutdown_timeout: int = _SHUTDOWN_MS
    restart_on_crash: bool = True
    max_restarts: int = _MOST_RESTARTS
    diagnostics: Any = True
    """Whether diagnostics are reported; only `false` turns it off."""

    @classmethod
    def read(cls, raw: Mapping[str, Any]) -> "LspEntry":
        """An entry from JSON.

        Raises:
            LspFault: a field cannot be used.
        """
        try:
            entry = msgspec.convert(raw, cls)
        except msgspec.ValidationError as error:
            raise LspFault(f"its entry is invalid: {error}") from error
        if entry.transport != "stdio":
            raise LspFault("it needs a socket, but only stdio is supported")
        return entry


Published = Callable[[str, list[Any]], None]
"""Receives the address of a file and all its diagnostics."""


class LanguageServer:
    """Closed by its creator."""

    def __init__(
        self,
        entry: LspEntry,
        *,
        root: str,
        launch: Callable[[LspEntry, str], Launch],
        reaper: Reaper,
        published: Published,
    ) -> None:
        self.entry = entry
        self._root = entry.workspace_folder or root
        self._launch = launch
        self._reaper = reaper
        self._published = published
        self._connection: LspConnection | None = None
        self._capabilities: Mapping[str, Any] = {}
        self._documents = Documents(self.language)
        self._crashes = 0
        self._refusal: str | None = None
        self._opening = asyncio.Lock()
        self.encoding = "utf-16"

    def language(self, path: str) -> str:
        return self.entry.extension_to_language.get(os.path.splitext(path)[1], "plaintext")

    async def ask(self, method: str, path: str, params: Mapping[str, Any], *, needs: str) -> Any:
        """Ask about a file as it is on disk now.

        Raises:
            LspFault: the server cannot be started, does not offer it, or does not answer.
        """
        connection = await self._ready()
        if not self._capabilities.get(needs):
            raise LspFault(f"it does not offer {method}")
        self._documents.refresh(connection.notify)
        self._documents.sync(path, connection.notify)
        return await connection.request(method, params, seconds=_REQUEST_SECONDS)

    async def line(self, path: str, number: int) -> str:
        """A line of a file as the server sees it, counted from zero; empty past the end.

        Raises:
            LspFault: the server cannot be started, or the file cannot be read.
        """
        connection = await self._ready()
        lines = self._documents.sync(path, connection.notify).splitlines()
        return lines[number] if number < len(lines) else ""

    async def show(self, path: str) -> None:
        """Let the server look at a file that has changed.

        Raises:
            LspFault: the server cannot be started, or the file cannot be read.
        """
        connection = await self._ready()
        self._documents.sync(path, connection.notify)
        connection.notify("workspace/didChangeWatchedFiles", {"changes": [{"uri": uri_of(path), "type": 2}]})
        connection.notify("textDocument/didSave", {"textDocument": {"uri": uri_of(path)}})

    async def close(self) -> None:
        if self._connection is not None:
            await self._connection.close(self.entry.shutdown_timeout / 1000)

    async def _ready(self) -> LspConnection:
        async with self._opening:
            if self._connection is not None and self._connection.lost.done():
                await self._note_crash(self._connection)
            if self._refusal is not None:
                raise LspFault(self._refusal)
            if self._connection is None:
                self._connection = await self._open()
            return self._connection

    async def _note_crash(self, connection: LspConnection) -> None:
        reason = connection.lost.result()
        await connection.close(0)
        self._connection = None
        self._documents.reset()
        self._crashes += 1
        if not self.entry.restart_on_crash:
            self._refusal = f"{reason}, and restarts are turned off"
        elif self._crashes > self.entry.max_restarts:
            self._refusal = f"it has crashed {self._crashes} times and will not be restarted: {reason}"

    async def _open(self) -> LspConnection:
        connection = LspConnection(answers=self._answers(), notified=self._hear)
        try:
            await connection.open(self._launch(self.entry, self._root), self._reaper)
            seconds = self.entry.startup_timeout / 1000
            said = await connection.request("initialize", self._introduction(), seconds=seconds)
            connection.notify("initialized", {})
        except LspFault as fault:
            await connection.close(0)
            self._crashes += 1
            if self._crashes > self.entry.max_restarts or not self.entry.restart_on_crash:
                self._refusal = f"it did not start: {fault}"
            raise
        except BaseException:
            await connection.close(0)
            raise
        found = said.get("capabilities") if isinstance(said, dict) else None
        self._capabilities = found if isinstance(found, dict) else {}
        self.encoding = str(self._capabilities.get("positionEncoding") or "utf-16")
        if self.entry.settings is not None:
            connection.notify("workspace/didChangeConfiguration", {"settings": self.entry.settings})
        return connection

    def _introduction(self) -> Mapping[str, Any]:
        folder = {"uri": uri_of(self._root), "name": os.path.basename(self._root)}
        links = {"linkSupport": True}
        return {
            "processId": os.getpid(),
            "clientInfo": {"name": "bridle"},
            "rootUri": folder["uri"],
            "rootPath": self._root,
            "workspaceFolders": [folder],
            "initializationOptions": self.entry.initialization_options,
            "capabilities": {
                "general": {"positionEncodings": ["utf-32", "utf-16"]},
                "workspace": {"configuration": True, "workspaceFolders": True, "symbol": {}},
                "textDocument": {
                    "synchronization": {"didSave": True},
                    "publishDiagnostics": {"versionSupport": True},
                    "hover": {"contentFormat": ["markdown", "plaintext"]},
                    "definition": links,
                    "implementation": links,
                    "references": {},
                    "documentSymbol": {"hierarchicalDocumentSymbolSupport": True},
                    "callHierarchy": {},
                },
            },
        }

    def _answers(self) -> Mapping[str, Callable[[Any], Any]]:
        folder = {"uri": uri_of(self._root), "name": os.path.basename(self._root)}
        return {
            "workspace/configuration": self._configuration,
            "workspace/workspaceFolders": lambda _: [folder],
            "workspace/applyEdit": lambda _: {"applied": False},
            "window/showMessageRequest": _nothing,
            "window/workDoneProgress/create": _nothing,
            "client/registerCapability": _nothing,
            "client/unregisterCapability": _nothing,
        }

    def _configuration(self, params: Any) -> list[Any]:
        items = params.get("items") if isinstance(params, dict) else None
        return [_section(self.entry.settings, item) for item in items or ()]

    def _hear(self, method: str, params: Mapping[str, Any]) -> None:
        if method != "textDocument/publishDiagnostics" or self.entry.diagnostics is False:
            return
        uri, found = params.get("uri"), params.get("diagnostics")
        if isinstance(uri, str) and isinstance(found, list):
            self._published(uri, found)


def _section(settings: Any, item: Any) -> Any:
    """The part of the settings that a server asks for, by its dotted name."""
    wanted = item.get("section") if isinstance(item, dict) else None
    for part in wanted.split(".") if isinstance(wanted, str) and wanted else ():
        settings = settings.get(part) if isinstance(settings, dict) else None
    return settings


def _nothing(params: Any) -> None:
    del params
