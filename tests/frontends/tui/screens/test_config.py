from typing import Any

from bridle.commands.queries.settings import SettingRow
from bridle.config.explain import Statement
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
    problems=("settings.json: colour is no key that bridle knows",),
)
_SETTINGS = (
    SettingRow(key="autoCompactEnabled", kind="switch", value=True),
    SettingRow(
        key="theme",
        kind="choice",
        value="dark",
        source="localSettings",
        file=".claude/settings.local.json",
        choices=("dark", "light"),
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
    SettingRow(key="sandbox.enabled", kind="switch", value=True, source="policySettings"),
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
    _shown(asked).press("enter", "space")
    assert asked == [SetSetting("autoCompactEnabled", False)] * 2


def test_a_choice_is_chosen_from_a_list():
    asked: list[Any] = []
    _shown(asked).press("down", "enter", "down", "enter")
    assert asked == [SetSetting("theme", "light")]


def test_a_number_must_be_one():
    asked: list[Any] = []
    shown = _shown(asked).press("down", "down", "enter").type("x").press("enter")
    assert "not a number" in shown.text
    shown.press("backspace", "0").press("enter")
    assert asked == [SetSetting("cleanupPeriodDays", 300)]


def test_texts_and_lists_are_typed_and_an_empty_text_means_the_default():
    asked: list[Any] = []
    shown = _shown(asked).press("j", "j", "j", "enter").type("German").press("enter", "enter", "enter")
    shown.press("j", "enter").type(", b").press("enter")
    assert asked == [
        SetSetting("language", "German"),
        SetSetting("language", None),
        SetSetting("claudeMdExcludes", ["a", "b"]),
    ]


def test_a_locked_value_says_who_locked_it_and_stays():
    asked: list[Any] = []
    shown = _shown(asked).press("end", "enter")
    assert "set by your organisation" in shown.text
    assert asked == []


def test_backspace_takes_a_value_back_to_its_default_where_one_is_set():
    asked: list[Any] = []
    _shown(asked).press("backspace", "down", "backspace")
    assert asked == [SetSetting("theme", None)]


def test_every_source_of_a_value_is_told_with_its_place():
    text = Showing(config_view(_DATA), 120, 40).press("down").text
    assert "✓ localSettings: dark" in text
    assert ".claude/settings.local.json:2" in text
    assert "userSettings: light" in text


def test_keys_with_a_first_part_come_behind_the_others_in_groups():
    shown = _shown().press("end")
    assert shown.selected.startswith("sandbox.enabled")
    assert shown.press("up").selected.startswith("permissions.defaultMode")


def test_search_finds_keys():
    assert _shown().press("/").type("autocomp").selected.startswith("autoCompactEnabled")
    assert _shown(query="cleanup").selected.startswith("cleanupPeriodDays")


def test_the_tabs_lead_to_status_and_usage():
    shown = _shown().press("tab")
    assert "cost $1.25" in shown.text
    assert "fix the login page" in shown.press("tab").text
    assert "colour is no key" in shown.text
