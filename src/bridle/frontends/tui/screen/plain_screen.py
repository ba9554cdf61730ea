"""Shows everything as plain lines in the order in which it happens: for screen readers and dumb terminals."""

from collections.abc import Sequence
from typing import Protocol

from bridle.frontends.tui.screen.live_region import Cursor
from bridle.frontends.tui.screen.screen import Size
from bridle.frontends.tui.style.text import Line, text_of


class PlainOutput(Protocol):
    """The part of a terminal that plain lines need."""

    @property
    def size(self) -> Size: ...
    def write(self, text: str, /) -> None: ...


class PlainScreen:
    """Like `Screen` for those who read line by line: nothing is drawn over and the cursor is never moved up.

    Rows of the live region are said once, when they appear or change. The row with the cursor stays open at
    the end, so that a screen reader speaks what is typed behind it.
    """

    is_full = False

    def __init__(self, output: PlainOutput) -> None:
        self._output = output
        self._said: set[str] = set()
        self._open = ""
        """The unfinished row at the end."""
        self._finished: list[str] = []

    @property
    def size(self) -> Size:
        """The window as it is now."""
        return self._output.size

    def write(self, lines: Sequence[Line]) -> None:
        """Say finished lines, with the next `show` or `flush`."""
        self._finished += [text_of(line).rstrip() for line in lines]

    def show(self, rows: Sequence[Line], cursor: Cursor | None = None) -> None:
        """Say the rows that are new, the one with the cursor last."""
        texts = [text_of(row).rstrip() for row in rows]
        edited = texts.pop(cursor[0]) if cursor is not None and cursor[0] < len(texts) else ""
        fresh = [text for text in texts if text not in self._said and _is_worth_saying(text)]
        self._said = set(texts)
        self._say([*self._finished, *fresh], edited)
        self._finished = []

    def flush(self) -> None:
        """Say what waits."""
        self._say(self._finished, self._open)
        self._finished = []

    def redraw(self) -> None:
        """Say everything again the next time."""
        self._said.clear()

    def restart(self) -> None:
        """Begin on a line of its own after another program has used the terminal."""
        self._open = ""
        self._said.clear()

    def parting(self) -> str:
        """End the open row."""
        return "\r\n" if self._open else ""

    def _say(self, lines: Sequence[str], edited: str) -> None:
        if lines:
            start = "\r\n" if self._open else ""
            self._open = ""
            self._output.write(start + "".join(f"{line}\r\n" for line in lines))
        self._edit(edited)

    def _edit(self, edited: str) -> None:
        before = self._open
        if edited == before:
            return
        if edited.startswith(before):
            self._output.write(edited[len(before) :])
        elif before.startswith(edited) and edited:
            count = len(before) - len(edited)
            self._output.write("\b \b" * count)
        else:
            self._output.write(f"\r\n{edited}" if before else edited)
        self._open = edited


def _is_worth_saying(text: str) -> bool:
    """Whether a row says anything: lines and boxes do not."""
    return any(character.isalnum() for character in text)
