"""Reads what a program has shown on a terminal as the text that a user would have seen."""

import codecs
import re
import unicodedata

REPAINT = "\x1b]7501;repaint\x1b\\"
"""Written by a session before it draws everything anew: what came before is shown once more. Terminals pass
over it."""
_TOKEN = re.compile(
    r"\x1b\[(?P<params>[0-?]*)[ -/]*(?P<final>[@-~])"
    r"|\x1b\](?P<command>[^\x07\x1b]*)(?:\x07|\x1b\\)"
    r"|\x1b[PX^_][^\x1b]*\x1b\\"
    r"|\x1b[ -/]*(?P<single>[0-OQ-WYZ\\`a-~])"
    r"|(?P<control>[\x00-\x1a\x1c-\x1f\x7f])"
    r"|(?P<text>[^\x00-\x1f\x7f\x1b]+)",
    re.DOTALL,
)
_MOST_LINES = 20_000
_LONGEST_SEQUENCE = 4096
_ALTERNATE = ("?1049", "?47", "?1047")


class ScreenText:
    """A terminal whose lines never scroll away."""

    def __init__(self, rows: int, columns: int) -> None:
        self._rows, self._columns = rows, columns
        self._cells: list[list[str]] = [[]]
        self._row = self._column = self._top = 0
        self._saved = (0, 0)
        self._below: tuple[list[list[str]], int, int, int] | None = None
        """What is under a program that covers the window."""
        self._held = ""
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.touched = 0
        """The first row that was written to since this was last set."""
        self.repaints = 0

    @property
    def row(self) -> int:
        """Where the cursor is."""
        return self._row

    def feed(self, data: bytes) -> None:
        text = self._held + self._decoder.decode(data)
        at = 0
        while at < len(text):
            if (found := _TOKEN.match(text, at)) is not None:
                self._take(found)
                at = found.end()
            elif len(text) - at > _LONGEST_SEQUENCE:
                at += 1
            else:
                break
        # A sequence whose end has not come; one that never ends is none.
        self._held = text[at:]

    def lines(self) -> list[str]:
        """What can be read by now."""
        found = ["".join(cells).rstrip() for cells in self._cells]
        while found and not found[-1]:
            found.pop()
        return found

    def window(self) -> list[str]:
        """The rows that the terminal shows now."""
        rows = ["".join(cells) for cells in self._cells[self._top : self._top + self._rows]]
        return rows + [""] * (self._rows - len(rows))

    def _take(self, found: re.Match[str]) -> None:
        if (text := found["text"]) is not None:
            self._write(text)
        elif (control := found["control"]) is not None:
            self._control(control)
        elif (final := found["final"]) is not None:
            self._sequence(found["params"], final)
        elif found["command"] is not None:
            if found[0] == REPAINT:
                self.repaints += 1
                self.touched = 0
                self._cells, self._row, self._column, self._top = [[]], 0, 0, 0
        elif found["single"] == "M":
            self._row = max(self._row - 1, self._top)
        elif found["single"] == "7":
            self._saved = (self._row - self._top, self._column)
        elif found["single"] == "8":
            self._row, self._column = self._top + self._saved[0], self._saved[1]

    def _write(self, text: str) -> None:
        for char in text:
            if unicodedata.combining(char) or char in "\u200d\ufe0f":
                continue
            width = 2 if unicodedata.east_asian_width(char) in "WF" else 1
            if self._column + width > self._columns:
                self._feed_line()
                self._column = 0
            cells = self._line()
            end = self._column + width
            cells.extend(" " * (end - len(cells)))
            # What is left of a wide character that is half overwritten is a space.
            if not cells[self._column]:
                cells[self._column - 1] = " "
            if end < len(cells) and not cells[end]:
                cells[end] = " "
            cells[self._column : end] = [char, ""][:width]
            self._column += width

    def _control(self, control: str) -> None:
        if control == "\r":
            self._column = 0
        elif control in "\n\v\f":
            self._feed_line()
        elif control == "\b":
            self._column = max(self._column - 1, 0)
        elif control == "\t":
            self._column = min((self._column // 8 + 1) * 8, self._columns - 1)

    def _sequence(self, params: str, final: str) -> None:
        numbers = [int(part) if part.isdigit() else 0 for part in params.split(";")]
        first = max(numbers[0], 1)
        if final in "ABEF":
            down = first if final in "BE" else -first
            self._row = min(max(self._row + down, self._top), self._top + self._rows - 1)
            self._column = 0 if final in "EF" else self._column
        elif final in "CD":
            self._column = min(max(self._column + (first if final == "C" else -first), 0), self._columns - 1)
        elif final in "G`":
            self._column = min(first, self._columns) - 1
        elif final in "Hf":
            second = max(numbers[1], 1) if len(numbers) > 1 else 1
            self._row, self._column = self._top + min(first, self._rows) - 1, min(second, self._columns) - 1
        elif final == "d":
            self._row = self._top + min(first, self._rows) - 1
        elif final in "JKP@LMX":
            self._erase(final, numbers[0])
        elif final in "hl" and params in _ALTERNATE:
            self._cover(on=final == "h")

    def _erase(self, final: str, how: int) -> None:
        cells = self._line()
        if final == "K":
            self._erase_line(cells, how)
        elif final == "J" and how == 0:
            self._erase_line(cells, 0)
            del self._cells[self._row + 1 :]
        elif final == "J" and how == 2:
            del self._cells[self._top :]
        elif final == "P":
            del cells[self._column : self._column + max(how, 1)]
        elif final == "X":
            cells[self._column : self._column + max(how, 1)] = [" "] * max(how, 1)
        elif final == "@":
            cells[self._column : self._column] = [" "] * max(how, 1)
        elif final == "L":
            self._cells[self._row : self._row] = [[] for _ in range(min(max(how, 1), self._rows))]
        elif final == "M":
            del self._cells[self._row : self._row + max(how, 1)]

    def _erase_line(self, cells: list[str], how: int) -> None:
        if how == 0:
            del cells[self._column :]
        elif how == 1:
            cells[: self._column + 1] = [" "] * min(self._column + 1, len(cells))
        else:
            cells.clear()

    def _cover(self, *, on: bool) -> None:
        if on and self._below is None:
            self._below = (self._cells, self._row, self._column, self._top)
            self._cells, self._row, self._column, self._top = [[]], 0, 0, 0
        elif not on and self._below is not None:
            self._cells, self._row, self._column, self._top = self._below
            self._below = None

    def _feed_line(self) -> None:
        self._row += 1
        if self._row >= self._top + self._rows:
            self._top += 1
        self._line()
        if len(self._cells) > _MOST_LINES:
            gone = len(self._cells) - _MOST_LINES // 2
            del self._cells[:gone]
            self._row, self._top = self._row - gone, max(self._top - gone, 0)

    def _line(self) -> list[str]:
        self.touched = min(self.touched, self._row)
        while len(self._cells) <= self._row:
            self._cells.append([])
        return self._cells[self._row]
