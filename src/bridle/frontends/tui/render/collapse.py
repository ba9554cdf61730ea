"""Long output in a few rows, or in all that are worth showing."""

from collections.abc import Sequence

from bridle.frontends.tui.render.layout import MUTED, count, fit, wrap
from bridle.frontends.tui.style import cells
from bridle.frontends.tui.style.ansi import from_ansi
from bridle.frontends.tui.style.text import Line, Span

MOST_ROWS = 2_000
"""More is never shown, also when expanded."""
_MOST_CHARS = 200_000
_LONGEST_LINE = 10_000


def fold(
    lines: Sequence[Line], width: int, *, head: int, tail: int = 0, expanded: bool = False
) -> list[Line]:
    """The first and last rows of some lines and how many are left out between; all of them when expanded."""
    if expanded:
        head, tail = MOST_ROWS, 0
    width = max(1, width)
    if len(lines) > 2 * (head + tail + 1):
        # Rows that cannot be shown need not be laid out.
        first = _rows(lines[: head + 1], width, head)
        last = _rows(lines[len(lines) - tail :], width, None)[-tail:] if tail else []
        hidden = len(lines) - head - tail
        return fit([*first[:head], _left_out(hidden), *last], width)
    rows = _rows(lines, width, None)
    if len(rows) <= head + tail + 1:
        return fit(rows, width)
    hidden = len(rows) - head - tail
    return fit([*rows[:head], _left_out(hidden), *(rows[-tail:] if tail else ())], width)


def fold_output(text: str, width: int, *, head: int, tail: int = 0, expanded: bool = False) -> list[Line]:
    """The output of a program in its own colors, folded."""
    return fold(output_lines(text), width, head=head, tail=tail, expanded=expanded)


def output_lines(text: str) -> list[Line]:
    """Lines of output, bounded in number and length: the beginning and the end of what is far too long."""
    text = text.strip("\n")
    if len(text) > _MOST_CHARS:
        half = _MOST_CHARS // 2
        left_out = f"\n… {len(text) - _MOST_CHARS:,} characters left out …\n"
        text = text[:half] + left_out + text[-half:]
    return [_bounded(each) for each in from_ansi(text)] if text else []


def _rows(lines: Sequence[Line], width: int, most: int | None) -> list[Line]:
    rows: list[Line] = []
    for each in lines:
        rows += wrap(each, width)
        if most is not None and len(rows) >= most:
            break
    return rows


def _bounded(line: Line) -> Line:
    if sum(len(span.text) for span in line) <= _LONGEST_LINE:
        return line
    return (*cells.slice_line(line, 0, _LONGEST_LINE), Span("…", MUTED))


def _left_out(number: int) -> Line:
    return (Span(f"… {count(number, 'more line')}", MUTED),)
