"""A terminal for tests: an emulator, an output that feeds it, and programs that run in a real one."""

import asyncio
import codecs
import contextlib
import fcntl
import os
import re
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pyte

from bridle.frontends.tui.terminal.capabilities import Capabilities
from bridle.frontends.tui.terminal.terminal import Mode
from tests.fakes.forked import ForkedInTerminal, can_fork, fork_in_terminal

_ROOT = Path(__file__).parents[2]
_UNKNOWN = re.compile(
    r"\x1b\[[<>=][0-9;]*[a-zA-Z]|\x1b\[[0-9;]*[t]|\x1b\[[0-9;]* q|\x1bP[^\x1b]*\x1b\\|\x1b\[\?[0-9;]*u"
)
"""What the emulator would show or trip over."""
_ALTERNATE = re.compile(r"(\x1b\[\?1049[hl])")
_UNFINISHED = re.compile(r"\x1b(\[[0-?]*[ -/]*|[\]P][^\x07\x1b]*\x1b?)?$")
_IN_THE_TERMINAL = """
import fcntl, os, signal, sys, termios
signal.signal(signal.SIGHUP, signal.SIG_DFL)
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execvp(sys.argv[1], sys.argv[1:])
"""
_LOOK_AGAIN = 0.2
_HOLD, _RELEASE = b"\x1b[?2026h", b"\x1b[?2026l"
"""Around a frame: terminals show nothing of it before it is whole."""
ANSWERS = {
    "\x1b[?u": b"\x1b[?0u",
    "\x1b[?2026$p": b"\x1b[?2026;2$y",
    "\x1b]11;?": b"\x1b]11;rgb:1e1e/1e1e/1e1e\x1b\\",
    "\x1b[c": b"\x1b[?62;22c",
}
"""What a modern terminal says when it is asked."""


class _Screen(pyte.Screen):
    """Keeps what scrolls away, and treats the cursor as terminals do when the window shrinks."""

    def __init__(self, columns: int, lines: int) -> None:
        self.scrolled: list[str] = []
        super().__init__(columns, lines)

    def index(self) -> None:
        if self.cursor.y == self.lines - 1:
            self.scrolled.append(self._row(0))
        super().index()

    def shrink_or_grow(self, columns: int, lines: int) -> None:
        while self.cursor.y >= lines:
            self.scrolled.append(self._row(0))
            for y in range(self.lines - 1):
                self.buffer[y] = self.buffer[y + 1]
            self.buffer.pop(self.lines - 1, None)
            self.cursor.y -= 1
        for y in range(lines, self.lines):
            self.buffer.pop(y, None)
        for row in self.buffer.values():
            for x in range(columns, self.columns):
                row.pop(x, None)
        self.lines, self.columns = lines, columns
        self.cursor.x = min(self.cursor.x, columns - 1)
        self.set_margins()

    def _row(self, y: int) -> str:
        row = self.buffer[y]
        return "".join(row[x].data for x in range(self.columns)).rstrip()


