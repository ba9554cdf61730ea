"""S20: ordinary commands do not ask more often than they must."""

from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from bridle.permissions import texts
from bridle.types.shell import Part
from tests.permissions.shell.readings import CWD, is_free, read

CORPUS = Path(__file__).parent.parent / "corpus" / "ordinary.txt"


class Ordinary(Struct, frozen=True):
    command: str
    rules: tuple[str, ...] = ()


def test_the_corpus_is_large():
    assert len(list(ordinary())) >= 550


def test_what_should_be_free_is_free():
    asking = [each.command for each in ordinary() if not each.rules and not is_free(each.command)]

    assert asking == []


def test_what_needs_a_rule_is_not_free():
    free = [each.command for each in ordinary() if each.rules and is_free(each.command)]

    assert free == []


def test_typical_rules_cover_what_they_are_meant_for():
    needing = [each for each in ordinary() if each.rules]
    missed = [each.command for each in needing if not covered(each)]

    assert len(missed) <= len(needing) * 0.02, missed


def ordinary() -> Iterator[Ordinary]:
    for line in CORPUS.read_text(encoding="utf-8").splitlines():
        kind, _, rest = line.replace("⏎", "\n").partition("  ")
        if kind == "free":
            yield Ordinary(rest)
        elif kind == "rule":
            command, _, rules = rest.rpartition(" ## ")
            yield Ordinary(command, tuple(rule.removeprefix("Bash(")[:-1] for rule in rules.split(" ; ")))


def covered(each: Ordinary) -> bool:
    reading = read(each.command)
    return reading.fault is None and all(
        is_harmless_inside(part) or any(covers(rule, part) for rule in each.rules) for part in reading.parts
    )


def is_harmless_inside(part: Part) -> bool:
    return part.harmless and all(f"{path}/".startswith(f"{CWD}/") for path in part.reads)


def covers(rule: str, part: Part) -> bool:
    usable = not part.blocks_prefix or texts.is_exact(rule)
    return usable and any(texts.covers(rule, form) for form in part.allow_forms)
