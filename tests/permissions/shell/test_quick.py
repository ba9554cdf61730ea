"""The quick way to decide says what the gate says, for every command."""

import random

import pytest

from bridle.permissions.shell.quick import reads_only
from bridle.types.permission import Allow
from tests.permissions.cases import CWD, HOME, bash
from tests.permissions.counted import calls
from tests.permissions.shell.test_bash_agrees import SHAPES, TOKENS
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


def test_what_asks_costs_little():
    """S6: a fuzzer decides more than ten thousand commands in a second."""
    commands = [generated(seed) for seed in range(500)]

    assert calls(lambda: [quickly(each) for each in commands]) < 300 * len(commands)


def quickly(command: str) -> bool:
    return reads_only(command, cwd=CWD, home=HOME)
