"""What a compaction dropped, the summary that stands for it, and the words that it kept."""

from collections.abc import Sequence

from bridle.context.compaction_report import Dropped
from bridle.engine.compaction.report import Compacted
from bridle.frontends.tui.render.call import tokens
from bridle.frontends.tui.render.layout import MUTED, one_line, paragraph, style
from bridle.frontends.tui.render.markdown import render_markdown
from bridle.frontends.tui.style import cells
from bridle.frontends.tui.style.text import Line, Span
from bridle.frontends.tui.widgets.page import pair
from bridle.frontends.tui.widgets.pane import TextPane
from bridle.frontends.tui.widgets.tabs import TabbedView
from bridle.types.ledger import Pin

_BAR = 24


def compacted_view(done: Compacted, pins: Sequence[Pin]) -> TabbedView[Compacted]:
    """The report in three tabs."""
    return TabbedView(
        "Last compaction",
        [
            ("Dropped", TextPane(lambda width: _report(done, width))),
            ("Summary", TextPane(lambda width: render_markdown(done.summary, width))),
            ("Pins", TextPane(lambda width: _pins(pins, width))),
        ],
        aside="/uncompact takes it back",
    )


def _report(done: Compacted, width: int) -> list[Line]:
    rows = pair("before", tokens(done.tokens_before), width, column=10)
    rows += pair("dropped", tokens(sum(each.tokens for each in done.dropped)), width, column=10)
    rows += pair("kept", f"{done.kept:,} messages verbatim", width, column=10) if done.kept else []
    rows += pair("why", _WHY.get(done.trigger, done.trigger), width, column=10)
    most = max((each.tokens for each in done.dropped), default=0)
    return [*rows, (), *(_row(each, most, width) for each in done.dropped)]


def _row(gone: Dropped, most: int, width: int) -> Line:
    size = min(_BAR, max(width // 4, 1))
    filled = max(1, round(size * gone.tokens / most)) if most else 0
    bar: Line = (Span("■" * filled, style("accent")), Span("·" * (size - filled), MUTED), Span("  "))
    words = f"{one_line(gone.kind)} ({gone.count:,})"
    return cells.truncate((*bar, Span(f"{tokens(gone.tokens):>14}  ", MUTED), Span(words)), width)


def _pins(pins: Sequence[Pin], width: int) -> list[Line]:
    if not pins:
        return paragraph("Nothing is pinned. /pin <text> keeps text through every compaction.", width, MUTED)
    rows: list[Line] = []
    for pin in pins:
        rows += paragraph(f"● {pin.text}", width)
    return rows


_WHY = {"manual": "manual", "auto": "automatic: the context window was nearly full"}
