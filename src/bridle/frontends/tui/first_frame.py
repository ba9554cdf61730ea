"""Draws the prompt before anything else is loaded, and shows what is typed while the rest is."""

import atexit
import os
import termios

from bridle.frontends.tui.raw_mode import Attributes, enter_raw, leave_raw

PROMPT = "❯ "
ERASE = "\x7f"
_SILENT = ("", "dumb", "unknown")
_SURELY_NARROW = 0x300
"""Printable characters before this one take one cell everywhere; what others take is not known here."""
_TICK_SECONDS = 0.004
_READ = 64 * 1024


class FirstFrame:
    """A prompt that is on the screen and can be typed into, and a terminal that is raw already.

    From `listen` to `hand_over`, a timer looks for keys while the program is being loaded. Until `hand_over`,
    the end of the program gives the terminal back.
    """

    def __init__(self, fd_in: int, fd_out: int, columns: int) -> None:
        self.columns = columns
        self._echo = ""
        self._typed = b""
        self._is_echoing = True
        self._is_listening = False
        self._is_ours = True
        """No other code manages the terminal yet."""
        self._fd_in, self._fd_out = fd_in, fd_out
        self.before: Attributes = enter_raw(fd_in)
        """The settings from before raw mode, to restore them later."""
        atexit.register(self._restore, b"\r\x1b[J")

    @property
    def rows(self) -> tuple[str, str, str]:
        """What each row says; edges are dim."""
        edge = "─" * self.columns
        return edge, PROMPT + self._echo, edge

    @property
    def cursor(self) -> tuple[int, int]:
        """Row and column."""
        return 1, len(PROMPT) + len(self._echo)

    def paint(self) -> None:
        """Write the rows and put the cursor behind the prompt."""
        edge, prompt, _ = self.rows
        # What was typed before the terminal was raw has been echoed in the row where the frame begins.
        frame = f"\r\x1b[2m{edge}\x1b[m\r\n{prompt}\x1b[K\r\n\x1b[2m{edge}\x1b[m\x1b[A\r\x1b[{len(prompt)}C"
        os.write(self._fd_out, frame.encode())

    def listen(self) -> None:
        """Read keys from now on while the program loads, and show those that are plain text."""
        # They bring more than the prompt could wait for.
        import select
        import signal

        def tick(_number: int, _frame: object) -> None:
            if not self._is_listening:
                return
            try:
                if select.select([self._fd_in], [], [], 0)[0]:
                    self._take(os.read(self._fd_in, _READ))
            except OSError:
                self._is_listening = False  # The terminal is gone; the program finds out when it takes over.
            if self._is_listening:
                # Once at a time: a tick that came while this one reads would mix up what was typed.
                signal.setitimer(signal.ITIMER_REAL, _TICK_SECONDS)

        def end(number: int, _frame: object) -> None:
            if self._is_ours:
                self.undo()
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)

        self._is_listening = True
        for number in (signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is signal.SIG_DFL:
                signal.signal(number, end)
        signal.signal(signal.SIGALRM, tick)
        signal.setitimer(signal.ITIMER_REAL, _TICK_SECONDS)

    def hand_over(self) -> bytes:
        """Hand the terminal over; returns everything that was typed."""
        self._stop_listening()
        self._is_ours = False
        atexit.unregister(self._restore)
        return self._typed

    def undo(self) -> bytes:
        """Take the prompt off the screen and give the terminal back: call it before saying why it goes.

        Returns everything that was typed.
        """
        self._is_ours = False
        atexit.unregister(self._restore)
        self._restore(b"\x1b[A\r\x1b[J")
        return self._typed

    def _take(self, data: bytes) -> None:
        self._is_listening = bool(data)
        self._typed += data
        if not self._is_echoing:
            return
        before = self._echo
        # A character may have come in part; the rest of it follows.
        given = self._typed.decode("utf-8", "ignore")
        self._echo, self._is_echoing = echo_of(given, self.columns)
        pairs = enumerate(zip(before, self._echo, strict=False))
        same = next((at for at, (one, other) in pairs if one != other), min(len(before), len(self._echo)))
        back = "\b" * (len(before) - same)
        os.write(self._fd_out, (back + self._echo[same:] + ("\x1b[K" if back else "")).encode())

    def _stop_listening(self) -> None:
        if self._is_listening:
            import signal

            self._is_listening = False
            # The handler stays: a signal that is on its way would end the program without it.
            signal.setitimer(signal.ITIMER_REAL, 0)

    def _restore(self, erasing: bytes) -> None:
        self._stop_listening()
        try:
            os.write(self._fd_out, erasing)
            leave_raw(self._fd_in, self.before)
        except (OSError, termios.error):
            pass  # The terminal is gone, and with it what had to be undone.


def _is_read_aloud() -> bool:
    if "CLAUDE_AX_SCREEN_READER" not in os.environ:
        return False
    # Nearly no one waits for this import.
    from bridle.types.variables import is_on

    return is_on(os.environ, "CLAUDE_AX_SCREEN_READER")


def paint_first_frame(*, fd_in: int = 0, fd_out: int = 1) -> FirstFrame | None:
    """Show the prompt at once; None, and nothing done, where there is no terminal that can show it."""
    env = os.environ
    if env.get("TERM", "") in _SILENT or _is_read_aloud():
        return None
    try:
        if not (os.isatty(fd_in) and os.isatty(fd_out)):
            return None
        size = os.get_terminal_size(fd_out)
        columns, lines = size.columns or 80, size.lines or 24
        if columns <= len(PROMPT) or lines < 3:
            return None
        frame = FirstFrame(fd_in, fd_out, columns)
        frame.paint()
        frame.listen()
    except (OSError, termios.error):
        return None
    return frame


def echo_of(typed: str, columns: int) -> tuple[str, bool]:
    """What the prompt shows of what was typed, and whether it shows all of it.

    It stops at the first key that is neither plain text nor erases some: only the whole program knows those.
    """
    room = columns - len(PROMPT) - 1
    shown = ""
    for char in typed:
        if char == ERASE:
            shown = shown[:-1]
        elif char.isprintable() and ord(char) < _SURELY_NARROW and len(shown) < room:
            shown += char
        else:
            return shown, False
    return shown, True
