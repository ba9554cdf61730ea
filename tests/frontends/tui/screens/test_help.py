from typing import Any

from bridle.frontends.tui.keymap.keymap import Keymap, default_keymap
from bridle.frontends.tui.screens.actions import EditFile, RunCommand
from bridle.frontends.tui.screens.choices.help import help_view, keys_pane, shortcut_lines
from bridle.frontends.tui.style.text import text_of
from bridle.frontends.tui.widgets.tabs import TabbedView
from bridle.types.command import Command, CommandSource, Says
from tests.frontends.tui.screens.showing import Showing, assert_screens


def _command(name: str, description: str, source: CommandSource = "builtin", **more: Any) -> Command:
    async def run(_: str, __: Any) -> Says:
        return Says()

    return Command(name=name, description=description, run=run, source=source, **more)


_COMMANDS = (
    _command("help", "Show help."),
    _command("compact", "Sum up the conversation.", argument_hint="[focus]", aliases=("shorten",)),
    _command("secret", "Nobody sees this.", hidden=True),
    _command("deploy", "Ship it.", "project", origin=".claude/commands/deploy.md"),
    _command("mcp__files__scan", "Scan files.", "mcp", origin="files"),
)


def _help(**options: Any) -> Showing:
    return Showing(help_view(_COMMANDS, default_keymap(), version="1.2.3", **options))


def _keys(keymap: Keymap, **options: Any) -> TabbedView[None]:
    return TabbedView("Keys", [("", keys_pane(keymap, **options))])


def _shortcuts(keymap: Keymap) -> str:
    return "\n".join(text_of(line) for line in shortcut_lines(keymap, 80))


def test_screens():
    assert_screens("help", _help().view)
    assert_screens("help-commands", _help().press("tab").view)


def test_a_command_is_found_while_typing_and_put_into_the_prompt():
    shown = _help().press("tab").type("shorten")
    assert shown.selected.startswith("/compact [focus]")
    assert shown.press("enter").value == RunCommand("compact")


def test_hidden_commands_are_not_shown_and_custom_ones_are_grouped_by_source():
    shown = _help().press("tab")
    assert "secret" not in shown.text
    custom = shown.press("tab").text
    assert custom.index("Project") < custom.index("/deploy") < custom.index("MCP servers")


def test_the_keys_shown_are_those_that_count():
    usual = default_keymap()
    changed = Keymap({**usual.bindings, "Global": {("ctrl+y",): "app:toggleTranscript"}})
    assert "ctrl+o" in _shortcuts(usual)
    text = _shortcuts(changed)
    assert "ctrl+o" not in text
    assert "ctrl+y" in text


def test_keys_are_searched_by_what_they_do():
    shown = Showing(_keys(default_keymap())).press("/").type("stash")
    assert shown.selected.startswith("ctrl+s stash")


def test_the_file_of_keys_can_be_opened():
    asked: list[Any] = []
    Showing(_keys(default_keymap(), file="/k.json", do=asked.append)).press("e")
    assert asked == [EditFile("/k.json")]


def test_unbound_keys_are_left_out():
    assert "no keys are bound" in Showing(_keys(Keymap({"Chat": {("x",): None}}))).text
