"""The quick way to decide says what the gate says, for every command."""

import random

import pytest

from bridle.permissions.preparation import SessionPosition
from bridle.permissions.shell.bulk_decisions import runs_unasked
from bridle.types.permission import Allow, Mode
from tests.permissions.cases import CWD, HOME, bash, reads_only, rules
from tests.permissions.counted import calls
from tests.permissions.shell.syntax.test_bash_agrees import SHAPES, TOKENS
from tests.permissions.shell.test_corpus import ordinary
from tests.permissions.shell.test_hidden_commands import (
    CONDITIONS,
    CONTINUED,
    DOCUMENTS,
    ESCAPES,
    FREE,
    OPERANDS,
)
from tests.permissions.shell.test_read_only import DANGEROUS, HARMLESS

COMMANDS = [
    *(each.command for each in ordinary()),
    *HARMLESS, *DANGEROUS, *FREE, *CONDITIONS, *CONTINUED, *DOCUMENTS, *ESCAPES, *OPERANDS,
]  # fmt: skip

EDITS = [
    "touch a", "mkdir -p a/b && cp x a/b", "rm a", "mv a ../b", "echo x > .git/config", "sed -i s/a/b/ f",
    "c=rm; $c a", "git -C . push", "cd .. && touch a", "cat a | tee b", "cp -r a b; git status", "$x a",
]  # fmt: skip


def generated(seed: int) -> str:
    choose = random.Random(seed)
    text = "".join(choose.choice(TOKENS) for _ in range(choose.randint(1, 6)))
    for _ in range(choose.randint(0, 2)):
        text = choose.choice(SHAPES).replace("%s", text)
    return text


def test_it_agrees_with_the_gate_on_every_known_command():
    wrong = [each for each in COMMANDS if quickly(each) != isinstance(bash(each), Allow)]

    assert wrong == []


@pytest.mark.parametrize("first", range(0, 2000, 500))
def test_it_agrees_with_the_gate_on_generated_commands(first: int):
    commands = [generated(seed) for seed in range(first, first + 500)]
    wrong = [each for each in commands if quickly(each) != isinstance(bash(each), Allow)]

    assert wrong == []


@pytest.mark.parametrize(
    ("mode", "denied"),
    [("acceptEdits", ()), ("bypassPermissions", ("Bash(rm:*)", "Bash(git push:*)")), ("plan", ())],
)
def test_it_agrees_with_the_gate_in_every_mode(mode: Mode, denied: tuple[str, ...]):
    """S6: for commands that change files, and for those that a rule denies, too."""
    weighed = rules(deny=denied)
    standing = SessionPosition(
        rules=weighed, mode=mode, cwd=CWD, start=CWD, home=HOME, config_home=f"{HOME}/.claude"
    )
    commands = [*COMMANDS, *EDITS, *(generated(seed) for seed in range(300))]
    wrong = [
        each
        for each in commands
        if runs_unasked(each, standing) != isinstance(bash(each, weighed, mode), Allow)
    ]

    assert wrong == []


def test_what_asks_costs_little():
    """S6: a fuzzer decides more than ten thousand commands in a second."""
    commands = [generated(seed) for seed in range(500)]

    assert calls(lambda: [quickly(each) for each in commands]) < 300 * len(commands)


def quickly(command: str) -> bool:
    return reads_only(command, cwd=CWD)
