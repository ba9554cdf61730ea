from typing import Any

import pytest

from bridle.commands.queries.rules import DenialRow, FolderRow, RuleRow, recent_denials
from bridle.frontends.tui.screens.session.permissions import (
    AddFolder,
    AddRule,
    Permissions,
    RemoveFolder,
    RemoveRule,
    permissions_view,
)
from bridle.permissions.rules import parse, write
from bridle.types.permission import Effect
from bridle.types.turn import Denial, Outcome
from bridle.types.usage import Usage
from tests.frontends.tui.screens.showing import Showing, assert_screens

_DATA = Permissions(
    mode="acceptEdits",
    rules=(
        RuleRow(
            effect=Effect.ALLOW,
            text="Bash(git status)",
            source="userSettings",
            file="~/.claude/settings.json",
        ),
        RuleRow(effect=Effect.ALLOW, text="WebFetch(domain:example.org)", source="localSettings"),
        RuleRow(effect=Effect.ALLOW, text="Edit", source="policySettings", fault="a deny rule covers it"),
        RuleRow(effect=Effect.DENY, text="Read(.env)", source="projectSettings"),
    ),
    folders=(FolderRow(path="/proj/app", source=""), FolderRow(path="/proj/lib", source="localSettings")),
    denials=(
        DenialRow(tool="Bash", subject='{"command":"git push --force"}', rule="Bash(git push --force)"),
    ),
)


def _shown(asked: list[Any] | None = None, **options: Any) -> Showing:
    return Showing(permissions_view(_DATA, do=([] if asked is None else asked).append, **options))


def test_screens():
    assert_screens("permissions", permissions_view(_DATA))
    assert_screens("permissions-denials", permissions_view(_DATA, tab=4))


def test_tabs_change_with_tab_and_arrows_in_both_directions():
    shown = _shown()
    assert "Bash(git status)" in shown.text
    assert "no rules yet" in shown.press("tab").text
    assert "Read(.env)" in shown.press("right").text
    assert "no rules yet" in shown.press("left").text
    assert "git push --force" in shown.press("shift+tab", "shift+tab").text


def test_a_rule_is_added_with_its_destination():
    asked: list[Any] = []
    shown = _shown(asked).press("a").type("Bash(make *)").press("enter", "down", "down", "enter")
    assert asked == [AddRule("allow", "Bash(make *)", "userSettings")]
    assert "Bash(git status)" in shown.text


def test_an_empty_rule_is_refused_and_escape_asks_for_nothing():
    asked: list[Any] = []
    shown = _shown(asked).press("a", "enter")
    assert "type a rule" in shown.text
    shown.press("escape", "a").type("x").press("enter", "escape")
    assert asked == []
    assert shown.closed is None


def test_a_rule_is_removed_after_a_yes():
    asked: list[Any] = []
    shown = _shown(asked).press("d", "n", "d", "y")
    assert asked == [RemoveRule("allow", "Bash(git status)", "userSettings")]
    assert shown.press("down", "down").selected.startswith("Edit")


def test_a_rule_of_the_organization_cannot_be_removed():
    asked: list[Any] = []
    shown = _shown(asked).press("down", "down", "d", "y")
    assert asked == []
    assert "d remove" not in shown.text


def test_folders_are_added_and_removed_but_not_the_working_folder():
    asked: list[Any] = []
    _shown(asked, tab=3).press("d", "down", "d", "y", "a").type("/tmp").press("enter", "end", "enter")
    assert asked == [RemoveFolder("/proj/lib", "localSettings"), AddFolder("/tmp", "session")]


def test_a_denied_call_can_be_allowed_from_now_on():
    asked: list[Any] = []
    _shown(asked, tab=4).press("a", "enter", "enter")
    assert asked == [AddRule("allow", "Bash(git push --force)", "localSettings")]


@pytest.mark.parametrize(
    ("tool", "input", "rule"),
    [
        ("Bash", {"command": "rm *.o"}, r"Bash(rm \\*.o)"),
        ("Bash", {"command": "a\nb"}, ""),
        ("Edit", {"file_path": "/srv/x (1)"}, r"Edit(//srv/x \(1\))"),
        ("WebFetch", {"url": "https://example.org/x"}, "WebFetch(domain:example.org)"),
        ("WebFetch", {"url": "https://[x"}, ""),
        ("mcp__s__t", {"text": "x"}, "mcp__s__t"),
    ],
)
def test_the_rule_for_a_denied_call_allows_little_else(tool: str, input: dict[str, Any], rule: str):
    outcome = Outcome(
        subtype="success",
        reason="completed",
        is_error=False,
        num_turns=1,
        duration_ms=1,
        duration_api_ms=1,
        usage=Usage(),
        total_cost_usd=0,
        spend={},
        denials=(Denial(tool, "toolu_1", input),),
    )
    (row,) = recent_denials(outcome)
    assert row.rule == rule
    assert not rule or write(parse(rule, Effect.ALLOW)) == rule


def test_new_data_appears_in_the_open_view():
    view = permissions_view(_DATA)
    shown = Showing(view)
    view.show(Permissions(rules=(RuleRow(effect=Effect.ALLOW, text="Grep", source="session"),)))
    assert shown.selected == "Grep this session"


def test_enter_tells_where_a_rule_stands():
    assert "~/.claude/settings.json" in _shown().press("enter").text
    assert _shown().press("enter", "escape").selected.startswith("Bash(git status)")


def test_slash_searches_and_letters_are_letters_then():
    shown = _shown().press("/").type("add")
    assert "nothing matches" in shown.text
    assert shown.press("escape").selected.startswith("Bash(git status)")
    assert shown.press("escape").value is None
