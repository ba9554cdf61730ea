"""Finds words in a conversation and marks them in its rows."""

from collections.abc import Sequence

from msgspec.structs import replace

from bridle.frontends.tui.completion.fuzzy import lowered
from bridle.frontends.tui.screens.conversation.transcript_items import TranscriptItem
from bridle.frontends.tui.style import cells
from bridle.frontends.tui.style.text import Line, Span, text_of

_MOST_HITS = 10_000


def find_all(query: str, passages: Sequence[TranscriptItem]) -> list[tuple[int, int]]:
    """Every place of a query in small letters: the passage, and the how manieth hit in it."""
    if not query:
        return []
    found: list[tuple[int, int]] = []
    for index, passage in enumerate(passages):
        found += ((index, number) for number in range(lowered(passage.text).count(query)))
        if len(found) >= _MOST_HITS:
            break
    return found[:_MOST_HITS]


def highlight(line: Line, query: str, background: str) -> Line:
    """The line with every hit on a ground of its own."""
    text = lowered(text_of(line))
    spans: list[Span] = []
    done = 0
    while query and (at := text.find(query, done)) >= 0:
        end = at + len(query)
        spans += cells.slice_line(line, done, at)
        spans += (
            Span(span.text, replace(span.style, background=background))
            for span in cells.slice_line(line, at, end)
        )
        done = end
    return (*spans, *cells.slice_line(line, done, len(text))) if done else line
