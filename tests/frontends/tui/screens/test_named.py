from pathlib import Path
from typing import Any

import pytest

from bridle.frontends.tui.keymap.keymap import default_keymap
from bridle.frontends.tui.screens.base import OpenScreen, ScreenContext
from bridle.frontends.tui.screens.catalog import _VIEWS, named_view
from bridle.frontends.tui.screens.choices.model import ChooseEffort, ChooseModel
from bridle.frontends.tui.screens.choices.output_style import ChooseStyle
from bridle.frontends.tui.screens.choices.theme import ChooseTheme
from bridle.frontends.tui.screens.commands import commands_for
from bridle.frontends.tui.screens.conversation.resume import Resume
from bridle.frontends.tui.screens.extensions.editors import LinkEditor, UnlinkEditor
from bridle.frontends.tui.screens.extensions.mcp import ReconnectServer, ToggleServer
from bridle.frontends.tui.screens.extensions.memory import SetAutoMemory
from bridle.frontends.tui.screens.extensions.sandbox import SetLeaving, SetSandbox
from bridle.frontends.tui.screens.session.config import SetSetting
from bridle.frontends.tui.screens.session.goal import SetGoal
from bridle.frontends.tui.screens.session.permissions import AddFolder, AddRule, RemoveRule
from bridle.frontends.tui.screens.session.pins import AddPin, RemovePin
from bridle.frontends.tui.screens.session.tasks import StopTask
from bridle.providers.scripted import says
from bridle.types.command import Says, Shows
from tests.fakes.commanded import Commanded
from tests.frontends.tui.screens.showing import SIZES, Showing
from tests.tables import table

_DONE: tuple[tuple[Any, tuple[str, ...]], ...] = (
    (AddRule("allow", "Bash(git *)", "localSettings"), ("/permissions allow Bash(git *) local",)),
    (RemoveRule("deny", "Read(.env)", "userSettings"), ("/permissions remove Read(.env)",)),
    (AddFolder("/tmp", "session"), ("/add-dir /tmp",)),
    (SetSetting("autoCompactEnabled", False), ("/config autoCompactEnabled=false",)),
    (SetSetting("language", "two words"), ("/config 'language=two words'",)),
    (SetSetting("theme", None), ("/config theme=default",)),
    (ChooseModel(id="opus", effort="high", session_only=True), ("/model opus s", "/effort high")),
    (ChooseEffort("auto"), ("/effort auto",)),
    (ChooseTheme("light"), ("/theme light",)),
    (ChooseTheme("light", syntax=True), ("/theme light", "/config syntaxHighlightingDisabled=default")),
    (ChooseStyle("terse"), ("/output-style terse",)),
    (ReconnectServer("files"), ("/mcp reconnect files",)),
    (ToggleServer("files", False), ("/mcp disable files",)),
    (StopTask("b1"), ("/tasks stop b1",)),
    (Resume(session_id="x"), ("/resume x",)),
    (Resume(session_id="x", command="cd /y && bridle --resume x"), ()),
    (AddPin("be brief"), ("/pin add be brief",)),
    (RemovePin("p1"), ("/pin remove p1",)),
    (SetGoal(""), ("/goal clear",)),
    (LinkEditor(4711), ("/ide 4711",)),
    (UnlinkEditor(), ("/ide off",)),
    (SetAutoMemory(True), ("/memory on",)),
    (SetSandbox("off"), ("/sandbox off",)),
    (SetSandbox("auto"), ("/sandbox on", "/config --local sandbox.autoAllowBashIfSandboxed=true")),
    (SetLeaving(False), ("/config --local sandbox.allowUnsandboxedCommands=false",)),
    (None, ()),
)


async def _open(name: str, commanded: Commanded, **options: Any) -> OpenScreen:
    around = ScreenContext(keymap=default_keymap(), clock=lambda: 1_800_000_000.0, **options)
    named = await named_view(Shows(view=name), commanded.context, around)
    assert named is not None
    return named


@pytest.mark.parametrize("name", _VIEWS)
async def test_every_named_view_opens_on_a_real_session_and_can_be_renewed(name: str, tmp_path: Path):
    commanded = Commanded(tmp_path, [says("Hello **there**.")])
    await commanded.prompt("say hello")
    named = await _open(name, commanded)
    for width, height in SIZES:
        assert Showing(named.view, width, height).text
    await named.renew()
    assert Showing(named.view).press("escape").value is None


async def test_a_name_without_a_view_opens_nothing(tmp_path: Path):
    around = ScreenContext(keymap=default_keymap(), clock=lambda: 0.0)
    assert await named_view(Shows(view="nothing"), Commanded(tmp_path).context, around) is None


@table(("wanted", "lines"), _DONE)
def test_what_a_view_asks_for_is_a_command(wanted: Any, lines: tuple[str, ...]):
    assert commands_for(wanted) == lines


async def test_a_setting_that_is_switched_in_the_view_is_saved_and_shown(tmp_path: Path):
    commanded = Commanded(tmp_path, settings="{}")
    asked: list[Any] = []
    named = await _open("config", commanded, do=asked.append)
    shown = Showing(named.view, 120, 40).press("/").type("autoCompactEnabled").press("enter")
    for line in commands_for(asked[0]):
        assert isinstance(await commanded.run(line), Says)
    await named.renew()
    assert '"autoCompactEnabled"' in commanded.user_settings()
    assert "✓ user: off" in shown.text


async def test_a_rule_that_is_added_in_the_view_counts_and_is_shown(tmp_path: Path):
    commanded = Commanded(tmp_path)
    asked: list[Any] = []
    named = await _open("permissions", commanded, do=asked.append)
    shown = Showing(named.view).press("a").type("Bash(make *)").press("enter", "end", "enter")
    for line in commands_for(asked[0]):
        await commanded.run(line)
    await named.renew()
    assert shown.selected.startswith("Bash(make *)")
    assert [rule.content for rule in commanded.session.state.rules] == ["make *"]


async def test_the_window_of_a_session_adds_up(tmp_path: Path):
    commanded = Commanded(tmp_path, [says("Hello.")])
    await commanded.prompt("say hello")
    text = Showing((await _open("context", commanded)).view).text
    assert "System prompt" in text
    assert "free" in text


async def test_rewind_offers_the_prompts_of_the_session(tmp_path: Path):
    commanded = Commanded(tmp_path, [says("One."), says("Two.")])
    await commanded.prompt("first thing", "second thing")
    shown = Showing((await _open("rewind", commanded)).view)
    assert shown.selected.startswith("second thing")
    assert shown.press("up").selected.startswith("first thing")


async def test_the_newest_answer_is_the_first_to_copy(tmp_path: Path):
    commanded = Commanded(tmp_path, [says("One."), says("Two.")])
    await commanded.prompt("a", "b")
    assert Showing((await _open("copy", commanded)).view).press("enter").value.text == "Two."
