"""Rules find the calls of hosts, servers and other tools that they name."""

import pytest

from bridle.types.permission import Allow, Ask, Deny
from tests.permissions.cases import other, rules
from tests.tables import table


@table(
    ("rule", "host", "covered"),
    [
        ("WebFetch", "anything.org", True),
        ("WebFetch(domain:example.com)", "example.com", True),
        ("WebFetch(domain:Example.COM.)", "example.com", True),
        ("WebFetch(domain:example.com)", "EXAMPLE.com.", True),
        ("WebFetch(domain:example.com)", "www.example.com", False),
        ("WebFetch(domain:example.com)", "notexample.com", False),
        ("WebFetch(domain:example.com)", "example.com.evil.org", False),
        ("WebFetch(domain:*.example.com)", "a.example.com", True),
        ("WebFetch(domain:*.example.com)", "a.b.example.com", True),
        ("WebFetch(domain:*.example.com)", "example.com", False),
        ("WebFetch(domain:*.example.com)", "aexample.com", False),
        ("WebFetch(domain:api-*.example.com)", "api-1.example.com", True),
        ("WebFetch(domain:api-*.example.com)", "api-1.x.example.com", False),
        ("WebFetch(domain:example.*)", "example.org", True),
        ("WebFetch(domain:example.*)", "example.co.uk", False),
        ("WebFetch(domain:*)", "anything.org", True),
        ("WebFetch(https://example.com)", "example.com", False),
    ],
)
def test_hosts_are_compared_exactly(rule: str, host: str, covered: bool):
    """S45"""
    found = other("WebFetch", subject=f"domain:{host}", weighed=rules(allow=(rule,)), read_only=True)
    assert isinstance(found, Allow if covered else Ask)


@pytest.mark.parametrize(
    ("rule", "tool", "covered"),
    [
        ("mcp__git", "mcp__git__push", True),
        ("mcp__git", "mcp__github__push", False),
        ("mcp__git__*", "mcp__git__push", True),
        ("mcp__git__*", "mcp__github__push", False),
        ("mcp__git__push", "mcp__git__push", True),
        ("mcp__git__push", "mcp__git__push_force", False),
        ("mcp__git__get_*", "mcp__git__get_x", True),
        ("mcp__git__get_*", "mcp__git__set_x", False),
    ],
)
def test_servers_are_ruled_by_name(rule: str, tool: str, covered: bool):
    """S44"""
    assert isinstance(other(tool, weighed=rules(allow=(rule,))), Allow if covered else Ask)
    assert isinstance(other(tool, weighed=rules(allow=(tool,), deny=(rule,))), Deny if covered else Allow)


@pytest.mark.parametrize("rule", ["*", "mcp__*"])
def test_a_star_may_deny_every_tool(rule: str):
    assert isinstance(other("mcp__a__b", weighed=rules(allow=("mcp__a",), deny=(rule,))), Deny)


def test_deny_and_ask_rules_may_name_a_field_of_the_input():
    weighed = rules(
        allow=("Bash", "Agent"), deny=("Agent(model:opus*)",), ask=("Bash(run_in_background:true)",)
    )
    assert isinstance(other("Agent", weighed=weighed, input={"model": "opus-4"}), Deny)
    assert isinstance(other("Agent", weighed=weighed, input={"model": "haiku"}), Allow)
    assert isinstance(other("Agent", weighed=weighed), Allow)
    assert isinstance(other("Bash", subject="ls", weighed=weighed, input={"run_in_background": True}), Ask)
    assert isinstance(other("Bash", subject="ls", weighed=weighed, input={"run_in_background": False}), Allow)
    assert isinstance(
        other("mcp__a__b", weighed=rules(allow=("mcp__a__b(model:opus)",)), input={"model": "opus"}), Ask
    )


def test_other_tools_match_their_subject():
    assert isinstance(other("Skill", subject="review pr", weighed=rules(allow=("Skill(review *)",))), Allow)
    assert isinstance(other("Agent", subject="Explore", weighed=rules(deny=("Task(Explore)",))), Deny)
