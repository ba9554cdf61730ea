"""Shows the prompt while it is being written."""

from collections.abc import Sequence

from msgspec import Struct

from bridle.frontends.tui.editing.editor import Editor
from bridle.frontends.tui.screen.live_region import Cursor
from bridle.frontends.tui.style.cells import cut, truncate_text, width
from bridle.frontends.tui.style.text import PLAIN, Line, Span, Style

_HINT = Style(color="suggestion")


class PromptStyle(Struct, frozen=True):
    """How the prompt is shown at the moment."""

    prompt: str = "❯ "
    prompt_style: Style = PLAIN
    """In the color of the mode."""
    text_style: Style = PLAIN
    placeholder: str = ""
    """What an empty prompt says."""
    ghost: str = ""
    """What accepting the suggestion would add behind the cursor."""
    most_rows: int = 12
    faults: Sequence[tuple[int, int]] = ()
    """Where words stand that are spelled wrong."""
    fault_style: Style = PLAIN


def render(editor: Editor, columns: int, look: PromptStyle) -> tuple[list[Line], Cursor]:
    """The rows of the prompt and the place of the cursor; a long prompt shows the part around the cursor."""
    margin = width(look.prompt)
    if margin >= columns:
        margin = 0
    room = editor.columns = max(columns - margin, 1)
    layout = editor.layout()
    row, column = layout.place(editor.cursor)
    first = _first_row(row, len(layout.rows), max(look.most_rows, 1))
    lines: list[Line] = []
    for index, part in list(enumerate(layout.rows))[first : first + max(look.most_rows, 1)]:
        shown = editor.text[part.start : part.end]
        spans: Line = _marked(shown, part.start, look) if shown else ()
        if index == len(layout.rows) - 1:
            spans += _hint(editor, look, room - width(shown))
        lines.append(cut((*_margin(look, margin, is_first=index == 0), *spans), columns))
    return lines, (row - first, margin + column)


def _marked(shown: str, start: int, look: PromptStyle) -> Line:
    """A row of the prompt, with words that are spelled wrong in their style."""
    spans: list[Span] = []
    at = 0
    for fault in look.faults:
        first, end = max(fault[0] - start, at), min(fault[1] - start, len(shown))
        if first < end:
            spans += [Span(shown[at:first], look.text_style), Span(shown[first:end], look.fault_style)]
            at = end
    return tuple(span for span in (*spans, Span(shown[at:], look.text_style)) if span.text)


def _first_row(row: int, count: int, most: int) -> int:
    """The first row to show, so that the row of the cursor is among them."""
    if count <= most:
        return 0
    return min(max(row - most // 2, 0), count - most)


def _margin(look: PromptStyle, margin: int, *, is_first: bool) -> Line:
    if not margin:
        return ()
    return (Span(look.prompt, look.prompt_style),) if is_first else (Span(" " * margin),)


def _hint(editor: Editor, look: PromptStyle, room: int) -> Line:
    hint = look.placeholder if editor.is_empty and not look.ghost else look.ghost
    is_at_end = editor.cursor == len(editor.text)
    shown = truncate_text(hint.partition("\n")[0], room) if is_at_end and room > 0 else ""
    return (Span(shown, _HINT),) if shown else ()
