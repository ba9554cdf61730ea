"""Help: what to type, every command, every key."""

from collections.abc import Mapping, Sequence

from bridle.frontends.tui.keymap import Keymap
from bridle.frontends.tui.render.call import tokens
from bridle.frontends.tui.render.layout import paragraph
from bridle.frontends.tui.text import Line
from bridle.frontends.tui.views.actions import RunCommand
from bridle.frontends.tui.views.key_help import keys_pane, shortcut_lines
from bridle.frontends.tui.views.list_pane import Command, ListPane
from bridle.frontends.tui.views.page import heading, pair
from bridle.frontends.tui.views.pane import Do, Pane, TextPane, nothing
from bridle.frontends.tui.views.picker import Item
from bridle.frontends.tui.views.sheet import Sheet
from bridle.types.command import Command as SlashCommand
from bridle.types.command import CommandSource

_OWN: tuple[CommandSource, ...] = ("builtin", "bundled")
_SOURCES: Mapping[CommandSource, str] = {
    "project": "Of this project",
    "user": "Yours",
    "plugin": "Of plugins",
    "mcp": "Of MCP servers",
    "package": "Of packages",
    "managed": "Set by your organisation",
    "builtin": "Built in",
    "bundled": "Skills that come with bridle",
}
_WORDS = (
    "Say what you want done, in your own words. bridle reads, changes and runs things in this folder, and "
    "asks before anything that could do harm."
)


def help_view(
    commands: Sequence[SlashCommand],
    keymap: Keymap,
    *,
    version: str = "",
    keys_file: str = "",
    do: Do = nothing,
) -> Sheet[None]:
    """Tabs for the beginning, the commands, those of others, and the keys; enter puts one in the prompt."""
    own = [each for each in commands if each.source in _OWN and not each.hidden]
    custom = [each for each in commands if each.source not in _OWN and not each.hidden]
    panes: list[tuple[str, Pane]] = [
        ("general", TextPane(lambda width: _general(keymap, width))),
        ("commands", _commands(own)),
        ("custom", _commands(custom)),
        ("keys", keys_pane(keymap, file=keys_file, do=do)),
    ]
    return Sheet("Help", panes, aside=f"bridle {version}" if version else "")


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
        empty="none yet; write one to .claude/commands/name.md",
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
