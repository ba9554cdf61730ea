"""S10, S14, S15, S16: what hides in ordinary-looking commands is found."""

from pathlib import Path

import pytest

from bridle.types.permission import Allow, Mode
from tests.permissions.cases import bash, rules

_CORPUS = Path(__file__).parent / "corpus" / "attacks.txt"
ATTACKS = [
    line.replace("\\n", "\n")
    for line in _CORPUS.read_text(encoding="utf-8").splitlines()
    if line and not line.startswith("#")
]
_READING = (
    "Bash(ls:*)",
    "Bash(cat:*)",
    "Bash(git status:*)",
    "Bash(git log:*)",
    "Bash(echo:*)",
    "Bash(cd:*)",
)


def test_nothing_of_it_runs_unasked():
    assert len(ATTACKS) > 800
    assert [command for command in ATTACKS if isinstance(bash(command), Allow)] == []


@pytest.mark.parametrize("mode", ["plan", "dontAsk"])
def test_nor_in_the_stricter_modes(mode: Mode):
    assert [command for command in ATTACKS if isinstance(bash(command, mode=mode), Allow)] == []


def test_rules_for_reading_commands_let_no_other_program_run():
    weighed = rules(allow=_READING)
    running = [command for command in ATTACKS if "evil" in command.replace("'evil'", "").replace("http", "")]
    assert len(running) > 200
    let = [command for command in running if isinstance(bash(command, weighed), Allow)]
    # Here the word is an argument of a command that the rules name.
    assert [command for command in let if not command.startswith(("git log", "git status"))] == []
