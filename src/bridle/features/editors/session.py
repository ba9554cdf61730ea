"""The editor of one session: its selection and the problems that it finds."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import msgspec

from bridle.features.editors.connector import ConnectionListener, ConnectorContext, EditorConnector, EditorRow
from bridle.features.editors.selection import (
    Selection,
    label,
    mention_of,
    read_answer,
    read_mention,
    read_selection,
    reminder,
)
from bridle.host.editors import Editor
from bridle.types.block import text_block
from bridle.types.errors import McpError, UsageError
from bridle.types.tool import Tool, ToolOutput
from bridle.types.turn import Prompt

if TYPE_CHECKING:
    from bridle.engine.turn import Turn
    from bridle.features.editors.problems import Problem, Problems
    from bridle.mcp.editor_connection import EditorConnection

_FIRST_LOOK = 2.0
"""How long a prompt waits for an editor that was asked for on the command line."""
_BEFORE_CHANGE = 0.5
_AFTER_CHANGE = 3.0
_LEFT_ALONE = 30.0
_LAST_WORDS = 1.0
_SELECTION_TOOLS = ("getLatestSelection", "getCurrentSelection")
_NONE: Sequence[Tool] = ()


class SessionEditors:
    """Opened with a session and closed with it."""

    def __init__(self, context: ConnectorContext) -> None:
        self._context = context
        self._connector = EditorConnector(
            context, ConnectionListener(on_notification=self._take_notification, on_change=self._follow)
        )
        self._followed: EditorConnection | None = None
        self._selection: Selection | None = None
        self._reported: WeakKeyDictionary[object, tuple[str, Selection]] = WeakKeyDictionary()
        """The conversation and the selection of the last reminder, by session."""
        self._problems: Problems | None = None
        self._revisions: dict[str, str] = {}
        """What the model must know about calls that the user changed in the editor."""
        self._aside: set[asyncio.Task[None]] = set()
        self.on_change: Callable[[], None] = lambda: None
        """Called whenever the state that is shown has changed."""
        self.on_mention: Callable[[str], None] = lambda _: None
        """Called with the mention that the editor adds to the prompt."""

    @property
    def context(self) -> ConnectorContext:
        return self._context

    @property
    def diffing(self) -> "EditorConnection | None":
        """The editor that shows changes which wait for approval; None for none."""
        link = self._connector.link
        return (
            link if link is not None and link.offers("openDiff") and self._context.shows_changes() else None
        )

    def begin(self) -> None:
        """Connect to the editor that the session belongs to, in the background."""
        if self._context.wants is not None and not self._connector.is_at_work:
            self._connector.keep(self._context.wants)

    async def rows(self) -> tuple[EditorRow, ...]:
        """All running editors, and the state of the connection to each."""
        return await self._connector.rows()

    async def connect(self, name: str) -> Editor:
        """Connect to an editor by its name or port, instead of any other.

        Raises:
            UsageError: no such editor runs.
            McpError: it cannot be reached.
        """
        return await self._connector.connect(name)

    async def disconnect(self) -> Editor | None:
        """Disconnect and stay disconnected. Returns the editor that was connected."""
        return await self._connector.disconnect()

    async def open_file(self, path: str) -> str:
        """Show a file in the editor; the name of the editor.

        Raises:
            UsageError: no editor is connected.
            McpError: the editor will not.
        """
        if (link := self._connector.link) is None:
            raise UsageError("No editor is connected to this session. /ide lists the running editors.")
        # Some editors insist on fields that others leave out.
        asked = {"filePath": path, "preview": False, "startText": "", "endText": "", "makeFrontmost": True}
        await link.call("openFile", asked)
        return link.editor.name

    def tools(self) -> Sequence[Tool]:
        """What the editor lets models do."""
        return _NONE if self._connector.link is None else self._connector.link.tools()

    def label(self) -> str:
        """The editor and where the user is in it, in a few words; empty where there is none."""
        editor = self._connector.editor
        if editor is None:
            return ""
        if self._connector.state != "connected":
            return (
                f"{editor.name}: {'connecting' if self._connector.state == 'connecting' else 'not connected'}"
            )
        place = label(self._selection)
        return f"{editor.name}: {place}" if place else editor.name

    async def beside(self, turn: "Turn", prompt: Prompt) -> Prompt:
        """A prompt with what the user has open and selected beside it, unless the model knows."""
        await self._wait_for_first_look()
        selection, editor = self._selection, self._connector.editor
        if selection is None or editor is None:
            return prompt
        report = (turn.session.id, selection)
        if self._reported.get(turn.session) == report:
            return prompt
        from bridle.engine.permissions.gate import standing
        from bridle.permissions.files.hidden_files import hides

        if hides(turn.rules, lambda: standing(turn))(selection.path):
            return prompt
        self._reported[turn.session] = report
        block = text_block(reminder(selection, editor.name))
        return msgspec.structs.replace(prompt, beside=(*prompt.beside, block))

    async def foresee(self, paths: Sequence[str]) -> None:
        """Files are about to be changed."""
        if self._problems is not None and paths:
            await self._problems.foresee(paths)

    def finish(
        self, conversation: object, call_id: str, output: ToolOutput, paths: Sequence[str]
    ) -> ToolOutput:
        """A call that may have changed files is done; its output, with what the user did to it."""
        said = self._revisions.pop(call_id, None)
        if output.is_error:
            return output
        if self._problems is not None:
            self._problems.touch(conversation, paths)
        if said is None or not isinstance(output.content, str):
            return output
        data = {**output.data, "userModified": True} if isinstance(output.data, dict) else output.data
        return msgspec.structs.replace(output, content=f"{output.content}\n{said}", data=data)

    def revise(self, call_id: str, text: str) -> None:
        """The user has changed a call in the editor: what its result has to say."""
        self._revisions[call_id] = text

    def news(self, conversation: object) -> str | None:
        """What the editor finds wrong with files that a conversation has changed."""
        return None if self._problems is None else self._problems.news(conversation)

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Do something beside, for as long as the session is there."""
        task = asyncio.create_task(work)
        self._aside.add(task)
        task.add_done_callback(self._aside.discard)

    async def close(self) -> None:
        if self._aside:
            await asyncio.wait(tuple(self._aside), timeout=_LAST_WORDS)
        problems, self._problems = self._problems, None
        if problems is not None:
            await problems.close()
        await self._connector.disconnect()
        aside = tuple(self._aside)
        for task in aside:
            task.cancel()
        await asyncio.gather(*aside, return_exceptions=True)

    def _follow(self) -> None:
        """The connection has changed or was lost."""
        link = self._connector.link
        if link is not self._followed:
            problems, self._problems = self._problems, None if link is None else _problems_of(link)
            self._followed, self._selection = link, None
            if problems is not None:
                self.spawn(problems.close())
            if link is not None:
                self.spawn(self._ask_selection(link))
        self.on_change()

    async def _wait_for_first_look(self) -> None:
        if not self._context.insists or not self._connector.is_at_work:
            return
        try:
            async with asyncio.timeout(_FIRST_LOOK):
                await self._connector.settled.wait()
                if self._aside:
                    await asyncio.wait(tuple(self._aside))
        except TimeoutError:
            pass  # It may join later.

    async def _ask_selection(self, link: "EditorConnection") -> None:
        """Where the user is already; editors tell on their own only when that changes."""
        asked = next((each for each in _SELECTION_TOOLS if link.offers(each)), None)
        if asked is None:
            return
        try:
            found = read_answer(await link.call(asked, {}, seconds=_FIRST_LOOK))
        except McpError:
            return  # The next change reports it.
        if self._selection is None and link is self._followed:
            self._selection = found
            self.on_change()

    def _take_notification(self, method: str, params: Mapping[str, Any]) -> None:
        match method:
            case "selection_changed":
                self._selection = read_selection(params)
                self.on_change()
            case "at_mentioned":
                cwd = self._context.workspace.cwd
                if (place := read_mention(params, cwd)) is not None:
                    self.on_mention(mention_of(place, cwd))
            case "diagnostics_changed" if self._problems is not None:
                self._problems.stir(params)
            case _:
                pass  # What editors log of themselves is of no interest here.


def _problems_of(link: "EditorConnection") -> "Problems | None":
    if not link.offers("getDiagnostics"):
        return None
    from bridle.features.editors.problems import Problems, read_problems
    from bridle.host.lsp.documents import uri_of

    async def ask(path: str, seconds: float) -> "Sequence[Problem] | None":
        try:
            texts = await link.call("getDiagnostics", {"uri": uri_of(path)}, seconds=seconds)
        except McpError:
            return None  # The editor does not have the file open, or takes too long to tell.
        return read_problems(texts, path)

    clock = asyncio.get_running_loop().time
    busy_until = 0.0

    async def ask_before(path: str) -> "Sequence[Problem] | None":
        """Each call waits for this, so that an editor which is slow is left alone for a while."""
        nonlocal busy_until
        began = clock()
        if began < busy_until:
            return None
        found = await ask(path, _BEFORE_CHANGE)
        if clock() - began >= _BEFORE_CHANGE:
            busy_until = clock() + _LEFT_ALONE
        return found

    return Problems(before=ask_before, after=lambda path: ask(path, _AFTER_CHANGE))
