import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridle.tools.shell.command_text import (
    is_silent,
    may_outlive_its_limit,
    meaning_of_one,
    simple_commands,
)
from tests.tables import table


@given(st.text(alphabet="ab'\"$(){}<>|&;\\`# \n\t=!*", max_size=60))
def test_every_text_is_read_without_a_fault(text: str):
    simple_commands(text)


@pytest.mark.parametrize(
    "command",
    ["make test", "npm test > log 2>&1", 'cd x && FOO=1 make -j"$N" | tail -5', "pytest -k 'a b'", "digit x"],
)
def test_ordinary_commands_may_go_on(command: str):
    assert may_outlive_its_limit(command)


@table(
    "command",
    [
        "sleep 5",
        "make; sleep 5",
        "cd x && git pull",
        "/usr/bin/git fetch",
        "bash -c 'git pull'",
        "env git pull",
        "echo $(x)",
        "(make)",
        "for i in 1; do x; done",
        "while true; do x; done",
        "if a; then b; fi",
        "cat <<E\nx\nE",
        "f() { x; }",
        "make 'open",
        "",
    ],
)
def test_git_and_sleep_and_unclear_shapes_may_not_go_on(command: str):
    assert not may_outlive_its_limit(command)


def test_the_last_command_gives_exit_code_one_its_meaning():
    assert meaning_of_one("make | grep error") == "No matches found"
    assert meaning_of_one("cd x && git diff --exit-code") == "The inputs differ"
    assert meaning_of_one("git grep x") == "No matches found"
    assert meaning_of_one("/usr/bin/find . -name x") == "Some paths could not be searched"
    assert meaning_of_one("grep x y && make") is None
    assert meaning_of_one("git push") is None


def test_commands_that_say_nothing_when_they_work():
    assert is_silent("mkdir -p a && cp b a/")
    assert not is_silent("mkdir a && ls")
    assert not is_silent("echo x")
    assert not is_silent("$(x)")
