"""Changes to files: numbers, colors, and the words that differ."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from bridle.frontends.tui.render.code import code_line, lexer_for
from bridle.frontends.tui.render.layout import MUTED, count, fit, one_line, row, style
from bridle.frontends.tui.render.word_diff import Ranges, changed_words
from bridle.frontends.tui.style import cells
from bridle.frontends.tui.style.text import PLAIN, Line, Span, Style, text_of
from bridle.tools.files.patches import Hunk, structured_patch

_LONGEST_LINE = 2_000
_NO_NEWLINE = "\\"
_CONTEXT = 3
_MOST_PAIRS = 50
"""Comparing words costs more than it tells in larger changes."""

Mark = Literal[" ", "-", "+"]
Kind = Literal["changed", "new", "deleted", "renamed", "binary"]


class FileChange(Struct, frozen=True, kw_only=True):
    """What happened to one file."""

    path: str
    kind: Kind = "changed"
    old_path: str = ""
    hunks: tuple[Hunk, ...] = ()

    @property
    def added(self) -> int:
        return sum(line.startswith("+") for hunk in self.hunks for line in hunk["lines"])

    @property
    def removed(self) -> int:
        return sum(line.startswith("-") for hunk in self.hunks for line in hunk["lines"])


class _Entry(Struct, frozen=True):
    """One line of a hunk; a fold stands for several that are left out."""

    mark: Mark
    number: int
    text: str
    ranges: Ranges = []
    folded: int = 0


def change_between(path: str, old: str, new: str, *, exists: bool = True) -> FileChange:
    """The change from one text to another."""
    return FileChange(path=path, kind="changed" if exists else "new", hunks=tuple(structured_patch(old, new)))


def read_hunks(value: Any) -> tuple[Hunk, ...]:
    """The hunks of a tool's structured output; what is not shaped like one is left out."""
    if not isinstance(value, list | tuple):
        return ()
    return tuple(hunk for each in value if (hunk := _hunk(each)) is not None)


def change_header(change: FileChange) -> Line:
    """One line: what happened to which file, and how much."""
    path = one_line(change.path)
    match change.kind:
        case "renamed":
            name = f"{one_line(change.old_path)} → {path}"
        case "changed":
            name = path
        case _:
            name = f"{path} ({'new file' if change.kind == 'new' else change.kind})"
    return (Span(name, style(bold=True)), *summary(change))


def summary(change: FileChange) -> Line:
    """` +3 −1`, without what is zero."""
    spans: list[Span] = []
    if added := change.added:
        spans.append(Span(f" +{added:,}", style("added")))
    if removed := change.removed:
        spans.append(Span(f" −{removed:,}", style("removed")))
    return tuple(spans)


def render_hunks(change: FileChange, width: int, *, limit: int | None = None) -> list[Line]:
    """The changed lines with a few around them; beyond `limit` lines only their number."""
    total = sum(len(hunk["lines"]) for hunk in change.hunks)
    last = max(
        (max(h["oldStart"] + h["oldLines"], h["newStart"] + h["newLines"]) for h in change.hunks), default=0
    )
    gutter = len(str(max(last, 0)))
    lines: list[Line] = []
    shown = 0
    for index, hunk in enumerate(change.hunks):
        if limit is not None and shown >= limit:
            break
        if index:
            lines.append((Span(" " * gutter + " ⋯", MUTED),))
        room = None if limit is None else limit - shown
        entries = hunk["lines"] if room is None else hunk["lines"][:room]
        shown += len(entries)
        lines += _render_hunk(hunk, entries, change.path, width=width, gutter=gutter)
    if shown < total:
        lines.append((Span(f"… {count(total - shown, 'more line')}", MUTED),))
    return fit(lines, width)


def _render_hunk(hunk: Hunk, lines: Sequence[str], path: str, *, width: int, gutter: int) -> list[Line]:
    # The old and the new text are read separately: a comment opened in one is not open in the other.
    old, new = lexer_for(path=path), lexer_for(path=path)
    rows: list[Line] = []
    for entry in _folded(_entries(hunk, lines)):
        if entry.folded:
            rows.append((Span(" " * gutter + f" ⋯ {count(entry.folded, 'unchanged line')}", MUTED),))
            continue
        pieces = (old if entry.mark == "-" else new).pieces(entry.text)
        if entry.mark == " ":
            old.pieces(entry.text)
        rows += _entry_rows(entry, code_line(pieces, known=True), width=width, gutter=gutter)
    return rows


