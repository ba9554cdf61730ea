"""Panes of tmux: in the window that we run in, or in a server of their own."""

import asyncio
import re
from collections.abc import Mapping, Sequence

from bridle.host.panes.pane import Pane, PaneFault
from bridle.host.process import Captured, run
from bridle.host.programs import require_program

_OLDEST = (3, 0)
_SECONDS = 10.0
_MOST_OUTPUT = 64 * 1024
_WIDE = 160
"""Columns from which on we keep one side of the window for ourselves."""
_COLUMNS, _LINES = 220, 60
_ATTEMPTS = 4
_PAUSE = 0.1
_FACTS = "#{pane_id} #{pane_pid}"
_COLORS = {"purple": "magenta", "orange": "colour208", "pink": "colour205"}
_COLOR = "@bridle_color"
_BORDERS = "pane-border-status"
_DRESS = {
    _BORDERS: "top",
    "pane-border-format": f"#[fg=#{{?{_COLOR},#{{{_COLOR}}},default}}] #{{pane_title}} ",
    "pane-border-style": f"fg=#{{?{_COLOR},#{{{_COLOR}}},default}}",
}
"""Options of a window: they are read again for each of its panes."""


class TmuxPanes:
    """Splits our own window where we are inside of tmux, else one in a server called after the team."""

    def __init__(self, env: Mapping[str, str], *, name: str) -> None:
        socket, _, _ = env.get("TMUX", "").partition(",")
        self._env = env
        self._own = env.get("TMUX_PANE") if socket else None
        """The pane that we run in."""
        self._name = f"bridle-{re.sub('[^A-Za-z0-9_-]', '-', name)[:60]}"
        self._server = ("-S", socket) if socket else ("-L", self._name)
        self._is_inside = bool(socket)
        self._opening = asyncio.Lock()
        self._opened: list[str] = []
        self._changed: list[str] = []
        """Options of our window that were set for the panes."""

    @property
    def hint(self) -> str | None:
        return None if self._is_inside else f"tmux -L {self._name} attach"

    async def check(self) -> None:
        """See whether there is a tmux that will do.

        Raises:
            PaneFault: there is none.
        """
        try:
            said = await self._run("-V", server=False)
        except OSError as error:
            raise PaneFault(f"tmux cannot be started ({error.strerror})") from error
        version = said.stdout.decode(errors="replace").strip()
        found = re.search(r"(\d+)\.(\d+)", version)
        if said.code != 0:
            raise PaneFault("tmux does not work")
        # A development version names no number, and is newer than any that does.
        if found is not None and (int(found[1]), int(found[2])) < _OLDEST:
            raise PaneFault(f"{version} is too old; 3.0 or newer is needed")

    async def open(self, argv: Sequence[str], *, cwd: str, title: str, color: str) -> Pane:
        """Start a program in a pane of its own, which closes when the program ends.

        Raises:
            PaneFault: there can be none.
        """
        # One after the other: each finds its place beside those before it.
        async with self._opening:
            said = await self._make(argv, cwd=cwd, title=title)
            words = said.stdout.decode(errors="replace").split()
            if len(words) != 2 or not words[1].isdecimal():
                raise PaneFault(f"tmux opened no pane ({_complaint(said)})")
            pane = Pane(id=words[0], pid=int(words[1]))
            self._opened.append(pane.id)
        await self._dress(pane.id, title, _COLORS.get(color, color))
        return pane

    async def close(self, pane: Pane) -> None:
        if pane.id not in self._opened:
            return
        self._opened.remove(pane.id)
        said = await self._try("display-message", "-p", "-t", pane.id, "#{pane_pid}")
        # A server that was restarted counts its panes from the beginning.
        if said is not None and said.stdout.strip() == str(pane.pid).encode():
            await self._try("kill-pane", "-t", pane.id)

    async def finish(self) -> None:
        for option in self._changed:
            await self._try("set-option", "-uw", "-t", self._own or "", option)
        self._changed.clear()

    async def is_watched(self, pane: str) -> bool:
        """Whether a terminal shows the session of a pane."""
        said = await self._try("display-message", "-p", "-t", pane, "#{session_attached}")
        return said is not None and said.stdout.strip() not in (b"", b"0")

    async def _make(self, argv: Sequence[str], *, cwd: str, title: str) -> Captured:
        """Beside those that are there while they have room, else in a window of its own."""
        options = ("-P", "-F", _FACTS, "-c", cwd)
        for beside in (*reversed(self._opened), *(() if self._own is None else (self._own,))):
            said = await self._run("split-window", "-d", "-t", beside, *options, *argv)
            if said.code == 0:
                await self._arrange(beside)
                return said
        if self._is_inside:
            return await self._run("new-window", "-d", "-n", title, *options, *argv)
        return await self._make_apart(("-n", title, *options, *argv))

    async def _make_apart(self, words: Sequence[str]) -> Captured:
        size = ("-x", str(_COLUMNS), "-y", str(_LINES))
        left = _ATTEMPTS
        while True:
            said = await self._run("new-session", "-d", "-s", self._name, *size, *words)
            if said.code == 0:
                # No terminal is attached most of the time, which must not end it.
                await self._try("set-option", "-t", self._name, "destroy-unattached", "off")
                return said
            # Another session leads a team of the same name, or the panes of ours have no room left.
            also = await self._run("new-window", "-d", "-t", f"{self._name}:", *words)
            left -= 1
            if also.code == 0 or not left:
                return also
            # A server whose last pane has closed is on its way out, and takes nothing in.
            await asyncio.sleep(_PAUSE)

    async def _arrange(self, pane: str) -> None:
        said = await self._try("display-message", "-p", "-t", pane, "#{window_width}")
        width = b"0" if said is None else said.stdout.strip()
        wide = self._is_inside and width.isdigit() and int(width) >= _WIDE
        await self._try("select-layout", "-t", pane, "main-vertical" if wide else "tiled")

    async def _dress(self, pane: str, title: str, color: str) -> None:
        await self._try("select-pane", "-t", pane, "-T", title)
        await self._try("set-option", "-p", "-t", pane, _COLOR, color)
        said = await self._try("show-options", "-Awv", "-t", pane, _BORDERS)
        # A user who has borders with words in them already has chosen how they look.
        if said is None or said.stdout.strip() not in (b"", b"off"):
            return
        for option, value in _DRESS.items():
            await self._try("set-option", "-w", "-t", pane, option, value)
            if self._own is not None and option not in self._changed:
                self._changed.append(option)

    async def _try(self, *words: str) -> Captured | None:
        """Run a command whose failure does no harm."""
        try:
            return await self._run(*words)
        except OSError:
            return None

    async def _run(self, *words: str, server: bool = True) -> Captured:
        argv = (require_program("tmux", self._env), *(self._server if server else ()), *words)
        return await run(argv, cwd="/", env=self._env, timeout=_SECONDS, limit=_MOST_OUTPUT)


def _complaint(said: Captured) -> str:
    if said.timed_out:
        return "it does not answer"
    return " ".join(said.stderr.decode(errors="replace").split())[:200] or "it gave no reason"
