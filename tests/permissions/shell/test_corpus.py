"""S20: ordinary commands do not ask more often than they must."""

from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from bridle.types.permission import Allow
from tests.permissions.cases import bash, rules
from tests.permissions.shell.readings import is_free

CORPUS = Path(__file__).parent.parent / "corpus" / "ordinary.txt"


class Ordinary(Struct, frozen=True):
    command: str
    rules: tuple[str, ...] = ()
    asks: bool = False


def test_the_corpus_is_large():
    assert len(list(ordinary())) >= 1_050
    assert sum(is_compound(each.command) for each in ordinary()) >= 250


def test_what_should_be_free_is_free():
    free = [each.command for each in ordinary() if not each.rules and not each.asks]
    asking = [
        each for each in free if not is_free(each, any_files=False) or not isinstance(bash(each), Allow)
    ]

    assert asking == []


def test_what_needs_a_rule_is_not_free():
    asking = [each.command for each in ordinary() if each.rules or each.asks]
    free = [each for each in asking if isinstance(bash(each), Allow)]

    assert free == []


def test_typical_rules_cover_what_they_are_meant_for():
    needing = [each for each in ordinary() if each.rules]
    missed = [each.command for each in needing if not is_covered(each)]

    assert len(missed) <= len(needing) * 0.02, missed


def test_false_prompts_are_rare():
    every = list(ordinary())
    asking = [each.command for each in every if each.asks or not is_covered(each)]

    assert len(asking) <= len(every) * 0.01, asking


def ordinary() -> Iterator[Ordinary]:
    for line in CORPUS.read_text(encoding="utf-8").splitlines():
        kind, _, rest = line.replace("⏎", "\n").partition("  ")
        if kind == "free":
            yield Ordinary(rest)
        elif kind == "asks":
            yield Ordinary(rest, asks=True)
        elif kind == "rule":
            command, _, listed = rest.rpartition(" ## ")
            yield Ordinary(command, tuple(listed.split(" ; ")))


def is_covered(each: Ordinary) -> bool:
    """Whether the gate itself lets a command run with the rules that belong to it."""
    return isinstance(bash(each.command, rules(allow=each.rules)), Allow)


def is_compound(command: str) -> bool:
    return any(mark in command for mark in (";", "&&", "||", "|", "$(", "<(", "\n"))
