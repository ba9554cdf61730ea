"""The terminal that bridle runs in: taken over, listened to, and left as it was found."""

import asyncio
import atexit
import os
import select
import signal
import termios
import time
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any, Protocol, Self

from bridle.frontends.tui.raw_mode import Attributes, enter_raw, leave_raw
from bridle.frontends.tui.terminal.capabilities import Capabilities, guess, learn, questions
from bridle.frontends.tui.terminal.keys import Answer, Input, KeyReader
from bridle.frontends.tui.terminal.watchdog import Watchdog
from bridle.frontends.tui.terminal.writer import TerminalWriter
from bridle.types.variables import is_on

PASTE = ("\x1b[?2004h", "\x1b[?2004l")
FOCUS = ("\x1b[?1004h", "\x1b[?1004l")
KITTY_KEYS = ("\x1b[>1u", "\x1b[<u")
OTHER_KEYS = ("\x1b[>4;1m", "\x1b[>4m")
GRAPHEMES = ("\x1b[?2027h", "\x1b[?2027l")
ALTERNATE = ("\x1b[?1049h", "\x1b[?1049l")
WHEEL_REPORTS = ("\x1b[?1000h\x1b[?1006h", "\x1b[?1006l\x1b[?1000l")
SAVED_TITLE = ("\x1b[22;0t", "\x1b[23;0t")
Mode = tuple[str, str]
"""What turns something on, and what turns it off again."""

_ALWAYS = "\x1b[0m\x1b[?25h\x1b[?7h"
_DEADLY = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT)
_ESCAPE_SECONDS = 0.05
_ANSWER_SECONDS = 0.1
_READ = 64 * 1024


class Listener(Protocol):
    """The program that runs in the terminal."""

    def on_input(self, given: Input, /) -> None:
        """A key, a paste, or news of the terminal."""

    def on_resize(self) -> None:
        """The window has another size."""

    def on_resume(self) -> None:
        """bridle is in the foreground again and what was on the screen may be gone."""

    def on_end(self, signal_number: int | None, /) -> None:
        """The terminal is gone (None) or a signal ends the program; nothing can be shown any more."""


