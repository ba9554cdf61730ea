"""Filters the items of a list by a few words."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from bridle.frontends.tui.completion.fuzzy import is_case_sensitive, lowered, match, subsequence
from bridle.frontends.tui.render.layout import one_line

_LOOSEST = 4
"""Letters that are further apart than this many times their number were not meant together."""
_WHOLE = 1_000
_AT_WORD = 200
_ELSEWHERE = 5


class Searchable(NamedTuple):
    """An item made ready for many searches."""

    label: str
    small: str
    rest: str


class Word(NamedTuple):
    """A word to look for, made ready for many items."""

    text: str
    small: str
    exact: bool
    """A capital letter in it is meant."""


def words_of(query: str) -> tuple[Word, ...]:
    """The words of a query."""
    return tuple(Word(word, lowered(word), is_case_sensitive(word)) for word in query.split())


def searchable(label: str, rest: Iterable[str]) -> Searchable:
    """The label, and everything else in which the words may be found."""
    shown = one_line(label)
    return Searchable(shown, lowered(shown), lowered(" ".join(rest)))


def weigh(texts: Searchable, words: Sequence[Word]) -> tuple[int, Sequence[int]] | None:
    """How well an item fits all the words, and the letters of its label that do; None when it does not."""
    if len(words) == 1:
        return _weigh_word(texts, words[0])
    score = 0
    places: set[int] = set()
    for word in words:
        found = _weigh_word(texts, word)
        if found is None:
            return None
        score += found[0]
        places.update(found[1])
    return score, tuple(sorted(places))


def _weigh_word(texts: Searchable, word: Word) -> tuple[int, Sequence[int]] | None:
    text, small, exact = word
    subject = texts.label if exact else texts.small
    at = subject.find(text)
    if at >= 0:
        # Asked of every item with every key: a look at one place is enough, and much faster than weighing.
        starts = at == 0 or not subject[at - 1].isalnum()
        return _WHOLE + (_AT_WORD if starts else 0) - min(at, 100), range(at, at + len(text))
    if subsequence(small).match(texts.small) and (loose := match(text, texts.label)) is not None:
        first, *_, last = (*loose.positions, loose.positions[-1])
        if last - first < _LOOSEST * len(text):
            return loose.score, loose.positions
    return (_ELSEWHERE, ()) if small in texts.rest else None
