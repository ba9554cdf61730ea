"""S3, S18: what cannot be judged is said so, and deny rules still reach what can be recognized."""

import subprocess
import sys

import pytest

from bridle.permissions.shell import read_command
from tests.permissions.counted import calls
from tests.permissions.shell.readings import denies, read

UNREADABLE = [
    "ls 'unclosed; rm x",
    'ls "unclosed; rm x',
    "ls $(unclosed; rm x",
    "ls `unclosed; rm x",
    "if ls; rm x",
    "rm x; )",
    "rm x; fi",
    "ls && && rm x",
    "ls |; rm x",
    "cat <<END\nno end; rm x",
    "ls; rm x\r\nls",
    "ls\rrm x",
    "ls\0; rm x",
    "ls \x1b[2K; rm x",
    "ls \x07; rm x",
    "ls \u202e; rm x",
    "ls \u200b; rm x",
    "ls \u00a0; rm x",
    "ls \u3000; rm x",
    "ls \ufeff; rm x",
    "ls \u2028; rm x",
    "ls \udc80; rm x",
    "ls \U000e0041; rm x",
    "time { rm x; }",
    "coproc name { rm x; }",
    "ls; rm x; " + "a" * 10_000,
    "a" * 10_000 + "; rm x",
    "ls; " * 51 + "rm x",
    "(" * 300 + "rm x" + ")" * 300,
    "$(" * 300 + "rm x" + ")" * 300,
    "echo `" + "(" * 90 + "echo \\`" + "(" * 90 + "ls" + ")" * 90 + "\\`" + ")" * 90 + "`; (rm x",
]


@pytest.mark.parametrize("command", UNREADABLE, ids=range(len(UNREADABLE)))
def test_what_cannot_be_judged_has_a_fault_and_is_still_searched(command: str):
    assert read(command).fault
    assert denies(command, "rm x")


AMBIGUOUS = [
    "cat<(ls)",  # one word to bash
    'echo $"text"',
    "((# x;\nls))",  # two subshells and a comment
    "ls {fd}>out",
    "-2>&1",  # a command of this name
    "@x=1",
    "cat <<E''F\nhello\nEF",
]


@pytest.mark.parametrize("command", AMBIGUOUS)
def test_what_the_grammar_and_bash_take_differently_has_a_fault(command: str):
    assert read(command).fault


@pytest.mark.parametrize("command", ["", " ", "\n", "# only a comment", "\t\n"])
def test_nothing_has_no_parts_and_no_fault(command: str):
    assert read(command).parts == ()
    assert read(command).fault is None


@pytest.mark.parametrize("command", ["ls {a,b}*$x", "cat ~/$x*'?'", "echo {a,b}'*'$x?"])
def test_patterns_beside_braces_and_variables_are_read(command: str):
    reading = read(command)

    assert reading.fault is None
    assert reading.parts[0].text == command


@pytest.mark.parametrize("command", ["echo 'ünïcödé'", "grep -r 日本 src", "echo '🙂'", "ls naïve.txt"])
def test_letters_of_any_language_are_fine(command: str):
    reading = read(command)

    assert reading.fault is None
    assert reading.parts[0].text == command


@pytest.mark.parametrize("command", ["ｌｓ", "ls\u0336", "сat x", "rｍ x"])
def test_look_alikes_are_not_the_programs_they_look_like(command: str):
    assert not any(part.harmless for part in read(command).parts)


def test_nothing_is_harmless_in_what_cannot_be_judged():
    assert not any(part.harmless or part.file_command for part in read("ls; touch x; cat 'unclosed").parts)


@pytest.mark.parametrize(
    "command", ["echo {\U0010ffff}", "echo {1..\u2603}", "echo {é", "a{\U0001f600,b}c", "${\u00ff}"]
)
def test_no_character_crashes_the_parser(command: str):
    """A crash of the grammar's scanner would take the whole process with it."""
    probe = (
        "import sys; from bridle.permissions.shell import read_command\n"
        "read_command(sys.argv[1], cwd='/', home='/')"
    )
    done = subprocess.run([sys.executable, "-c", probe, command], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


def test_assignment_needs_a_plain_name():
    parts = read_command("é=1 ls", cwd="/srv", home="/home/u").parts
    assert [part.harmless for part in parts] == [False]


@pytest.mark.parametrize(
    "command", ["$(" * 3300 + "x" + ")" * 3300, "|".join(["a"] * 5000), "! " * 4900 + "ls", "`" * 9999]
)
def test_swarms_are_given_up_early_and_still_searched_for_what_is_denied(command: str):
    """S6"""
    assert calls(lambda: read(command[:9990] + ";rm x")) < 200_000
    reading = read(command[:9990] + ";rm x")
    assert reading.fault is not None
    assert any(form == "rm x" for part in reading.parts for form in part.deny_forms)
