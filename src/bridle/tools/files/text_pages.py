"""One page of a text that may be far larger than memory."""

from collections.abc import Iterable

from msgspec import Struct

LONGEST_LINE = 2000
_MOST_COUNTED = 128 * 1024 * 1024
"""How far behind the page lines are still counted: knowing the total is worth no long wait."""


class Page(Struct, frozen=True, kw_only=True):
    lines: list[str]
    """As shown: without line endings, long ones cut."""
    start: int
    """The number of the first line."""
    total: int
    """Lines in the whole text, or in as much of it as was looked at."""
    whole_lines: int
    """How many lines at the beginning of the page are not cut."""
    full: bool
    """The size limit ended the page before the line limit did."""
    ends_with_newline: bool
    """The last line of the page has a line ending."""

    @property
    def end(self) -> int:
        """The number of the last line."""
        return self.start + len(self.lines) - 1

    @property
    def text(self) -> str:
        return "\n".join(self.lines) + ("\n" if self.ends_with_newline else "")


def cut_page(chunks: Iterable[str], *, start: int, limit: int, most_chars: int) -> Page:
    """Lines `start` to `start + limit - 1` of a text given in pieces, as far as `most_chars` reach."""
    cutter = _Cutter(start=start, limit=limit, most_chars=most_chars)
    counted = 0
    for chunk in chunks:
        cutter.feed(chunk)
        counted += len(chunk) if cutter.done else 0
        if counted > _MOST_COUNTED:
            break
    return cutter.finish()


class _Cutter:
    """Holds the page and the start of one line, never more."""

    def __init__(self, *, start: int, limit: int, most_chars: int) -> None:
        self._start = start
        # Each line takes some room, so this many are never reached and no chunk is split into more.
        self._limit = min(limit, most_chars + 1)
        self._room = most_chars
        self._lines: list[str] = []
        self._whole = 0
        self._full = False
        self._newlines = 0
        self._open = ""
        self._open_length = 0
        self._ended = True
        self._page_ended = False

    @property
    def done(self) -> bool:
        return self._full or len(self._lines) >= self._limit

    def feed(self, chunk: str) -> None:
        if not chunk:
            return
        self._ended = chunk.endswith("\n")
        rest = self._skip(chunk)
        if rest and not self.done:
            rest = self._collect(rest)
        self._newlines += rest.count("\n")

    def finish(self) -> Page:
        if self._open_length and not self.done:
            self._add(self._open, self._open_length, ended=False)
        return Page(
            lines=self._lines,
            start=self._start,
            total=self._newlines + (not self._ended),
            whole_lines=self._whole,
            full=self._full,
            ends_with_newline=bool(self._lines) and self._page_ended,
        )

    def _skip(self, chunk: str) -> str:
        """What is left of a chunk after the lines before the page."""
        before = self._start - 1 - self._newlines
        if before <= 0:
            return chunk
        here = chunk.count("\n")
        if here < before:
            self._newlines += here
            return ""
        self._newlines += before
        return chunk.split("\n", before)[-1]

    def _collect(self, text: str) -> str:
        """Take lines until the page is done; returns what was not looked at."""
        pieces = text.split("\n", self._limit - len(self._lines))
        last = pieces.pop()
        if "\r" not in text and self._take_all(pieces):
            pieces = []
        for index, piece in enumerate(pieces):
            line = self._open + piece[: LONGEST_LINE + 1]
            self._add(line, self._open_length + len(piece), ended=True)
            if self._full:
                return "\n".join([*pieces[index:], last])
            self._open, self._open_length = "", 0
            self._newlines += 1
        if self.done:
            return last
        self._open += last[: max(0, LONGEST_LINE + 1 - len(self._open))]
        self._open_length += len(last)
        return ""

    def _take_all(self, lines: list[str]) -> bool:
        """Take lines that are all short and have room together, as in most files; whether they are."""
        if self._open_length or not lines or max(map(len, lines)) > LONGEST_LINE:
            return False
        first = self._start + len(self._lines)
        numbers = sum(map(len, map(str, range(first, first + len(lines)))))
        cost = sum(map(len, lines)) + numbers + 2 * len(lines)
        if cost > self._room:
            return False
        self._room -= cost
        if self._whole == len(self._lines):
            self._whole += len(lines)
        self._lines += lines
        self._newlines += len(lines)
        self._page_ended = True
        return True

    def _add(self, line: str, length: int, *, ended: bool) -> None:
        if ended and length <= LONGEST_LINE + 1 and line.endswith("\r"):
            line, length = line[:-1], length - 1
        # The first line is shown even when there is room for its beginning only.
        longest = LONGEST_LINE if self._lines else min(LONGEST_LINE, max(1, self._room))
        if cut := length > longest:
            line = f"{line[:longest]}… [{length - longest:,} more characters]"
        cost = len(line) + len(str(self._start + len(self._lines))) + 2
        if self._lines and cost > self._room:
            self._full = True
            return
        self._room -= cost
        if not cut and self._whole == len(self._lines):
            self._whole += 1
        self._lines.append(line)
        self._page_ended = ended
