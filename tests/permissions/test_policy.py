"""One function decides: deny beats ask beats allow, and what cannot be weighed is never allowed."""

from typing import Any

import pytest

from bridle.permissions.policy import decide
from bridle.permissions.rules import parse
from bridle.types.permission import MODES, Allow, Ask, Case, Decision, Deny, Effect, Mode
from tests.permissions.cases import CWD, bash, file_call, other, rules


@pytest.mark.parametrize("mode", MODES)
def test_deny_beats_ask_beats_allow_in_every_mode(mode: Mode):
    """S2"""
    everything = rules(allow=("Bash", "Bash(ls)"), ask=("Bash(ls)",), deny=("Bash(ls:*)",))
    assert isinstance(bash("ls", everything, mode), Deny)
    asked = bash("ls", rules(allow=("Bash",), ask=("Bash(ls)",)), mode)
    assert isinstance(asked, Deny if mode == "dontAsk" else Ask)


def test_the_deciding_rule_is_named():
    """S1"""
    (rule,) = rules(deny=("Bash(rm:*)",))
    assert bash("rm -rf x", (rule,)) == Deny("denied by rule Bash(rm:*)", "rule", rule)


@pytest.mark.parametrize(
    ("mode", "tool", "expected"),
    [
        ("default", "Read", Allow),
        ("default", "Edit", Ask),
        ("acceptEdits", "Edit", Allow),
        ("acceptEdits", "Write", Allow),
        ("acceptEdits", "NotebookEdit", Allow),
        ("acceptEdits", "Read", Allow),
        ("plan", "Read", Allow),
        ("plan", "Edit", Deny),
        ("bypassPermissions", "Edit", Allow),
        ("dontAsk", "Read", Allow),
        ("dontAsk", "Edit", Deny),
        ("auto", "Edit", Ask),
    ],
)
def test_modes_decide_about_files_inside(mode: Mode, tool: str, expected: type[Decision]):
    assert isinstance(file_call(tool, f"{CWD}/a.py", mode=mode), expected)


@pytest.mark.parametrize(
    ("mode", "expected"),
    [("default", Ask), ("acceptEdits", Ask), ("plan", Deny), ("bypassPermissions", Allow), ("dontAsk", Deny)],
)
def test_modes_decide_about_commands(mode: Mode, expected: type[Decision]):
    assert isinstance(bash("make", mode=mode), expected)


@pytest.mark.parametrize("tool", ["TodoWrite", "AskUserQuestion", "TaskOutput", "TaskStop"])
@pytest.mark.parametrize("mode", MODES)
def test_tools_without_effect_are_never_asked_about(tool: str, mode: Mode):
    assert isinstance(other(tool, mode=mode), Allow)
    assert isinstance(other(tool, mode=mode, weighed=rules(deny=(tool,))), Deny)


@pytest.mark.parametrize("mode", ["default", "plan", "acceptEdits"])
def test_a_read_only_call_that_names_no_file_is_asked_about(mode: Mode):
    assert isinstance(other("WebFetch", subject="domain:example.com", read_only=True, mode=mode), Ask)


def test_a_command_that_only_reads_is_free_inside_and_without_files():
    """S15"""
    assert isinstance(file_call("Bash", f"{CWD}/a"), Allow)
    assert isinstance(file_call("Bash", "/etc/passwd"), Ask)
    assert isinstance(other("Bash", subject="pwd", read_only=True), Allow)
    assert isinstance(other("Bash", subject="pwd", read_only=True, weighed=rules(ask=("Bash(pwd)",))), Ask)
    assert isinstance(file_call("Bash", f"{CWD}/.env", weighed=rules(deny=("Read(.env)",))), Deny)


def test_hooks_may_deny_and_ask_but_not_overrule():
    hooked = Case(
        tool="Bash", input={}, subject="ls", read_only=False, cwd=CWD, roots=(CWD,), hook=Allow("hook")
    )
    assert decide(hooked) == Allow("hook")
    for text, effect, expected in (("Bash", Effect.DENY, Deny), ("Bash", Effect.ASK, Ask)):
        case = Case(
            tool="Bash",
            input={},
            subject="ls",
            read_only=False,
            cwd=CWD,
            rules=(parse(text, effect, "session"),),
            hook=Allow("hook"),
        )
        assert isinstance(decide(case), expected)
    path = f"{CWD}/a"
    assert file_call("Read", path, mode="bypassPermissions", hook=Deny("no")) == Deny("no")
    assert file_call("Read", path, mode="bypassPermissions", hook=Ask("sure?")) == Ask("sure?")
    assert isinstance(file_call("Edit", path, mode="plan", hook=Allow("hook")), Deny)


def test_what_is_too_long_or_holds_control_characters_is_never_allowed():
    """S3"""
    weighed = rules(allow=("Bash", "Edit"), deny=("Bash(rm:*)",))
    assert isinstance(bash("echo " + "a" * 10_000, weighed), Ask)
    assert isinstance(bash("echo " + "a" * 10_000 + "; rm x", weighed), Deny)
    for character in "\x00\x1b\r\x7f\x85":
        assert isinstance(bash(f"echo {character}", weighed), Ask)
        assert isinstance(file_call("Edit", f"{CWD}/{character}", weighed=weighed, mode="acceptEdits"), Ask)
    assert isinstance(bash("echo a\n\techo b", weighed), Allow)


def test_what_fails_inside_is_asked_about():
    """S3"""
    # A subject of the wrong type stands for any fault of ours.
    broken: Any = 7
    case = Case(tool="Bash", input={}, subject=broken, read_only=False, cwd=CWD, rules=rules(allow=("Bash",)))
    assert isinstance(decide(case), Ask)
