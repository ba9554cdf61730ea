"""Connects a session to an editor, and connects again when the connection is lost."""

import asyncio
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from bridle.features.editors.choice import Choose, ConnectionState, like, named
from bridle.host.editors import Editor, find_editors, locks_folder
from bridle.host.file_watch import next_change, stamps
from bridle.types.errors import McpError
from bridle.types.workspace import Workspace

if TYPE_CHECKING:
    from bridle.mcp.editor_connection import EditorConnection

_FIRST_PAUSE = 0.5
_LONGEST_PAUSE = 30.0
_STEADY = 60.0
"""After a connection of this many seconds, the pauses between attempts restart."""
_CONNECT_WITHIN = 15.0


class ConnectorContext(Struct, frozen=True, kw_only=True):
    """What the connection to an editor needs from its session."""

    workspace: Workspace
    env: Mapping[str, str]
    tell: Callable[[str], None]
    """Says something to the user."""
    wants: Choose | None = None
    """The editor to connect to at the start; None for none."""
    insists: bool = False
    """The user asked for it on the command line: the first prompt waits a moment, and failures are shown."""
    shows_changes: Callable[[], bool] = lambda: False
    """Whether changes that wait for approval are to be opened in the editor, too."""
    first_pause: float = _FIRST_PAUSE


class EditorRow(Struct, frozen=True, kw_only=True):
    """An editor as it is listed."""

    editor: Editor
    state: ConnectionState = "off"
    problem: str = ""


class ConnectionListener(Struct, frozen=True, kw_only=True):
    """Callbacks of a connection."""

    on_notification: Callable[[str, Mapping[str, Any]], None]
    """Called with each notification of the editor."""
    on_change: Callable[[], None]
    """Called when the state of the connection changes."""


class EditorConnector:
    """At most one connection at a time; `link` is None while there is none."""

    def __init__(self, context: ConnectorContext, listener: ConnectionListener) -> None:
        self._context = context
        self._listener = listener
        self._keeping: asyncio.Task[None] | None = None
        self._problem = ""
        self.link: EditorConnection | None = None
        self.editor: Editor | None = None
        """The editor that is connected, or was before the connection was lost."""
        self.state: ConnectionState = "off"
        self.settled = asyncio.Event()
        """Set when the first attempt has ended, with or without success."""

    @property
    def is_at_work(self) -> bool:
        return self._keeping is not None

    def keep(self, choose: Choose) -> None:
        """Connect to the chosen editor, now or when it appears."""
        self.settled.clear()
        self._keeping = asyncio.create_task(self._stay_connected(choose))

    async def rows(self) -> tuple[EditorRow, ...]:
        """All running editors, and the state of the connection to each."""
        return tuple(self._row(each) for each in await asyncio.to_thread(self._find))

    async def connect(self, name: str) -> Editor:
        """Connect to an editor by its name or port, instead of any other.

        Raises:
            UsageError: no such editor runs.
            McpError: it cannot be reached.
        """
        editor = named(name, await asyncio.to_thread(self._find))
        await self.disconnect()
        self.keep(like(editor))
        try:
            async with asyncio.timeout(_CONNECT_WITHIN):
                await self.settled.wait()
        except TimeoutError as error:
            raise McpError(
                f"{editor.name} does not answer. bridle keeps trying in the background."
            ) from error
        if self.link is None:
            reason = self._problem or "it closed."
            await self.disconnect()
            raise McpError(f"Cannot connect to {editor.name}: {reason}")
        return self.link.editor

    async def disconnect(self) -> Editor | None:
        """Disconnect and stay disconnected. Returns the editor that was connected."""
        before, keeping = self.editor, self._keeping
        self._keeping = None
        if keeping is not None:
            keeping.cancel()
            await asyncio.gather(keeping, return_exceptions=True)
        await self._part()
        self.editor, self._problem = None, ""
        self.settled.clear()
        self._set_state("off")
        return before

    async def _stay_connected(self, choose: Choose) -> None:
        context, loop = self._context, asyncio.get_running_loop()
        folder, pause = locks_folder(context.env), context.first_pause
        while True:
            known = stamps([folder])
            editor = choose(await asyncio.to_thread(self._find))
            if editor is None:
                self._set_state("waiting")
                self._complain("no editor, or more than one, has this folder open. /ide lists them.")
                self.settled.set()
                await next_change(known)
                continue
            began = loop.time()
            if (link := await self._join(editor)) is not None:
                choose = like(editor)
                self.settled.set()
                await link.gone.wait()
                await self._part()
            self.settled.set()
            held = loop.time() - began > _STEADY
            pause = context.first_pause if held else min(pause * 2, _LONGEST_PAUSE)
            await asyncio.sleep(pause)

    async def _join(self, editor: Editor) -> "EditorConnection | None":
        self.editor = editor
        self._set_state("connecting")
        # The imports take a while, and the user may be typing.
        await asyncio.to_thread(_import_links)
        link = _make_link(editor, self._context, self._listener.on_notification)
        try:
            await link.open()
        except McpError as error:
            await link.close()
            self._problem = str(error)
            self._set_state("waiting")
            self._complain(f"cannot connect to {editor.name}: {error}")
            return None
        except asyncio.CancelledError:
            await link.close()
            raise
        self.link, self._problem = link, ""
        self._set_state("connected")
        return link

    async def _part(self) -> None:
        link, self.link = self.link, None
        if link is not None:
            self._set_state("waiting")
            await link.close()

    def _find(self) -> tuple[Editor, ...]:
        return find_editors(self._context.env, self._context.workspace.start)

    def _row(self, editor: Editor) -> EditorRow:
        if self.editor is None or editor.port != self.editor.port:
            return EditorRow(editor=editor)
        return EditorRow(editor=editor, state=self.state, problem=self._problem)

    def _set_state(self, state: ConnectionState) -> None:
        self.state = state
        self._listener.on_change()

    def _complain(self, text: str) -> None:
        """Show a failure once, and only if the user asked for an editor."""
        if self._context.insists and not self.settled.is_set():
            self._context.tell(f"--ide: {text}")


def _import_links() -> None:
    for name in ("bridle.mcp.editor_connection", "websockets.asyncio.client"):
        import_module(name)


def _make_link(
    editor: Editor, context: ConnectorContext, notified: Callable[[str, Mapping[str, Any]], None]
) -> "EditorConnection":
    from bridle.mcp.editor_connection import EditorConnection, EditorContext

    workspace = context.workspace
    return EditorConnection(
        editor,
        EditorContext(
            cwd=workspace.cwd,
            env=context.env,
            roots=lambda: workspace.roots,
            notified=notified,
        ),
    )
