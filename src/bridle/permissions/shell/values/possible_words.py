"""What the words of a command may come to, for rules that deny or ask and for removals.

Every value that shows in the line is tried, and nothing at all for a variable that may be unset. That is more
than can happen, which is the safe side here; nothing is ever allowed by it.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice, product

from msgspec import Struct

from bridle.permissions.shell.syntax.braces import expand_braces
from bridle.permissions.shell.syntax.expansions import BEYOND, FULL, HOLE, Expansion
from bridle.permissions.shell.syntax.words import Word
from bridle.permissions.shell.values.possible_values import (
    HIDDEN_BLANKS,
    Parts,
    PossibleValues,
    parts_of,
)

_MOST_FILLINGS = 64
_MOST_WORDS = 200
_GLOB = re.compile(r"[*?]|\[.+\]")
_VARIABLE = re.compile(r"\$\{?([A-Za-z_]\w*)\}?", re.ASCII)
_BLANKS = re.compile(r"\s+")
_SHOWN_BLANKS = {hidden: shown for shown, hidden in HIDDEN_BLANKS.items()}


class Arg(Struct, frozen=True):
    """One word of a command as it may come to be."""

    raw: str
    value: str
    open: bool = False
    """A part of it is unclear."""
    below: str = ""
    """What stands behind a variable that it begins with, whatever that holds."""

    @property
    def name(self) -> str | None:
        """The last component as the name of a program; None when it is unclear."""
        last = self.value.rpartition("/")[2]
        return None if self.open and _is_open(last) else last


class Budget(Struct):
    """How much more of one command line is looked at; what is beyond is unknown."""

    words: int = 4_000
    texts: int = 60

    @property
    def is_spent(self) -> bool:
        """Whether something was left out, so that not everything that may run was seen."""
        return self.words < 0 or self.texts < 0

    def take_words(self, count: int) -> bool:
        self.words -= count
        return self.words >= 0

    def take_text(self) -> bool:
        self.texts -= 1
        return self.texts >= 0


def alternatives(words: Sequence[Word], held: PossibleValues, budget: Budget) -> dict[tuple[Arg, ...], bool]:
    """The command as it may come to be, in every way that shows in the line.

    False stands with those that take a variable for empty only because it may be."""
    if all(word.literal for word in words):
        return {tuple(Arg(word.raw, word.value) for word in words): True}
    read = [(word, parts_of(word)) for word in words[:_MOST_WORDS]]
    expansions = [each for _, parts in read for each in parts if isinstance(each, Expansion)]
    choices = list(_choices(expansions, held))
    if not budget.take_words(len(choices) * len(words)):
        choices = [({each.text: BEYOND for each in expansions}, True)]
    foreign = {each.text for each in expansions if _is_foreign(each, held)}
    found: dict[tuple[Arg, ...], bool] = {}
    for chosen, sure in choices:
        args: list[Arg] = []
        for word, parts in read:
            args += _filled(word, parts, chosen, foreign)
        found[tuple(args)] = found.get(tuple(args), False) or sure
    return found


def _choices(expansions: list[Expansion], held: PossibleValues) -> Iterator[tuple[Mapping[str, str], bool]]:
    """Ways to fill in the expansions of one command, each of them the same everywhere."""
    texts = {each.text: each for each in expansions}
    values = {text: tuple(dict.fromkeys(each.values(held.of))) for text, each in texts.items()}
    count = 1
    for each in values.values():
        count *= len(each)
    if count <= _MOST_FILLINGS:
        ways = (dict(zip(values, chosen, strict=True)) for chosen in product(*values.values()))
    else:
        # Too many together: each on its own, while the others are unknown.
        unknown = dict.fromkeys(values, HOLE)
        singly = ({**unknown, text: value} for text, each in values.items() for value in each)
        ways = (unknown, *islice(singly, _MOST_FILLINGS))
    for way in ways:
        yield way, not any(not value and len(values[text]) > 1 for text, value in way.items())


def _is_foreign(expansion: Expansion, held: PossibleValues) -> bool:
    """Whether it is a variable of the environment: what it holds is not chosen by who wrote the line."""
    found = _VARIABLE.fullmatch(expansion.text)
    return found is not None and found[1] not in held.values


def _filled(word: Word, parts: Parts, chosen: Mapping[str, str], foreign: Collection[str]) -> Iterator[Arg]:
    if word.literal:
        yield Arg(word.raw, word.value)
        return
    written = [each for each in parts if isinstance(each, str)]
    below = written[-1] if len(written) > 1 and not any(written[:-1]) else ""
    if word.splits and any(map(_BLANKS.search, written)):
        # Only what is filled in falls apart at its blanks.
        parts = tuple(each.translate(HIDDEN_BLANKS) if isinstance(each, str) else each for each in parts)
    text = "".join(each if isinstance(each, str) else _given(word, each, chosen, foreign) for each in parts)
    for value in expand_braces(text, literal=word.glob is not None and word.doubt is None):
        is_open = HOLE in value or FULL in value
        if word.splits:
            for piece in (each.translate(_SHOWN_BLANKS) for each in _BLANKS.split(value) if each):
                yield Arg(word.raw if HOLE in piece else piece, piece, _is_open(piece), below)
        else:
            shown = value.translate(_SHOWN_BLANKS)
            known = not is_open and (word.glob is None or not _GLOB.search(shown))
            yield Arg(word.raw if is_open or shown == word.value else shown, shown, not known, below)


def _given(word: Word, expansion: Expansion, chosen: Mapping[str, str], foreign: Collection[str]) -> str:
    """A value in a word: an unknown one may be several words, of which the first is the program."""
    value = chosen[expansion.text]
    if word.splits and HOLE in value and expansion.text not in foreign:
        unknown = BEYOND if BEYOND in value else HOLE
        return value.replace(unknown, f"{unknown} {unknown}")
    return value


def _is_open(text: str) -> bool:
    return HOLE in text or FULL in text or _GLOB.search(text) is not None
