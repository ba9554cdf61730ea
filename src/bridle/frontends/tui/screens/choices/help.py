"""Help: what to type, every command, every key."""

import re
from collections.abc import Mapping, Sequence

from bridle.frontends.tui.keymap.keymap import Keymap, display
from bridle.frontends.tui.render.call import tokens
from bridle.frontends.tui.render.layout import MUTED, one_line, paragraph, style
from bridle.frontends.tui.screens.actions import EditFile, RunCommand
from bridle.frontends.tui.style import cells
from bridle.frontends.tui.style.text import Line, Span
from bridle.frontends.tui.widgets.list_pane import Command, ListPane
from bridle.frontends.tui.widgets.page import heading, pair
from bridle.frontends.tui.widgets.pane import Do, Pane, TextPane, nothing
from bridle.frontends.tui.widgets.picker import Item
from bridle.frontends.tui.widgets.tabs import TabbedView
from bridle.types.command import Command as SlashCommand
from bridle.types.command import CommandSource

_OWN: tuple[CommandSource, ...] = ("builtin", "bundled")
_SOURCES: Mapping[CommandSource, str] = {
    "project": "Project",
    "user": "Yours",
    "plugin": "Plugins",
    "mcp": "MCP servers",
    "package": "Packages",
    "managed": "Managed by your organization",
    "builtin": "Built in",
    "bundled": "Bundled skills",
}
_WORDS = (
    "Describe a task in your own words. bridle reads files, edits them and runs commands in this folder, and "
    "asks before it changes anything."
)


def help_view(
    commands: Sequence[SlashCommand],
    keymap: Keymap,
    *,
    version: str = "",
    keys_file: str = "",
    do: Do = nothing,
) -> TabbedView[None]:
    """Tabs for the beginning, the commands, those of others, and the keys; enter puts one in the prompt."""
    own = [each for each in commands if each.source in _OWN and not each.hidden]
    custom = [each for each in commands if each.source not in _OWN and not each.hidden]
    panes: list[tuple[str, Pane]] = [
        ("general", TextPane(lambda width: _general(keymap, width))),
        ("commands", _commands(own)),
        ("custom", _commands(custom)),
        ("keys", keys_pane(keymap, file=keys_file, do=do)),
    ]
    return TabbedView("Help", panes, aside=f"bridle {version}" if version else "")


def _general(keymap: Keymap, width: int) -> list[Line]:
    return [*paragraph(_WORDS, width), (), heading("keys"), *shortcut_lines(keymap, width)]


def _commands(commands: Sequence[SlashCommand]) -> ListPane[str]:
    known = {each.name: each for each in commands}
    order = list(_SOURCES)
    ordered = sorted(commands, key=lambda each: (order.index(each.source), each.name))
    use: Command[str] = Command(
        key="enter", words="use", closes=True, act=lambda name, _: RunCommand(name) if name else None
    )
    return ListPane(
        [_item(each) for each in ordered],
        typing=True,
        details=lambda name, width: _details(known[name], width),
        accept=(use,),
        empty="none yet; add one in .claude/commands/NAME.md",
    )


def _item(command: SlashCommand) -> Item[str]:
    return Item(
        value=command.name,
        label=f"/{command.name}" + (f" {command.argument_hint}" if command.argument_hint else ""),
        detail=command.description,
        group=_SOURCES[command.source],
        words=" ".join((*command.aliases, command.origin)),
    )


def _details(command: SlashCommand, width: int) -> list[Line]:
    rows = [heading(f"/{command.name}"), *paragraph(command.description, width), ()]
    for name, value in (
        ("takes", command.argument_hint),
        ("also", ", ".join(f"/{alias}" for alias in command.aliases)),
        ("from", command.origin or _SOURCES[command.source]),
        ("costs", tokens(command.tokens) if command.tokens else ""),
    ):
        rows += pair(name, value, width, column=10) if value else []
    return rows


_PREFIXES = (
    ("/", "commands"),
    ("@", "files and agents"),
    ("!", "a shell command"),
    ("#", "save to memory"),
)
_OFTEN = (
    ("app:interrupt", "interrupt, twice to exit"),
    ("chat:cancel", "interrupt, twice to rewind"),
    ("chat:cycleMode", "change the mode"),
    ("chat:newline", "new line"),
    ("history:search", "search earlier prompts"),
    ("app:toggleTranscript", "show the transcript"),
    ("app:toggleTodos", "show the task list"),
    ("chat:externalEditor", "edit in $EDITOR"),
    ("chat:stash", "stash the draft"),
    ("chat:imagePaste", "paste an image"),
    ("chat:modelPicker", "switch the model"),
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