class Emulator:
    """What a user would see of some bytes."""

    def __init__(self, columns: int = 80, lines: int = 24) -> None:
        self._main = _Screen(columns, lines)
        self._alternate: _Screen | None = None
        self._streams = {id(self._main): pyte.Stream(self._main)}
        self._held = ""

    @property
    def screen(self) -> _Screen:
        return self._alternate or self._main

    @property
    def is_alternate(self) -> bool:
        return self._alternate is not None

    @property
    def rows(self) -> list[str]:
        """The window, row by row, without trailing spaces."""
        return [row.rstrip() for row in self.screen.display]

    @property
    def text(self) -> str:
        """The window without trailing blank rows."""
        return "\n".join(self.rows).rstrip()

    @property
    def scrollback(self) -> list[str]:
        """What has scrolled away, oldest first."""
        return self._main.scrolled

    @property
    def everything(self) -> list[str]:
        """Scrollback and window, without blank rows at the end."""
        rows = [*self._main.scrolled, *(row.rstrip() for row in self._main.display)]
        while rows and not rows[-1]:
            rows.pop()
        return rows

    @property
    def cursor(self) -> tuple[int, int]:
        return self.screen.cursor.y, self.screen.cursor.x

    @property
    def is_cursor_shown(self) -> bool:
        return not self.screen.cursor.hidden

    def color(self, row: int, column: int) -> Any:
        """The cell there, with its colors."""
        return self.screen.buffer[row][column]

    def feed(self, text: str) -> None:
        whole = self._held + text
        unfinished = _UNFINISHED.search(whole)
        self._held = whole[unfinished.start() :] if unfinished else ""
        known = _UNKNOWN.sub("", whole[: unfinished.start()] if unfinished else whole)
        for part in _ALTERNATE.split(known):
            if part == "\x1b[?1049h":
                self._alternate = _Screen(self._main.columns, self._main.lines)
                self._streams[id(self._alternate)] = pyte.Stream(self._alternate)
            elif part == "\x1b[?1049l":
                self._alternate = None
            elif part:
                self._streams[id(self.screen)].feed(part)

    def resize(self, columns: int, lines: int) -> None:
        self._main.shrink_or_grow(columns, lines)
        if self._alternate is not None:
            self._alternate.shrink_or_grow(columns, lines)


class FakeOutput:
    """A terminal in memory: what is written to it can be seen at once."""

    def __init__(
        self,
        columns: int = 80,
        lines: int = 24,
        *,
        synchronized: bool = False,
        reflows: bool = False,
        is_dumb: bool = False,
    ) -> None:
        self.emulator = Emulator(columns, lines)
        self.capabilities = Capabilities(is_dumb=is_dumb, reflows=reflows, synchronized=synchronized)
        self.is_lent = False
        self.written: list[str] = []
        self.modes: list[Mode] = []

    @property
    def size(self) -> os.terminal_size:
        screen = self.emulator.screen
        return os.terminal_size((screen.columns, screen.lines))

    def write(self, text: str) -> None:
        self.written.append(text)
        self.emulator.feed(text)

    def turn_on(self, *modes: Mode) -> None:
        self.modes += modes
        self.write("".join(on for on, _ in modes))

    def turn_off(self, mode: Mode) -> None:
        self.write(self.release(mode))

    def release(self, mode: Mode) -> str:
        self.modes.remove(mode)
        return mode[1]


