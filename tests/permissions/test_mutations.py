"""S3, S6, S10: real commands, mutated; nothing raises, and what is allowed runs only what was found."""

import os
import random
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridle.types.permission import Allow, Ask, Decision, Deny
from tests.permissions.cases import bash, bash_case, rules
from tests.permissions.shell.syntax.test_bash_agrees import BASH, NOTES, is_found
from tests.permissions.shell.test_corpus import ordinary
from tests.permissions.test_attacks import ATTACKS
from tests.tables import table

REAL = [*(each.command for each in ordinary()), *ATTACKS]
FREE = [each.command for each in ordinary() if not each.rules]
ODD = [
    "\0", "\udc80", "\udcff", "\ud800", "\xff", "\u202e", "\u200b", "\r", "\n", "\\\n", "\t", "'", '"', "`",
    "$(", ")", "${", "}", "<<E\n", "\nE\n", "<<-'E'\n", "<<<", ">", ">>", ">|", "<>", "&>", "2>&1", "|", "|&",
    "&&", "||", ";", "&", "#", " #", "!", "{", "(", "((", "[[", "$((", "$'", "\\", "*", "?", "~", "=", "x=",
    "{a,b}", "<(", ">(",
    "function f { ", "f() { ", "case x in ", "esac", "if ", "then ", "fi", "do ", "done", "time ", "coproc ",
]  # fmt: skip
_NOBODY = 65534


def mutate(command: str, choose: random.Random) -> str:
    """The same with a few pieces put in, taken out, doubled or moved."""
    for _ in range(choose.randint(1, 4)):
        at, to = sorted(choose.choices(range(len(command) + 1), k=2))
        match choose.randrange(5):
            case 0:
                command = command[:at] + choose.choice(ODD) + command[at:]
            case 1:
                command = command[:at] + command[min(to, at + 6) :]
            case 2:
                command = command[:to] + command[at:to] + command[to:]
            case 3:
                command = command[:at] + choose.choice(REAL) + command[at:]
            case _:
                command = choose.choice(ODD).join((command[:at], command[at:to], command[to:]))
    return command


def decided(command: str) -> Decision:
    decision = bash(command, rules(allow=("Bash(make:*)",), deny=("Bash(evil:*)", "Read(.env)")))
    assert isinstance(decision, Allow | Ask | Deny)
    return decision


@given(st.integers(min_value=0, max_value=2**32))
def test_no_mutation_of_a_real_command_is_too_much(seed: int):
    choose = random.Random(seed)
    decided(mutate(choose.choice(REAL), choose))


@given(st.binary(max_size=200))
def test_bytes_that_are_no_text_are_never_allowed_to_hide_something(data: bytes):
    command = data.decode("utf-8", "surrogateescape")
    if isinstance(decided(command), Allow):
        assert command.isprintable() or "\n" in command or "\t" in command


@table(
    "opening",
    ["$(", "`", "(", "{ ", "<(", "${x:-", "$((", '"$(', "if ", "while ", "for i in a; do ", "case x in x) ",
     "f() { ", "cat <<E\n", "[[ ", "x=(", "! ", "time ", "bash -c '", "eval ", "env ", "timeout 5 ", "xargs "]
)  # fmt: skip
@table("depth", [10, 60, 400])
def test_deep_nesting_is_decided(opening: str, depth: int):
    assert not isinstance(decided(opening * depth + "evil"), Allow)
    decided(opening * depth + "ls")


def test_a_denial_reaches_into_every_mutation_that_still_parses():
    choose = random.Random(7)
    reached = 0
    for _ in range(400):
        around = choose.choice(["{}; evil x", "evil x && {}", "if {}\nthen evil x; fi", "( {}\n evil x )"])
        command = around.format(mutate(choose.choice(REAL), choose))
        case = bash_case(command)
        if case.reading is not None and case.reading.fault is None:
            reached += isinstance(decided(command), Deny)
            shown = any(form.startswith("evil") for part in case.reading.parts for form in part.deny_forms)
            assert isinstance(decided(command), Deny) or not shown, command
    assert reached > 50


@pytest.mark.skipif(not Path(BASH).exists(), reason="needs bash")
@pytest.mark.parametrize(
    "seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.soak) for seed in range(2, 20))]
)
def test_what_is_allowed_runs_only_what_was_found_and_writes_nothing(seed: int):
    choose = random.Random(seed)
    compared = 0
    for _ in range(500):
        command = mutate(choose.choice(choose.choice((REAL, FREE))), choose)
        case = bash_case(command)
        if case.reading is None or not isinstance(bash(command), Allow):
            continue
        compared += 1
        for ran in _run(command):
            assert is_found(ran, case.reading), (command, ran)
    assert compared > 20


def _run(command: str) -> list[list[str]]:
    """The programs that bash looked for, in an empty folder, without any in reach and without rights."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        os.chmod(folder, 0o755)
        work = os.path.join(folder, "work")
        os.mkdir(work)
        os.mkdir(notes := os.path.join(folder, "notes"))
        person = _NOBODY if os.getuid() == 0 else None
        if person is not None:
            os.chown(work, person, person)
            os.chown(notes, person, person)
        env = {"PATH": "/nonexistent", "NOTES": f"{notes}/all", "HOME": "/home/someone"}
        try:
            subprocess.run(
                [BASH, "--norc", "--noprofile", "-c", NOTES + command],
                cwd=work, env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=10, check=False,
                user=person, group=person,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return []
        assert os.listdir(work) == [], command
        text = Path(env["NOTES"]).read_text("utf-8", "replace") if os.path.exists(env["NOTES"]) else ""
        return [words.split("\x1f") for words in text.split("\x1e")[:-1]]