def _entry_rows(entry: _Entry, code: Line, *, width: int, gutter: int) -> list[Line]:
    match entry.mark:
        case "+":
            sign, line = style("added", "added"), _marked(code, entry.ranges, "added", "added_word")
        case "-":
            sign, line = (
                style("removed", "removed"),
                _marked(code, entry.ranges, "removed", "removed_word"),
            )
        case " ":
            sign, line = style("line_number"), code
    margin = gutter + 3
    if width < margin + 4:
        return cells.chop((Span(entry.mark, sign), *line), max(1, width))
    number = f"{entry.number:>{gutter}}" if entry.number > 0 else " " * gutter
    first = Span(f"{number} {entry.mark} ", sign)
    rest = Span(" " * margin, sign if entry.mark != " " else PLAIN)
    rows = [(first if at == 0 else rest, *part) for at, part in enumerate(cells.chop(line, width - margin))]
    return [_banded(each, width, sign) for each in rows] if entry.mark != " " else rows


def added_rows(code: Line, number: int, width: int, *, gutter: int) -> list[Line]:
    """A line of a new file, with its number; longer ones continue behind the gutter."""
    return _entry_rows(_Entry("+", number, text_of(code)), code, width=width, gutter=gutter)


def _banded(row: Line, width: int, look: Style) -> Line:
    """A row on its background up to the edge of the window."""
    left = width - cells.line_width(row)
    return (*row, Span(" " * left, look)) if left > 0 else row


def _marked(line: Line, ranges: Ranges, background: str, word_background: str) -> Line:
    """The line on its background, the words that differ on a stronger one."""
    spans: list[Span] = []
    at = 0
    for start, end in [*ranges, (len(text_of(line)), -1)]:
        spans += (
            Span(s.text, replace(s.style, background=background)) for s in cells.slice_line(line, at, start)
        )
        if end > start:
            spans += (
                Span(s.text, replace(s.style, background=word_background))
                for s in cells.slice_line(line, start, end)
            )
            at = end
    return tuple(spans)


def _entries(hunk: Hunk, lines: Sequence[str]) -> Iterator[_Entry]:
    old, new = hunk["oldStart"], hunk["newStart"]
    removed: list[_Entry] = []
    added: list[_Entry] = []
    for line in lines:
        mark, text = line[:1], row(line[1 : _LONGEST_LINE + 1])
        if mark == _NO_NEWLINE:
            continue
        if mark == "-":
            if added:
                yield from _paired(removed, added)
                removed, added = [], []
            removed.append(_Entry("-", old, text))
            old += 1
        elif mark == "+":
            added.append(_Entry("+", new, text))
            new += 1
        else:
            yield from _paired(removed, added)
            removed, added = [], []
            yield _Entry(" ", new, text)
            old, new = old + 1, new + 1
    yield from _paired(removed, added)


def _paired(removed: list[_Entry], added: list[_Entry]) -> list[_Entry]:
    """Lines that replace each other, with the words that differ."""
    old, new = list(removed), list(added)
    for at, (before, after) in enumerate(zip(removed[:_MOST_PAIRS], added, strict=False)):
        lost, gained = changed_words(before.text, after.text)
        old[at], new[at] = replace(before, ranges=lost), replace(after, ranges=gained)
    return [*old, *new]


def _folded(entries: Iterator[_Entry]) -> Iterator[_Entry]:
    """Long stretches without a change are left out."""
    waiting: list[_Entry] = []
    has_change = False
    for entry in entries:
        if entry.mark == " ":
            waiting.append(entry)
            continue
        yield from _fold(waiting, before=_CONTEXT if has_change else 0, after=_CONTEXT)
        waiting, has_change = [], True
        yield entry
    yield from _fold(waiting, before=_CONTEXT, after=0)


def _fold(entries: list[_Entry], *, before: int, after: int) -> Iterator[_Entry]:
    hidden = len(entries) - before - after
    if hidden < 3:
        yield from entries
        return
    yield from entries[:before]
    yield _Entry(" ", 0, "", [], hidden)
    yield from entries[len(entries) - after :]


def _hunk(value: Any) -> Hunk | None:
    match value:
        case {"oldStart": int(), "newStart": int(), "lines": list() as lines}:
            texts = [line for line in lines if isinstance(line, str)]
            return {
                "oldStart": value["oldStart"],
                "oldLines": _size(value, "oldLines"),
                "newStart": value["newStart"],
                "newLines": _size(value, "newLines"),
                "lines": texts,
            }
        case _:
            return None


def _size(value: Mapping[str, Any], name: str) -> int:
    size = value.get(name)
    return size if isinstance(size, int) else 0
