"""The keys in a few rows below the input, as they are bound now."""

from bridle.frontends.tui import cells
from bridle.frontends.tui.keymap import Keymap
from bridle.frontends.tui.render.layout import MUTED, style
from bridle.frontends.tui.text import Line, Span

_PREFIXES = (("/", "commands"), ("@", "files"), ("!", "shell"), ("#", "remember"))
_ACTIONS = (
    ("chat:submit", "send"),
    ("chat:newline", "new line"),
    ("chat:cancel", "stop, twice to clear"),
    ("chat:cycleMode", "next mode"),
    ("app:toggleTranscript", "transcript"),
    ("app:toggleTodos", "todos"),
    ("history:search", "search history"),
    ("chat:externalEditor", "edit in $EDITOR"),
    ("chat:stash", "stash the draft"),
    ("chat:undo", "undo"),
    ("chat:imagePaste", "paste an image"),
    ("chat:modelPicker", "model"),
    ("app:exit", "leave"),
)
_COLUMN = 38


def shortcut_rows(keymap: Keymap, width: int) -> list[Line]:
    """Pairs of a key and what it does, in as many columns as fit."""
    named = [(key, words) for action, words in _ACTIONS if (key := keymap.label(action))]
    pairs = [*_PREFIXES, *named]
    columns = max(width // _COLUMN, 1)
    count = -(-len(pairs) // columns)
    rows: list[Line] = []
    for at in range(count):
        row: Line = ()
        for key, words in pairs[at::count]:
            cell: Line = (Span(f"{key:<12} ", style("accent")), Span(words, MUTED))
            row = (*row, *cells.pad(cells.truncate(cell, min(_COLUMN - 1, width)), _COLUMN))
        rows.append(cells.cut(row, width))
    return rows