class PtyProgram:
    """A program in a real terminal, seen through the emulator; `async with` starts and ends it."""

    def __init__(
        self,
        argv: Sequence[str],
        *,
        size: tuple[int, int] = (80, 24),
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        answers: Mapping[str, bytes] = ANSWERS,
    ) -> None:
        self._argv = argv
        self._is_bridle = list(argv[:3]) == [sys.executable, "-m", "bridle"]
        path = {} if self._is_bridle else {"PYTHONPATH": f"{_ROOT}/src:{_ROOT}"}
        self._env = {**os.environ, "TERM": "xterm-256color", **path, **(env or {})}
        for name in ("TMUX", "NO_COLOR", "FORCE_COLOR", "COLORTERM", "TERM_PROGRAM", "VTE_VERSION"):
            if name not in (env or {}):
                self._env.pop(name, None)
        self._cwd = cwd
        self._answers = answers
        self._changed = asyncio.Event()
        self._size = size
        self.emulator = Emulator(*size)
        self._typed = bytearray()
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.output = b""
        """Every byte that was written."""
        self.is_gone = False
        """Nobody has the terminal open any more."""
        self._is_drawing = False
        """A frame has begun and is not whole."""

    @classmethod
    def of_function(cls, name: str, *arguments: str, **options: Any) -> Self:
        """Run `module:function` with some words in a Python of its own."""
        module, _, function = name.partition(":")
        code = f"import sys; from {module} import {function}; sys.exit({function}(*sys.argv[1:]))"
        return cls([sys.executable, "-c", code, *arguments], **options)

    async def __aenter__(self) -> Self:
        self._master, self.slave = os.openpty()
        self._set_size(*self._size)
        self.before: list[Any] = termios.tcgetattr(self.slave)
        self.process = self._start()
        os.set_blocking(self._master, False)
        asyncio.get_running_loop().add_reader(self._master, self._read)
        return self

    def _start(self) -> "subprocess.Popen[bytes] | ForkedInTerminal":
        if self._is_bridle and can_fork(self._env):
            cwd = self._cwd or Path.cwd()
            return fork_in_terminal(self._argv[3:], cwd=cwd, env=self._env, terminal=self.slave)
        return subprocess.Popen(
            [sys.executable, "-SEc", _IN_THE_TERMINAL, *self._argv],
            stdin=self.slave,
            stdout=self.slave,
            stderr=self.slave,
            env=self._env,
            cwd=self._cwd,
            start_new_session=True,
        )

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        asyncio.get_running_loop().remove_reader(self._master)
        asyncio.get_running_loop().remove_writer(self._master)
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        for fd in (self._master, self.slave):
            with contextlib.suppress(OSError):
                os.close(fd)

    def type(self, keys: str | bytes) -> None:
        """Press keys; they arrive as fast as the program reads them."""
        self._typed += keys.encode() if isinstance(keys, str) else keys
        asyncio.get_running_loop().add_writer(self._master, self._send_typed)

    def _send_typed(self) -> None:
        with contextlib.suppress(BlockingIOError):
            del self._typed[: os.write(self._master, self._typed)]
        if not self._typed:
            asyncio.get_running_loop().remove_writer(self._master)

    async def until(self, holds: Callable[[Emulator], object], *, seconds: float = 60) -> None:
        """Wait until a whole frame satisfies a condition; the failure shows the screen.

        Conditions may look at servers and files too, which change without the screen.
        """
        try:
            async with asyncio.timeout(seconds):
                while self._is_drawing or not holds(self.emulator):
                    self._changed.clear()
                    with contextlib.suppress(TimeoutError):
                        await asyncio.wait_for(self._changed.wait(), _LOOK_AGAIN)
        except TimeoutError:
            shown = "\n".join(self.emulator.rows).rstrip()
            raise AssertionError(f"the screen never got there; it shows:\n{shown}") from None

    async def until_text(self, text: str) -> None:
        await self.until(lambda screen: text in screen.text)

    async def until_written(self, data: bytes) -> None:
        await self.until(lambda _: data in self.output)

    def resize(self, columns: int, lines: int) -> None:
        self.emulator.resize(columns, lines)
        self._set_size(columns, lines)

    def hang_up(self) -> None:
        """Close the window."""
        asyncio.get_running_loop().remove_reader(self._master)
        asyncio.get_running_loop().remove_writer(self._master)
        os.close(self.slave)
        os.close(self._master)

    def settings(self) -> list[Any]:
        """How the terminal is set now."""
        return termios.tcgetattr(self.slave)

    async def ended(self) -> int:
        """Wait for the program to end; returns its exit code."""
        async with asyncio.timeout(60):
            code = await asyncio.to_thread(self.process.wait)
        with contextlib.suppress(OSError):
            self._read()
        return code

    def _read(self) -> None:
        try:
            data = os.read(self._master, 1 << 16)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self.is_gone = True
            asyncio.get_running_loop().remove_reader(self._master)
        fresh = self.output[-len(_HOLD) :] + data
        self.output += data
        if (begun := fresh.rfind(_HOLD)) != (ended := fresh.rfind(_RELEASE)):
            self._is_drawing = begun > ended
        if self.is_gone:
            self._is_drawing = False
        text = self._decoder.decode(data)
        for question, answer in self._answers.items():
            if question in text:
                self.type(answer)
        self.emulator.feed(text)
        self._changed.set()

    def _set_size(self, columns: int, lines: int) -> None:
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
