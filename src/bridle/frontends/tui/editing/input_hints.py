"""How the input looks in each of its modes, and what is hinted at below it."""

from bridle.frontends.tui.editing.editor_view import PromptStyle
from bridle.frontends.tui.editing.input_area import InputArea
from bridle.frontends.tui.keymap.keymap import Chord, Keymap, display
from bridle.frontends.tui.render.layout import MUTED, style
from bridle.frontends.tui.style import cells
from bridle.frontends.tui.style.text import PLAIN, Line, Span

_COLORS = {"bash": "mode.bash", "memory": "mode.memory"}
_WORDS = {"bash": "shell mode", "memory": "saved to memory"}
SESSION_COLORS = ("red", "blue", "green", "yellow", "purple", "orange", "pink", "cyan")


def prompt_look(input: InputArea, placeholder: str) -> PromptStyle:
    """The prompt in the color of what it will do; it points the other way in vim's normal mode."""
    is_special = input.mode in _COLORS
    is_normal = input.vim is not None and input.vim.mode != "INSERT"
    return PromptStyle(
        prompt="❮ " if is_normal else "❯ ",
        prompt_style=style(_COLORS.get(input.mode, "prompt"), bold=is_special),
        text_style=PLAIN,
        placeholder=placeholder,
    )


def edge_of(input: InputArea, mode: str, color: str | None = None) -> str:
    """The color of the lines around the input: what is typed, the mode, or the session's own."""
    usual = f"agent.{color}" if color in SESSION_COLORS else "border"
    return _COLORS.get(input.mode) or (usual if mode == "default" else f"mode.{mode}")


def hint_of(input: InputArea, *, again: str, cancel: str, pending: Chord) -> Line:
    """What is worth knowing about the next key.

    `again` is the action or key that counts double, `cancel` the key that cancels.
    """
    if again == "chat:cancel":
        what = "go back" if input.editor.is_empty else "clear"
        return (Span(f"{cancel} again to {what}", style("warning")),)
    if again:
        return (Span(f"{again} again to exit", style("warning")),)
    if pending:
        return (Span(f"{display(pending)} …", MUTED),)
    if input.editor.has_stash:
        return (Span("a draft is stashed", MUTED),)
    if (words := _WORDS.get(input.mode)) is not None:
        return (Span(words, style(_COLORS[input.mode])),)
    return (Span("? for keys", MUTED),) if input.editor.is_empty else ()


def vim_mode(input: InputArea) -> Line:
    """The mode that vim is in, where it is used."""
    return () if input.vim is None else (Span(f"-- {input.vim.mode} --", MUTED),)


_PREFIXES = (("/", "commands"), ("@", "files"), ("!", "shell"), ("#", "save to memory"))
_ACTIONS = (
    ("chat:submit", "send"),
    ("chat:newline", "new line"),
    ("chat:cancel", "stop, twice to clear"),
    ("chat:cycleMode", "next mode"),
    ("app:toggleTranscript", "transcript"),
    ("app:toggleTodos", "task list"),
    ("history:search", "search history"),
    ("chat:externalEditor", "edit in $EDITOR"),
    ("chat:stash", "stash the draft"),
    ("chat:undo", "undo"),
    ("chat:imagePaste", "paste an image"),
    ("chat:modelPicker", "switch the model"),
    ("app:exit", "exit"),
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
