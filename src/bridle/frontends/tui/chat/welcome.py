"""The first lines of a session: a greeting, or the end of the resumed conversation."""

from collections.abc import Mapping, Sequence
from typing import Any

from bridle.frontends.tui.render.layout import MUTED, count, one_line, style
from bridle.frontends.tui.style import cells
from bridle.frontends.tui.style.text import Line, Span

_MOST_PASSAGES = 40
_MOST_ROWS = 400


def welcome(width: int, *, version: str, model: str, folder: str) -> list[Line]:
    """The name and version, the model, and the folder unless that is empty."""
    rows: list[Line] = [
        (Span("bridle", style("accent", bold=True)), Span(f" {version}", MUTED)),
        (Span(f"{one_line(model)} in {one_line(folder)}" if folder else one_line(model), MUTED),),
    ]
    return [cells.truncate(row, width) for row in rows]


def recent_lines(
    messages: Sequence[Mapping[str, Any]], width: int, *, ran: Mapping[str, Mapping[str, Any]] | None = None
) -> list[Line]:
    """The end of a conversation, as it looked when it was had; `ran` has inputs that were changed."""
    # Only a resumed conversation needs it.
    from bridle.frontends.tui.screens.conversation.transcript_items import passages_of

    passages = passages_of(messages, ran=ran)
    shown = passages[-_MOST_PASSAGES:]
    rows: list[Line] = []
    for passage in shown:
        rows += [*([()] if rows else []), *passage.lines(width, False)]
    hidden = len(passages) - len(shown)
    if len(rows) > _MOST_ROWS:
        rows = rows[-_MOST_ROWS:]
    head: list[Line] = [(Span(f"… {count(hidden, 'earlier part')}", MUTED),), ()] if hidden else []
    return [*head, *rows]
