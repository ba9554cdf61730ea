"""By what a command was allowed: the second wall stands around what only judgment allowed."""

import msgspec
import pytest

from bridle.permissions.policy import decide
from bridle.types.permission import Allow, Decision, Judged, Mode
from tests.permissions.cases import bash, bash_case, rules


def judged(decision: Decision) -> Judged | None:
    return decision.judged if isinstance(decision, Allow) else None


@pytest.mark.parametrize(
    ("command", "mode", "expected"),
    [
        ("ls -l", "default", "read"),
        ("cat a | grep b && git status", "default", "read"),
        ("cat a 2>/dev/null", "plan", "read"),
        ("ls", "dontAsk", "read"),
        ("ls", "auto", "read"),
        ("touch a", "acceptEdits", "edit"),
        ("ls && mkdir a", "acceptEdits", "edit"),
        ("echo x > a", "acceptEdits", "edit"),
        ("ls", "acceptEdits", "read"),
        ("ls", "bypassPermissions", ""),
    ],
)
def test_what_judgment_allows_says_what_it_was_judged_to_do(command: str, mode: Mode, expected: Judged):
    assert judged(bash(command, mode=mode)) == expected


@pytest.mark.parametrize("rule", ["Bash", "Bash(ls:*)", "Bash(ls && make)"])
def test_a_rule_that_names_any_part_frees_the_command(rule: str):
    allowed = rules(allow=(rule, "Bash(make)"))
    assert judged(bash("ls && make", allowed)) == ""


def test_a_rule_that_names_the_file_that_is_written_frees_the_command():
    assert judged(bash("echo x > a.txt", rules(allow=("Edit(a.txt)",)))) == ""


def test_a_rule_for_something_else_leaves_the_judgment():
    assert judged(bash("ls", rules(allow=("Bash(make:*)", "Read(b)")))) == "read"


def test_a_hook_and_the_sandbox_free_the_command():
    case = bash_case("ls")
    assert judged(decide(msgspec.structs.replace(case, hook=Allow("a hook says so", "hook")))) == ""
    assert judged(decide(msgspec.structs.replace(case, confined=True))) == ""
