"""A large list that is searched with every key."""

from collections.abc import Sequence
from itertools import compress

from msgspec import Struct

from bridle.frontends.tui.completion.fuzzy import is_case_sensitive, lowered, match, subsequence

_MOST_SCORED = 800
"""Weighing is slow; beyond this many only the likely ones are weighed."""


class Hit(Struct, frozen=True):
    """Something that matches."""

    text: str
    score: int
    positions: tuple[int, ...]


class Candidates:
    """Texts made ready for searching; what a query leaves over is kept for longer queries."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = sorted(texts, key=lambda text: (len(text), text))
        self._lowered = [lowered(text) for text in self._texts]
        self._names = [text.rstrip("/").rpartition("/")[2] for text in self._lowered]
        self._pool: tuple[str, list[int]] = ("", list(range(len(self._texts))))

    def __len__(self) -> int:
        return len(self._texts)

    def search(self, query: str, *, limit: int = 20) -> list[Hit]:
        """The best matches, best first; nothing typed gives the shortest texts."""
        if not query:
            return [Hit(text, 0, ()) for text in self._texts[:limit]]
        small = lowered(query)
        pool = self._narrow(small)
        weighed = ((index, match(query, self._texts[index])) for index in self._likely(small, pool))
        hits = [(-found.score, index, found) for index, found in weighed if found is not None]
        if not hits and is_case_sensitive(query):
            return self.search(small, limit=limit)
        # The list is sorted by length, so the place in it decides between equals.
        hits.sort(key=lambda hit: hit[:2])
        return [Hit(self._texts[index], found.score, found.positions) for _, index, found in hits[:limit]]

    def _narrow(self, query: str) -> list[int]:
        """All texts that have the letters; a query that extends the last one searches its results."""
        last, pool = self._pool
        if not query.startswith(last):
            pool = list(range(len(self._texts)))
        pattern = subsequence(query).match
        narrowed = list(compress(pool, map(pattern, map(self._lowered.__getitem__, pool))))
        self._pool = (query, narrowed)
        return narrowed

    def _likely(self, query: str, pool: list[int]) -> list[int]:
        if len(pool) <= _MOST_SCORED:
            return pool
        names, texts = self._names, self._lowered
        likely = [index for index in pool if names[index].startswith(query)]
        if len(likely) < _MOST_SCORED:
            likely += [i for i in pool if query in names[i] and not names[i].startswith(query)]
        if len(likely) < _MOST_SCORED:
            likely += [i for i in pool if query in texts[i] and query not in names[i]]
        if len(likely) < _MOST_SCORED:
            pattern = subsequence(query).match
            within = compress(pool, map(pattern, map(names.__getitem__, pool)))
            likely += [i for i in within if query not in texts[i]]
        if len(likely) < _MOST_SCORED:
            chosen = set(likely)
            likely += [index for index in pool if index not in chosen]
        return likely[:_MOST_SCORED]
