"""Files and terminals of the editor, as a feature of the session that runs in it.

The editor follows paths on its own and knows no sandbox. It is asked only while no command of the session
runs: nothing can then turn a path that the gate has approved into a link to another place.
"""

import asyncio
import os.path
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from bridle.engine.feature import Feature, RunningCall
from bridle.frontends.acp.peer import EditorError, EditorPeer
from bridle.types.services.editor import EDITOR_FILES, EDITOR_TERMINALS, TerminalRun
from bridle.types.services.service import Service

if TYPE_CHECKING:
    from bridle.engine.assignment import Assignment
    from bridle.engine.calls.call import Call
    from bridle.engine.turn import Turn
    from bridle.types.workspace import Workspace

_PATIENCE = 10.0
_LOOK_SECONDS = 0.5
_MOST_TEXT = 8 * 1024 * 1024


class EditorCapabilities(Struct, frozen=True, kw_only=True):
    """What the editor says that it can do."""

    reads: bool = False
    writes: bool = False
    terminals: bool = False
    notices: bool = False
    compactions: bool = False
    elicits: frozenset[str] = frozenset()
    logs_in: bool = False
    """It can run bridle in a terminal for its user to log in."""

    @classmethod
    def read(cls, said: object) -> "EditorCapabilities":
        """What is not of the right kind is as if it were not there."""
        given = said if isinstance(said, dict) else {}
        files, session = _object(given.get("fs")), _object(given.get("session"))
        forms = _object(given.get("elicitation"))
        return cls(
            reads=files.get("readTextFile") is True,
            writes=files.get("writeTextFile") is True,
            terminals=given.get("terminal") is True,
            notices=isinstance(session.get("notices"), dict),
            compactions=isinstance(session.get("compaction"), dict),
            elicits=frozenset(kind for kind in ("form", "url") if isinstance(forms.get(kind), dict)),
            logs_in=_object(given.get("auth")).get("terminal") is True,
        )


class EditorFeature(Feature):
    """Offers the files and terminals of the editor to tools."""

    name = "acp_editor"

    def __init__(
        self,
        peer: EditorPeer,
        abilities: EditorCapabilities,
        workspace: "Workspace",
        *,
        session_id: Callable[[], str],
        shows: Callable[[str, str], None],
    ) -> None:
        """`shows` is called with a call and the terminal that it runs in."""
        self._peer = peer
        self._abilities = abilities
        self._workspace = workspace
        self._session_id = session_id
        self._shows = shows
        self._commands = 0
        """Commands that run now, of agents too."""

    def offer(self, key: Service[Any], call: "Call", turn: "Turn") -> Any:
        del call, turn
        if key is EDITOR_FILES:
            return self if self._abilities.reads or self._abilities.writes else None
        return _Terminals(self) if key is EDITOR_TERMINALS and self._abilities.terminals else None

    def around_call(self, running: RunningCall) -> AbstractAsyncContextManager[None] | None:
        return self._counted() if running.tool.shell else None

    def for_agent(self, work: "Assignment") -> Feature:
        del work
        return self

    async def read(self, path: str) -> str | None:
        """Implements `EditorFiles`."""
        if not self._abilities.reads or not self._may_follow(path):
            return None
        answer = await self._ask("fs/read_text_file", {"path": path})
        text = None if answer is None else answer.get("content")
        return text if isinstance(text, str) and len(text) <= _MOST_TEXT else None

    async def write(self, path: str, text: str) -> bool:
        """Implements `EditorFiles`."""
        if not self._abilities.writes or not self._may_follow(path):
            return False
        return await self._ask("fs/write_text_file", {"path": path, "content": text}) is not None

    async def run(
        self,
        argv: Sequence[str],
        *,
        call_id: str,
        cwd: str,
        env: Mapping[str, str],
        seconds: float,
        most_bytes: int,
        progress: Callable[[str], None],
    ) -> TerminalRun | None:
        """Implements `EditorTerminals`."""
        created = await self._ask(
            "terminal/create",
            {
                "command": argv[0],
                "args": list(argv[1:]),
                "env": [{"name": name, "value": value} for name, value in env.items()],
                "cwd": cwd,
                "outputByteLimit": most_bytes,
            },
        )
        terminal = None if created is None else created.get("terminalId")
        if not isinstance(terminal, str):
            return None
        self._shows(call_id, terminal)
        try:
            return await self._follow(terminal, seconds, progress)
        except asyncio.CancelledError:
            await self._ask("terminal/kill", {"terminalId": terminal})
            raise
        finally:
            await self._ask("terminal/release", {"terminalId": terminal})

    async def _follow(self, terminal: str, seconds: float, progress: Callable[[str], None]) -> TerminalRun:
        """Wait for the end of a command, and report its output meanwhile."""
        named, timed_out = {"sessionId": self._session_id(), "terminalId": terminal}, False
        waiting = asyncio.ensure_future(self._peer.request("terminal/wait_for_exit", named, seconds=None))
        deadline = asyncio.get_running_loop().time() + seconds
        try:
            while not waiting.done():
                left = deadline - asyncio.get_running_loop().time()
                if left <= 0 and not timed_out:
                    timed_out, deadline = True, deadline + _PATIENCE
                    await self._ask("terminal/kill", {"terminalId": terminal})
                elif left <= 0:
                    break
                await asyncio.wait([waiting], timeout=min(_LOOK_SECONDS, max(0.01, left)))
                if not waiting.done():
                    progress(await self._output(terminal))
            ended = _object(waiting.result() if waiting.done() and not waiting.exception() else None)
        finally:
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)
        last = await self._ask("terminal/output", {"terminalId": terminal}) or {}
        status = {**_object(last.get("exitStatus")), **ended}
        code, signal = status.get("exitCode"), status.get("signal")
        return TerminalRun(
            output=str(last.get("output") or ""),
            truncated=last.get("truncated") is True,
            exit_code=code if isinstance(code, int) else None,
            signal=signal if isinstance(signal, str) else None,
            timed_out=timed_out,
        )

    async def _output(self, terminal: str) -> str:
        answer = await self._ask("terminal/output", {"terminalId": terminal})
        return "" if answer is None else str(answer.get("output") or "")

    async def _ask(self, method: str, params: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """The answer; None where the editor refuses or is gone, and bridle does it alone."""
        try:
            return await self._peer.request(
                method, {"sessionId": self._session_id(), **params}, seconds=_PATIENCE
            )
        except EditorError:
            return None

    def _may_follow(self, path: str) -> bool:
        """Whether the editor may be given a path."""
        busy = self._commands > 0 or any(each.status == "running" for each in self._workspace.jobs())
        # What is a link was followed before; one that is there now was not approved.
        return not busy and os.path.realpath(path) == path

    @asynccontextmanager
    async def _counted(self) -> AsyncGenerator[None]:
        self._commands += 1
        try:
            yield
        finally:
            self._commands -= 1


class _Terminals:
    """The terminals of the editor alone."""

    def __init__(self, editor: EditorFeature) -> None:
        self.run = editor.run


def _object(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