class Terminal:
    """A terminal in raw mode between `open` and `close`; `with` does both."""

    def __init__(
        self,
        *,
        fd_in: int = 0,
        fd_out: int = 1,
        env: Mapping[str, str] = os.environ,
        before: Attributes | None = None,
        guarded: bool = True,
    ) -> None:
        """`before` are the settings from before raw mode, where it has been entered already."""
        self.env = env
        self.capabilities: Capabilities = guess(env)
        self.bytes_written = 0
        self.parting: Callable[[], str] = str
        """What to write last, before the modes are turned off: moves the cursor below what was drawn."""
        self._fd_in, self._fd_out = fd_in, fd_out
        self._before = before
        self._guarded = guarded
        self._guard: Watchdog | None = None
        self._modes: list[Mode] = []
        self._outlet = TerminalWriter(fd_out, lost=self._lost)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._listener: Listener | None = None
        self._reader = KeyReader(backspace_is_ctrl=is_on(env, "CLAUDE_CODE_BS_AS_CTRL_BACKSPACE"))
        self._timer: asyncio.TimerHandle | None = None
        self._handlers: dict[int, Any] = {}
        self._asked: float | None = None
        self.is_open = False
        self.is_lent = False
        """Another program has the terminal: nothing is read, and what is written is dropped."""

    @property
    def size(self) -> os.terminal_size:
        """Columns and rows; what a terminal without a size is taken for is 80 by 24."""
        try:
            size = os.get_terminal_size(self._fd_out)
        except OSError:
            return os.terminal_size((80, 24))
        return os.terminal_size((size.columns or 80, size.lines or 24))

    @property
    def output(self) -> int:
        """The descriptor that is written to."""
        return self._fd_out

    @property
    def is_clogged(self) -> bool:
        """Whether the terminal does not keep up: the next frame had better wait for `drained`."""
        return self._outlet.is_clogged

    def open(self, *, ask: bool = True) -> None:
        """Take the terminal over.

        Raises:
            OSError: it is not a terminal, or it is gone.
        """
        try:
            if self._before is None:
                self._before = enter_raw(self._fd_in)
        except termios.error as error:
            raise OSError(*error.args) from error
        self.is_open = True
        atexit.register(self.close)
        self._outlet.open()
        if self._guarded:
            self._guard = self._start_guard()
        self._catch_signals()
        if not self.capabilities.is_dumb:
            self.turn_on(PASTE, FOCUS)
        if ask and (asked := questions(self.env)):
            self.write(asked)
            self._asked = time.monotonic()

    def close(self) -> None:
        """Leave the terminal as it was found; safe to call again and from a signal handler."""
        if not self.is_open:
            return
        self.is_open = False
        atexit.unregister(self.close)
        self._stop_listening()
        if not self.is_lent:
            self._leave()
        self._release_signals()
        if self._guard is not None:
            self._guard.close()
            self._guard = None
        self._outlet.close()

    def __enter__(self) -> Self:
        self.open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def listen(self, listener: Listener, *, typed: bytes = b"") -> None:
        """Hand everything that comes to the listener from now on; `typed` is what came before."""
        self._loop = asyncio.get_running_loop()
        self._listener = listener
        self._outlet.follow(self._loop)
        self._loop.add_reader(self._fd_in, self._read)
        self._loop.add_signal_handler(signal.SIGWINCH, listener.on_resize)
        if typed:
            self._loop.call_soon(self._take, typed)

    def write(self, text: str) -> None:
        """Send text; what the terminal does not take at once is sent later."""
        if not text or not self.is_open or self.is_lent:
            return
        data = text.encode("utf-8", "replace")
        self.bytes_written += len(data)
        self._outlet.write(data)

    async def drained(self) -> None:
        """Wait until the terminal has taken everything."""
        if self.is_open:
            await self._outlet.drained()

    def turn_on(self, *modes: Mode) -> None:
        """Turn modes on that are turned off when the terminal is left."""
        fresh = [mode for mode in modes if mode not in self._modes]
        self._modes += fresh
        if fresh:
            self._remember()
            self.write("".join(on for on, _ in fresh))

    def turn_off(self, mode: Mode) -> None:
        """Turn a mode off again."""
        if mode in self._modes:
            self._modes.remove(mode)
            self.write(mode[1])
            self._remember()

    def release(self, mode: Mode) -> str:
        """What turns a mode off, for a caller who writes it: it is not turned off again later."""
        if mode not in self._modes:
            return ""
        self._modes.remove(mode)
        return mode[1]

    def renew(self, first: str) -> None:
        """Turn everything on again and ask again what the terminal can do: it is another one by now."""
        self.write(first + "".join(on for on, _ in self._modes))
        if asked := questions(self.env):
            self.write(asked)
            self._asked = time.monotonic()

    def suspend(self) -> None:
        """Stop like any program on ctrl+z; returns when the user brings bridle back."""
        with self.lent():
            os.kill(0, signal.SIGTSTP)

    @contextmanager
    def lent(self) -> Generator[None]:
        """Give the terminal to another program for a while."""
        modes = list(self._modes)
        self._leave()
        self.is_lent = True
        # Keys that interrupt or stop the other program reach us too; we stop with it and outlive the rest.
        held = {number: signal.signal(number, _ignore) for number in (signal.SIGINT, signal.SIGQUIT)}
        held[signal.SIGTSTP] = signal.signal(signal.SIGTSTP, signal.SIG_DFL)
        if self._loop is not None:
            self._loop.remove_reader(self._fd_in)
        try:
            yield
        finally:
            self.is_lent = False
            for number, handler in held.items():
                signal.signal(number, handler)
            if self.is_open:
                self._take_back(modes)

    def _take_back(self, modes: list[Mode]) -> None:
        try:
            self._before = enter_raw(self._fd_in)
        except termios.error:
            self._lost()
            return
        self._modes = modes
        self.write("".join(on for on, _ in modes))
        self._remember()
        if self._loop is not None:
            self._loop.add_reader(self._fd_in, self._read)
        if self._listener is not None:
            self._listener.on_resume()

    def _read(self) -> None:
        # The file is shared with the shell and stays blocking; one read for each time it is ready is safe.
        try:
            data = os.read(self._fd_in, _READ)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            data = b""
        if data:
            self._take(data)
        else:
            self._lost()

    def _take(self, data: bytes) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._hand_on(self._reader.feed(data))
        if self._reader.is_waiting and self._loop is not None:
            self._timer = self._loop.call_later(_ESCAPE_SECONDS, self._flush_keys)

    def _flush_keys(self) -> None:
        self._timer = None
        self._hand_on(self._reader.flush())

    def _hand_on(self, given: Iterable[Input]) -> None:
        for each in given:
            if isinstance(each, Answer):
                self._learn(each)
            if self._listener is not None:
                self._listener.on_input(each)

    def _learn(self, answer: Answer) -> None:
        was = self.capabilities
        now = self.capabilities = learn(was, answer)
        if now.keyboard and not was.keyboard:
            self.turn_on(KITTY_KEYS)
        if now.graphemes and not was.graphemes:
            self.turn_on(GRAPHEMES)
        if now.is_settled and not was.is_settled:
            self._asked = None
            if not now.keyboard:
                self.turn_on(OTHER_KEYS)

    def _lost(self) -> None:
        """The terminal is gone: there is nothing left to restore, only to end."""
        listener = self._listener
        self._outlet.forget()
        self._modes.clear()
        self.close()
        if listener is not None:
            listener.on_end(None)

    def _leave(self) -> None:
        """Turn everything off and give the keyboard back; the terminal may be gone already."""
        last = self.parting() + self._off()
        self._modes = []
        try:
            self._outlet.flush(last.encode())
            self._swallow_answers()
            if self._before is not None:
                _as_if_in_foreground(lambda before: leave_raw(self._fd_in, before), self._before)
        except (OSError, termios.error):
            return
        self._before = None

    def _off(self) -> str:
        return "".join(off for _, off in reversed(self._modes)) + (
            "" if self.capabilities.is_dumb else _ALWAYS
        )

    def _swallow_answers(self) -> None:
        """Answers that are still on their way would be typed into the shell."""
        if self._asked is None:
            return
        deadline = self._asked + _ANSWER_SECONDS
        self._asked = None
        while (left := deadline - time.monotonic()) > 0 and select.select([self._fd_in], [], [], left)[0]:
            if not (data := os.read(self._fd_in, _READ)):
                return
            if any(
                isinstance(each, Answer) and each.kind == "attributes" for each in self._reader.feed(data)
            ):
                return

    def _start_guard(self) -> Watchdog | None:
        try:
            guard = Watchdog(self._fd_out)
        except OSError:
            return None  # Without a shell there is no guard, and no other harm.
        guard.remember(self._off())
        return guard

    def _remember(self) -> None:
        if self._guard is not None:
            self._guard.remember(self._off())

    def _catch_signals(self) -> None:
        for number in _DEADLY:
            self._handlers[number] = signal.signal(number, self._on_deadly)
        self._handlers[signal.SIGTSTP] = signal.signal(signal.SIGTSTP, self._on_stop)

    def _release_signals(self) -> None:
        for number, handler in self._handlers.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
        self._handlers.clear()

    def _on_deadly(self, number: int, _frame: FrameType | None) -> None:
        """The first signal closes the terminal and asks the program to end, the next one ends it."""
        listener, loop = self._listener, self._loop
        self.close()
        signal.signal(number, signal.SIG_DFL)
        if listener is None or loop is None or loop.is_closed():
            os.kill(os.getpid(), number)
        else:
            loop.call_soon_threadsafe(listener.on_end, number)

    def _on_stop(self, _number: int, _frame: FrameType | None) -> None:
        self.suspend()

    def _stop_listening(self) -> None:
        if self._loop is not None and not self._loop.is_closed():
            self._loop.remove_reader(self._fd_in)
            self._loop.remove_signal_handler(signal.SIGWINCH)
            if self._timer is not None:
                self._timer.cancel()
        self._outlet.leave()
        self._loop = self._listener = None


def _ignore(_number: int, _frame: FrameType | None) -> None:
    """A handler, unlike SIG_IGN, is not inherited by programs that are started meanwhile."""


def _as_if_in_foreground(act: Callable[[Attributes], None], before: Attributes) -> None:
    """A program in the background is stopped when it changes the settings, unless it blocks the signal."""
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTTOU])
    try:
        act(before)
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTTOU])
