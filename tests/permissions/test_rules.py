"""Rules are read as people write them, and written so that they read back the same."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bridle.permissions.rules import Origin, from_value, parse, rules_from, split_rules, write
from bridle.types.permission import Effect, Rule
from tests.tables import table


@table(
    ("text", "tool", "content"),
    [
        ("Bash", "Bash", None),
        ("  Read  ", "Read", None),
        ("Bash(*)", "Bash", None),
        ("Bash(git log:*)", "Bash", "git log:*"),
        ("Edit(/src/**/*.ts)", "Edit", "/src/**/*.ts"),
        ('Bash(python -c "print(1)")', "Bash", 'python -c "print(1)"'),
        (r"Bash(find . \( -name a \))", "Bash", "find . ( -name a )"),
        (r"Bash(grep \d)", "Bash", r"grep \d"),
        ("WebFetch(domain:example.com)", "WebFetch", "domain:example.com"),
        ("mcp__github", "mcp__github", None),
        ("mcp__github__*", "mcp__github__*", None),
        ("Task", "Agent", None),
        ("Task(Explore)", "Agent", "Explore"),
        ("KillShell", "TaskStop", None),
    ],
)
def test_a_rule_is_a_tool_with_or_without_content(text: str, tool: str, content: str | None):
    """S12"""
    assert parse(text, Effect.ALLOW, "userSettings") == Rule(Effect.ALLOW, tool, content, "userSettings")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "  ",
        "Bash(",
        "Bash)",
        "Bash()",
        "Bash( )",
        "(ls)",
        "Bash(ls) x",
        "Bash(ls\\)",
        "a b",
        "Read,Write",
    ],
)
def test_what_is_no_rule_is_refused(text: str):
    with pytest.raises(ValueError):
        parse(text, Effect.DENY, "session")


@pytest.mark.parametrize("text", ["*", "mcp__*", "mcp__*__get", "B*sh", "*__x"])
def test_an_open_star_may_deny_but_not_allow(text: str):
    assert parse(text, Effect.DENY, "session").tool == text
    assert parse(text, Effect.ASK, "session").tool == text
    with pytest.raises(ValueError):
        parse(text, Effect.ALLOW, "session")


@settings(deadline=None)
@given(st.text(min_size=1).filter(lambda content: bool(content.strip()) and content != "*"))
def test_a_written_rule_reads_back_the_same(content: str):
    rule = Rule(Effect.DENY, "Bash", content, "cliArg")
    assert parse(write(rule), Effect.DENY, "cliArg") == rule


@settings(deadline=None)
@given(st.text())
def test_no_text_makes_the_parser_fail_in_another_way(text: str):
    try:
        parse(text, Effect.DENY, "session")
    except ValueError as error:
        assert str(error).endswith(".")
    split_rules(text)


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("Bash(git log:*),Read Write", ("Bash(git log:*)", "Read", "Write")),
        ("Read", ("Read",)),
        ("", ()),
        (" , Read ,, Write ", ("Read", "Write")),
        ("Bash(a, b c),Bash(d (e f) g)", ("Bash(a, b c)", "Bash(d (e f) g)")),
        (r"Bash(echo \) x) Read", (r"Bash(echo \) x)", "Read")),
        ("Read\nEdit(a b)\tWrite", ("Read", "Edit(a b)", "Write")),
        ("Read) Write", ("Read)", "Write")),
    ],
)
def test_a_list_is_taken_apart_outside_parentheses(text: str, pieces: tuple[str, ...]):
    assert split_rules(text) == pieces


def test_settings_give_rules_and_a_sentence_about_each_that_cannot_be_used():
    permissions = {
        "allow": ["Bash(ls:*)", "mcp__*", "Write(src/**)", "mcp__s__t(x)", 7],
        "deny": ["Read(.env)", "Bash(", "Bash(command:rm *)", "Bash(run_in_background:true)"],
        "ask": "Bash",
        "defaultMode": "plan",
    }

    lines = {(Effect.ALLOW, "Bash(ls:*)"): 4, (Effect.DENY, "Bash("): 9}
    origin = Origin(source="projectSettings", file="/p/settings.json", lines=lines)

    rules, problems = rules_from(permissions, origin)

    assert rules == (
        Rule(Effect.ALLOW, "Bash", "ls:*", "projectSettings", "/p/settings.json", 4),
        Rule(Effect.DENY, "Read", ".env", "projectSettings", "/p/settings.json"),
        Rule(Effect.DENY, "Bash", "run_in_background:true", "projectSettings", "/p/settings.json"),
    )
    assert len(problems) == 7
    assert any("Edit(src/**)" in problem for problem in problems)
    assert any(problem.startswith("/p/settings.json:9: ") for problem in problems)


def test_settings_without_permissions_give_no_rules():
    origin = Origin(source="userSettings")
    assert rules_from({}, origin) == ((), ())
    assert rules_from({"allow": None}, origin) == ((), ())


@pytest.mark.parametrize("text", ["Bash", "Bash(git log:*)", "Edit(a (b))", "mcp__s__t"])
def test_a_rule_is_read_from_an_update(text: str):
    rule = parse(text, Effect.ALLOW, "localSettings")
    value = {"toolName": rule.tool} | ({} if rule.content is None else {"ruleContent": rule.content})
    assert from_value(value, Effect.ALLOW, "localSettings") == rule


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"toolName": 7},
        {"toolName": "Bash", "ruleContent": 7},
        {"toolName": "*"},
        {"toolName": "mcp__*"},
        {"toolName": "Write", "ruleContent": "src/**"},
    ],
)
def test_an_update_cannot_carry_what_is_no_usable_rule(value: dict[str, Any]):
    with pytest.raises(ValueError):
        from_value(value, Effect.ALLOW, "session")
