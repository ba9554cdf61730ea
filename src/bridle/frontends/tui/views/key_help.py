"""Every key and what it does."""

import re
from collections.abc import Sequence

from bridle.frontends.tui import cells
from bridle.frontends.tui.keymap import Keymap, display
from bridle.frontends.tui.render.layout import MUTED, one_line, style
from bridle.frontends.tui.text import Line, Span
from bridle.frontends.tui.views.actions import EditFile
from bridle.frontends.tui.views.list_pane import Command, ListPane
from bridle.frontends.tui.views.pane import Do, nothing
from bridle.frontends.tui.views.picker import Item

_PREFIXES = (
    ("/", "commands"),
    ("@", "files and agents"),
    ("!", "a shell command"),
    ("#", "something to remember"),
)
_OFTEN = (
    ("app:interrupt", "interrupt, twice to leave"),
    ("chat:cancel", "interrupt, twice to go back"),
    ("chat:cycleMode", "change the mode"),
    ("chat:newline", "another line"),
    ("history:search", "search earlier prompts"),
    ("app:toggleTranscript", "the whole conversation"),
    ("app:toggleTodos", "the list of things to do"),
    ("chat:externalEditor", "write in your editor"),
    ("chat:stash", "put the draft aside"),
    ("chat:imagePaste", "paste an image"),
    ("chat:modelPicker", "another model"),
    ("chat:thinkingToggle", "thinking on or off"),
    ("chat:undo", "undo"),
    ("task:background", "move to the background"),
)
_WIDE = 72
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")


def shortcut_lines(keymap: Keymap, width: int) -> list[Line]:
    """The keys that are needed often, in two columns where there is room."""
    labels = ((keymap.label(action), words) for action, words in _OFTEN)
    pairs = [*_PREFIXES, *((key, words) for key, words in labels if key)]
    columns = 2 if width >= _WIDE else 1
    size = width // columns
    entries = [_entry(key, words, size) for key, words in pairs]
    height = -(-len(entries) // columns)
    return [
        tuple(span for entry in entries[row::height] for span in cells.pad(entry, size))
        for row in range(height)
    ]


def keys_pane(keymap: Keymap, *, file: str = "", do: Do = nothing) -> ListPane[tuple[str, str, str]]:
    """All bindings by context, to be searched; those of the user are marked as they count."""
    edit: Command[tuple[str, str, str]] = Command(
        key="e", words="change them", act=lambda _, __: EditFile(file), alone=True
    )
    return ListPane(_items(keymap), do=do, commands=(edit,) if file else (), empty="no keys are bound")


def _items(keymap: Keymap) -> Sequence[Item[tuple[str, str, str]]]:
    return [
        Item(
            value=(context, " ".join(chord), action),
            label=display(chord),
            facts=(_words(action),),
            detail=action,
            group=_CAMEL.sub(" ", context),
            words=" ".join(chord),
        )
        for context, table in keymap.bindings.items()
        for chord, action in table.items()
        if action is not None
    ]


def _words(action: str) -> str:
    """`toggleShowAll` of `transcript:toggleShowAll`, in words."""
    return _CAMEL.sub(" ", action.partition(":")[2]).lower()


def _entry(key: str, words: str, width: int) -> Line:
    column = min(11, width // 2)
    lead = cells.pad((Span(one_line(key), style("info")),), column)
    return cells.truncate((*lead, Span(words, MUTED)), max(1, width - 1))
