"""Draws the prompt before anything else is loaded."""

import atexit
import os
import termios

from bridle.frontends.tui.raw import Attributes, enter_raw, leave_raw

PROMPT = "❯ "
_SILENT = ("", "dumb", "unknown")


class FirstFrame:
    """A prompt that is on the screen, and a terminal that is raw already.

    Until `hand_over`, the end of the program gives the terminal back. What is typed meanwhile waits there.
    """

    def __init__(self, fd_in: int, fd_out: int, columns: int) -> None:
        self.columns = columns
        edge = "─" * columns
        self.rows = (edge, PROMPT, edge)
        """What each row says; edges are dim."""
        self.cursor = (1, len(PROMPT))
        self._fd_in, self._fd_out = fd_in, fd_out
        self.before: Attributes = enter_raw(fd_in)
        """The settings from before raw mode: for whoever restores them later."""
        atexit.register(self._restore, b"\r\x1b[J")

    def paint(self) -> None:
        """Write the rows and put the cursor behind the prompt."""
        edge, prompt, _ = self.rows
        # What was typed before the terminal was raw has been echoed in the row where the frame begins.
        frame = f"\r\x1b[2m{edge}\x1b[m\r\n{prompt}\x1b[K\r\n\x1b[2m{edge}\x1b[m\x1b[A\r\x1b[{len(prompt)}C"
        os.write(self._fd_out, frame.encode())

    def hand_over(self) -> None:
        """Somebody else looks after the terminal from now on."""
        atexit.unregister(self._restore)

    def undo(self) -> None:
        """Take the prompt off the screen and give the terminal back: call it before saying why it goes."""
        atexit.unregister(self._restore)
        self._restore(b"\x1b[A\r\x1b[J")

    def _restore(self, erasing: bytes) -> None:
        try:
            os.write(self._fd_out, erasing)
            leave_raw(self._fd_in, self.before)
        except (OSError, termios.error):
            pass  # The terminal is gone, and with it what had to be undone.


def paint_first_frame(*, fd_in: int = 0, fd_out: int = 1) -> FirstFrame | None:
    """Show the prompt at once; None, and nothing done, where there is no terminal that can show it."""
    env = os.environ
    if env.get("TERM", "") in _SILENT or env.get("CLAUDE_AX_SCREEN_READER", "0") not in ("", "0"):
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
    except (OSError, termios.error):
        return None
    return frame
