"""useAutoModeDuringPlan: a reviewer may let commands look around that plan mode would refuse."""

import pytest

from bridle.permissions.auto.grants import mode_notice
from bridle.permissions.auto.prompt import system_text
from bridle.permissions.auto.review import planning_doubt, without_review
from bridle.permissions.auto.rules import DEFAULTS
from bridle.permissions.policy import decide
from bridle.types.permission import Allow, Ask, Case, Mode
from tests.permissions.cases import bash_case, rules


def _doubt(case: Case) -> Ask | None:
    return planning_doubt(case, decide(case))


@pytest.mark.parametrize("command", ["npm ls", "cargo metadata | jq .packages", "docker ps", "go version"])
def test_commands_that_may_only_look_are_put_to_the_reviewer(command: str):
    doubt = _doubt(bash_case(command, mode="plan"))
    assert doubt is not None and not doubt.needs_person


@pytest.mark.parametrize(
    "case",
    [
        bash_case("ls", mode="plan"),
        bash_case("npm ls", mode="default"),
        bash_case("npm ls > out", mode="plan"),
        bash_case("npm ls > $out", mode="plan"),
        bash_case("tee out", mode="plan"),
        bash_case("rm -rf /", mode="plan"),
        bash_case("npm ls )", mode="plan"),
        bash_case("npm ls", rules(deny=("Bash(npm *)",)), "plan"),
    ],
)
def test_everything_else_is_not(case: Case):
    assert _doubt(case) is None


def test_nothing_is_let_through_without_the_reviewer_while_planning():
    assert without_review(bash_case("touch x", mode="plan"), lambda _: Allow("yes"), DEFAULTS) is None


def test_reviewer_is_told_that_nothing_may_change():
    planning = system_text(DEFAULTS, planning=True)
    assert "Plan mode:" in planning and "Plan mode:" not in system_text(DEFAULTS)
    assert not any(rule in planning for rule in DEFAULTS.allow)
    assert all(rule in planning for rule in DEFAULTS.hard_deny)


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [("default", "auto", True), ("plan", "auto", True), ("auto", "auto", False), ("auto", "plan", False)],
)
def test_entering_auto_mode_names_the_rules_that_do_not_count_there(before: Mode, after: Mode, told: bool):
    notice = mode_notice(before, after, rules(allow=("Bash(python:*)", "Bash(make)")))
    assert (notice is not None and "Bash(python:*)" in notice and "make" not in notice) == told
    assert mode_notice(before, after, rules(allow=("Bash(make)",))) is None
