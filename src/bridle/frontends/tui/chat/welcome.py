"""The first lines of a session: a greeting, or the end of the resumed conversation."""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from bridle.frontends.tui.render.layout import MUTED, count, one_line, style
from bridle.frontends.tui.style import cells
from bridle.frontends.tui.style.text import Line, Span

_MOST_PASSAGES = 40
_MOST_ROWS = 400
_WIDE = 60
_TIP = "Tip: "


class Welcome(Struct, frozen=True, kw_only=True):
    """What the first rows say; what is empty is left out."""

    version: str
    model: str
    key: str = ""
    """Where the key comes from, such as a variable."""
    folder: str = ""
    branch: str = ""
    last: str = ""
    """What the last conversation here was about."""
    last_time: float | None = None
    """When it ended, in seconds since the epoch."""
    tips: tuple[str, ...] = ()
    """The first one that fits is shown."""


def welcome(width: int, facts: Welcome, *, now: float) -> list[Line]:
    """Name and model, the folder, the last conversation, and a tip: at most four rows."""
    lead = f" {facts.version} · {one_line(facts.model)}"
    key = f" ({one_line(facts.key)})" if facts.key else ""
    if len("bridle") + cells.width(lead + key) > width:
        key = ""
    head = (Span("bridle", style("accent", bold=True)), Span(f"{lead}{key}", MUTED))
    branch = f" on {one_line(facts.branch)}" if facts.branch else ""
    rows: list[Line] = [cells.truncate(head, width)]
    if facts.folder:
        room = max(width - cells.width(branch), 1)
        where = cells.truncate_text(one_line(facts.folder), room)
        rows.append((Span(f"{where}{branch}", MUTED),))
    if facts.last:
        rows.append(_last_row(facts, width, now))
    fitting = (tip for tip in facts.tips if cells.width(tip) + len(_TIP) <= width)
    if tip := next(fitting, ""):
        rows.append((Span(_TIP, style("info")), Span(one_line(tip), MUTED)))
    return [cells.truncate(row, width) for row in rows]


def _last_row(facts: Welcome, width: int, now: float) -> Line:
    """`2 h ago: fix the discount · /resume continues it`."""
    # Only those who have been here before need it.
    from bridle.frontends.tui.widgets.relative_time import ago

    then = "last time" if facts.last_time is None else ago(facts.last_time, now)
    then = "just now" if then == "now" else then
    when = then[:1].upper() + then[1:]
    way = " · /resume continues it" if width >= _WIDE else " · /resume"
    room = width - cells.width(f"{when}: ") - len(way)
    about = cells.truncate_text(one_line(facts.last[:500]), max(room, 8))
    return (Span(f"{when}: ", MUTED), Span(about), Span(way, MUTED))


def recent_lines(
    messages: Sequence[Mapping[str, Any]],
    width: int,
    *,
    data: Mapping[str, Any] | None = None,
    ran: Mapping[str, Mapping[str, Any]] | None = None,
) -> list[Line]:
    """The end of a conversation, as it looked when it was had; `ran` has inputs that were changed.

    `data` is the structured output of calls.
    """
    # Only a resumed conversation needs it.
    from bridle.frontends.tui.screens.conversation.transcript_items import passages_of

    passages = passages_of(messages, data, ran=ran)
    shown = passages[-_MOST_PASSAGES:]
    rows: list[Line] = []
    for passage in shown:
        rows += [*([()] if rows else []), *passage.lines(width, False)]
    hidden = len(passages) - len(shown)
    if len(rows) > _MOST_ROWS:
        rows = rows[-_MOST_ROWS:]
    head: list[Line] = [(Span(f"… {count(hidden, 'earlier part')}", MUTED),), ()] if hidden else []
    return [*head, *rows]
