"""What session this is: version, folder, model, account and where settings come from."""

from collections.abc import Sequence

from msgspec import Struct

from bridle.commands.queries.status import Fact
from bridle.frontends.tui.render.layout import paragraph, style
from bridle.frontends.tui.style.text import Line, Span
from bridle.frontends.tui.widgets.page import heading, pair
from bridle.frontends.tui.widgets.pane import TextPane
from bridle.frontends.tui.widgets.tabs import TabbedView


class StatusFacts(Struct, frozen=True, kw_only=True):
    """Names with values, in parts with headings, and what needs looking after."""

    parts: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = ()
    problems: tuple[str, ...] = ()


def status_of(facts: Sequence[Fact]) -> StatusFacts:
    """The state of the session; problems stand apart."""
    return StatusFacts(
        parts=(("", tuple((fact.name, fact.value) for fact in facts if fact.name != "Problems")),),
        problems=tuple(fact.value for fact in facts if fact.name == "Problems"),
    )


def status_view(facts: StatusFacts) -> TabbedView[StatusFacts]:
    """The facts on a page of their own."""
    pane = TextPane(lambda width: status_lines(facts, width))
    return TabbedView(
        "Session",
        [("", pane)],
        update=lambda now: pane.replace(lambda width: status_lines(now, width)),
    )


def status_lines(facts: StatusFacts, width: int) -> list[Line]:
    """The facts in rows."""
    rows: list[Line] = []
    for name, pairs in facts.parts:
        rows += [*([()] if rows else []), *([heading(name)] if name else []), *_pairs(pairs, width)]
    if facts.problems:
        rows += [(), heading("needs attention")]
    for problem in facts.problems:
        said = paragraph(problem, max(1, width - 2))
        rows += [(Span("  " if at else "! ", style("warning")), *each) for at, each in enumerate(said)]
    return rows


def _pairs(pairs: Sequence[tuple[str, str]], width: int) -> list[Line]:
    longest = max((len(name) for name, _ in pairs), default=0) + 2
    return [row for name, value in pairs for row in pair(name, value, width, column=min(longest, 22))]
