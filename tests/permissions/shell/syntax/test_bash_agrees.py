"""What is found is what bash runs: with no program in reach, bash notes every command it looks for."""

import random
import re
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bridle.permissions.shell.syntax.lexer import Fault
from bridle.types.shell import Reading
from tests.permissions.shell.printed import BASH, printed, shape
from tests.permissions.shell.readings import read
from tests.permissions.shell.test_corpus import ordinary
from tests.permissions.shell.test_hidden_commands import (
    CONDITIONS,
    CONTINUED,
    DOCUMENTS,
    ESCAPES,
    FREE,
    OPERANDS,
)

NOTES = (
    "command_not_found_handle() { local IFS=$'\\x1f'; printf '%s\\x1e' \"$*\" >>\"$NOTES\"; return 127; }; "
    "export -f command_not_found_handle\n"
)
TOKENS = [
    "c1", "c2", "rm", "a", "b", "1", " ", " ", " ", " ", ";", "&&", "||", "|", "(", ")", "{ ", " }", "$(",
    "`", '"', "'", "\\", "\n", "#", "$", "<", ">", "<<E\n", "\nE\n", "<<'E'\n", "<(", "$((", "((", "))",
    "[[ ", " ]]", "if ", "; then ", "; fi", "for i in ", "; do ", "; done", "case a in ", " esac", ";;",
    "=", "x=", "${x", "${", "}", "~", "*", "! ", "time ", "f() ", "<<<", "&>", "2>&1", "$'", '$"', "-",
    "\\\n", "\t", "a=(", "x[", "]", "+=", "@", ":-", "{x}>", "[ ", " ]", "E\n", "3>", ",",
]  # fmt: skip
SHAPES = [
    "%s", "c1 %s", 'c1 "%s"', "c1 $(%s)", "c1 `%s`", "if %s; then c1; fi", "( %s )", "c1 <<E\n%s\nE\n",
    "c1 ${x:-{}}", "x=%s c1", "for i in %s; do c2; done", "[[ %s ]]", "case %s in a) c2;; esac",
    "f() { %s\n}; f", "c1 $((%s))", "c1 >%s", "c1 '%s'", "c1 a#%s", "# %s\nc2", "c1 \\\n%s", "c1 <(%s)",
    "time %s", "c1 && %s", "x=(%s)", "c1 $'%s'",
]  # fmt: skip


@pytest.mark.skipif(not Path(BASH).exists(), reason="needs bash")
@pytest.mark.parametrize("seed", range(6))
def test_every_command_that_bash_runs_was_found(seed: int, tmp_path: Path):
    choose = random.Random(seed)
    compared = 0
    for number in range(350):
        text = "".join(choose.choice(TOKENS) for _ in range(choose.randint(1, 6)))
        for _ in range(choose.randint(0, 2)):
            text = choose.choice(SHAPES).replace("%s", text)
        reading = read(text)
        if reading.fault is None:
            compared += 1
            for ran in run(text, tmp_path / str(number)):
                assert is_found(ran, reading), (text, ran)
    assert compared > 50


def run(command: str, folder: Path) -> list[list[str]]:
    """The commands that bash looked for, in an empty folder and with an empty path."""
    folder.mkdir()
    notes = folder / "notes"
    environment = {"PATH": "/nonexistent", "NOTES": str(notes), "HOME": "/home/someone"}
    subprocess.run(
        [BASH, "--norc", "--noprofile", "-c", NOTES + command],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
        check=False,
    )
    text = notes.read_text("utf-8", "replace") if notes.exists() else ""
    return [words.split("\x1f") for words in text.split("\x1e")[:-1]]


def is_found(ran: list[str], reading: Reading) -> bool:
    forms = [form for part in reading.parts for form in part.deny_forms]
    if any(part.unclear for part in reading.parts):
        return True
    wanted = " ".join(" ".join(ran).split())
    filled_in = any(
        form.split(" ")[0] == ran[0] and any(mark in form for mark in "$`*?{~[<>") for form in forms
    )
    return filled_in or any(" ".join(form.split()) == wanted for form in forms)


REAL = [each.command for each in ordinary()]
TABLE = [*REAL, *CONTINUED, *CONDITIONS, *ESCAPES, *DOCUMENTS, *OPERANDS, *FREE]
INSERTED = [
    "\\\n", "\\", "\n", "$", "$'", "\\x{2d}", "`", "'", '"', "<<E\n", "\nE\n", "E", "<<-'E'\n", "[[ ",
    " ]]", "]]", "((", "))", "$((", "${x", "${x:-", "}", "{", "(", ")", "|", "&", "||", "&&", ";",
    ";;", " ", "\t", ">", "<", "<<<", "&>", "2>", "#", " # ", "!", "=", "x=", "[", "]", "~", "*", "<(",
    ">(", "$(", "-", "case x in ", "esac", "for i in ", "do ", "done", "if ", "then ", "fi", "time ",
    "function f ", "f()", "coproc ", "until ",
]  # fmt: skip

AROUND = [
    "%s", "echo $(%s)", 'echo "$(%s\n)"', "cat <(%s)", "echo $(ls; %s; b)", "echo $({ %s\n}; b)",
    "x=$(for i in a; do %s\ndone; c)", "echo $(a && %s || b)", "echo $(case x in a) %s;; b) c;; esac; d)",
]  # fmt: skip
"""What bash runs of a substitution is what it prints of it."""
PRINTED_OTHERWISE = re.compile(r"""\|&|\$['"]|\btime\b|\x01""")
"""Pipes of errors become redirections; quotes behind a dollar sign and timed commands are written anew."""


@pytest.mark.skipif(not Path(BASH).exists(), reason="needs bash")
@pytest.mark.parametrize("part", range(8))
def test_what_is_read_is_what_bash_prints(part: int):
    """S10: bash prints every command as it was read here, word by word."""
    assert [command for command in TABLE[part::8] if not is_read_alike(command)] == []


@pytest.mark.skipif(not Path(BASH).exists(), reason="needs bash")
@settings(max_examples=250, deadline=None)
@given(st.integers(min_value=0, max_value=2**32))
def test_what_is_read_of_a_mutated_command_is_what_bash_prints(seed: int):
    """S10"""
    choose = random.Random(seed)
    command = choose.choice(TABLE)
    for _ in range(choose.randint(1, 3)):
        at = choose.randint(0, len(command))
        command = command[:at] + choose.choice(["", *INSERTED]) + command[at + choose.randint(0, 2) :]
    command = choose.choice(AROUND).replace("%s", command)

    assert PRINTED_OTHERWISE.search(command.replace("\\\n", "")) or is_read_alike(command, mutated=True)


def is_read_alike(command: str, *, mutated: bool = False) -> bool:
    """Whether bash reads a command as it was read here; what was not read is asked about anyway."""
    text = command.encode("utf-8", "replace").decode("latin-1")
    try:
        ours = shape(text)
    except Fault:
        return True
    if "|&" in text.replace("\\\n", ""):
        return True
    theirs = printed(text)
    if theirs is None:
        # Nothing of it runs, which is no harm; but no real command is one that bash refuses.
        return mutated
    try:
        return shape(theirs) == ours
    except Fault:
        return mutated
