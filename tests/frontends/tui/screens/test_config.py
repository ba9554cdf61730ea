from typing import Any

from bridle.commands.queries.settings import COMMON, SettingRow
from bridle.config.explain import Statement
from bridle.config.settings_table import ROWS
from bridle.frontends.tui.screens.session.config import (
    Config,
    SetSetting,
    config_view,
)
from bridle.frontends.tui.screens.session.status import StatusFacts, status_view
from bridle.frontends.tui.style.text import line
from tests.frontends.tui.screens.showing import Showing, assert_screens

_STATUS = StatusFacts(
    parts=(
        ("", (("version", "1.2.3"), ("session", "fix the login page"), ("folder", "/proj/app"))),
        ("Model", (("model", "claude-sonnet"), ("effort", "high"))),
    ),
    problems=("settings.json: color is an unknown setting",),
)
_SETTINGS = (
    SettingRow(
        key="autoCompactEnabled", kind="switch", value=True, default=True, meaning="Compact automatically"
    ),
    SettingRow(
        key="theme",
        kind="choice",
        value="dark",
        source="localSettings",
        file=".claude/settings.local.json",
        choices=("dark", "light"),
        meaning="Colors of the terminal",
        default="dark",
        statements=(
            Statement(
                source="userSettings", file="~/.claude/settings.json", line=3, value="light", wins=False
            ),
            Statement(
                source="localSettings", file=".claude/settings.local.json", line=2, value="dark", wins=True
            ),
        ),
    ),
    SettingRow(key="cleanupPeriodDays", kind="number", value=30),
    SettingRow(key="permissions.defaultMode", kind="choice", value=None, choices=("default", "plan")),
    SettingRow(key="language", kind="text", value=None),
    SettingRow(key="claudeMdExcludes", kind="list", value=["a"]),
    SettingRow(key="sandbox.fast", kind="switch", value=True, source="policySettings"),
    SettingRow(key="voice", kind="switch", value=None, no_effect="not in this version"),
)
_DATA = Config(status=_STATUS, settings=_SETTINGS, usage=lambda width: [line("cost $1.25"[:width])])


def _shown(asked: list[Any] | None = None, **options: Any) -> Showing:
    return Showing(config_view(_DATA, do=([] if asked is None else asked).append, **options))


def test_screens():
    assert_screens("config", config_view(_DATA))
    assert_screens("config-status", config_view(_DATA, tab="status"))
    assert_screens("status", status_view(_STATUS))


def test_a_switch_is_switched_with_enter_or_space():
    asked: list[Any] = []
    _shown(asked).press("j", "j", "j", "enter", "space")
    assert asked == [SetSetting("autoCompactEnabled", False)] * 2


def test_enter_on_a_choice_opens_the_choices_at_the_current_one_and_writes_nothing():
    asked: list[Any] = []
    shown = _shown(asked).type("/theme").press("enter")
    assert asked == [] and shown.selected == "dark" and "default (dark)" in shown.text
    shown.press("down", "enter")
    assert asked == [SetSetting("theme", "light", "local")]


def test_the_first_choice_is_the_default():
    asked: list[Any] = []
    _shown(asked).type("/theme").press("enter", "up", "enter")
    assert asked == [SetSetting("theme", None, "local")]


def test_changes_are_undone_the_newest_first():
    asked: list[Any] = []
    shown = _shown(asked).press("j", "j", "j", "enter")
    assert "u undo" in shown.text
    shown.press("down", "u", "u")
    assert asked == [SetSetting("autoCompactEnabled", False), SetSetting("autoCompactEnabled", None)]


def test_undo_writes_the_value_that_was_there():
    asked: list[Any] = []
    shown = _shown(asked).type("/theme").press("enter", "down", "enter", "escape", "u")
    assert shown.closed is None
    assert asked == [SetSetting("theme", "light", "local"), SetSetting("theme", "dark", "local")]


def test_the_details_say_meaning_values_default_and_source():
    text = Showing(config_view(_DATA), 120, 40).type("/theme").text
    for words in ("Colors of the terminal.", "values     dark, light", "default    dark", "source     local"):
        assert words in text, words


def test_words_of_the_meaning_are_searched():
    assert _shown().type("/compact auto").selected.startswith("autoCompactEnabled")


def test_common_settings_come_first_and_those_without_effect_last():
    keys = [row.key for row in sorted(_SETTINGS, key=lambda row: row.rank)]
    assert keys[:3] == ["permissions.defaultMode", "theme", "language"] and keys[-1] == "voice"
    assert {*COMMON} <= {*ROWS} and not [key for key in COMMON if ROWS[key].no_effect]


def test_a_number_must_be_one():
    asked: list[Any] = []
    shown = _shown(asked).press("j", "j", "j", "j", "enter").type("x").press("enter")
    assert "not a number" in shown.text
    shown.press("backspace", "0").press("enter")
    assert asked == [SetSetting("cleanupPeriodDays", 300)]


def test_texts_and_lists_are_typed_and_an_empty_text_means_the_default():
    asked: list[Any] = []
    shown = _shown(asked).press("j", "j", "enter").type("German").press("enter", "enter", "enter")
    shown.press("j", "j", "j", "enter").type(", b").press("enter")
    assert asked == [
        SetSetting("language", "German"),
        SetSetting("language", None),
        SetSetting("claudeMdExcludes", ["a", "b"]),
    ]


def test_a_locked_value_says_who_locked_it_and_stays():
    asked: list[Any] = []
    shown = _shown(asked).press("end", "up", "enter")
    assert "set by your organization" in shown.text
    assert asked == []


def test_backspace_takes_a_value_back_to_its_default_where_one_is_set():
    asked: list[Any] = []
    _shown(asked).press("backspace", "down", "backspace")
    assert asked == [SetSetting("theme", None, "local")]


def test_every_source_of_a_value_is_told_with_its_place():
    text = Showing(config_view(_DATA), 120, 40).press("down").text
    assert "✓ local: dark" in text
    assert ".claude/settings.local.json:2" in text
    assert "user: light" in text


def test_keys_with_a_first_part_come_behind_the_others_in_groups():
    shown = _shown().press("end", "up")
    assert shown.selected.startswith("sandbox.fast")
    assert shown.press("up").selected.startswith("claudeMdExcludes")


def test_search_finds_keys():
    assert _shown().press("/").type("autocomp").selected.startswith("autoCompactEnabled")
    assert _shown(query="cleanup").selected.startswith("cleanupPeriodDays")


def test_the_tabs_lead_to_status_and_usage():
    shown = _shown().press("tab")
    assert "cost $1.25" in shown.text
    assert "fix the login page" in shown.press("tab").text
    assert "color is an unknown setting" in shown.text
