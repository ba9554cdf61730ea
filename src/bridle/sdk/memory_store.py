"""A store of transcripts that lives as long as the program: for tests and to see how one is written."""

import time

from bridle.sdk.store_summary import fold_session_summary
from bridle.sdk.store_types import (
    SessionKey,
    SessionListSubkeysKey,
    SessionStore,
    SessionStoreEntry,
    SessionStoreListEntry,
    SessionSummaryEntry,
)

_Place = tuple[str, str, str]


class InMemorySessionStore(SessionStore):
    """Keeps transcripts in memory, with every method that a store can have: for tests, and as an example."""

    def __init__(self) -> None:
        self._lines: dict[_Place, list[SessionStoreEntry]] = {}
        self._written: dict[_Place, int] = {}
        self._summaries: dict[_Place, SessionSummaryEntry] = {}
        self._clock = 0

    async def append(self, key: SessionKey, entries: list[SessionStoreEntry]) -> None:
        place = _place(key)
        self._lines.setdefault(place, []).extend(entries)
        # Two writes never have the same time, so that what is newer is always known.
        self._clock = max(int(time.time() * 1000), self._clock + 1)
        self._written[place] = self._clock
        if not place[2]:
            folded = fold_session_summary(self._summaries.get(place), key, entries)
            self._summaries[place] = {**folded, "mtime": self._clock}

    async def load(self, key: SessionKey) -> list[SessionStoreEntry] | None:
        lines = self._lines.get(_place(key))
        return None if lines is None else list(lines)

    async def list_sessions(self, project_key: str) -> list[SessionStoreListEntry]:
        return [
            {"session_id": session_id, "mtime": self._written[project, session_id, sub]}
            for project, session_id, sub in self._lines
            if project == project_key and not sub
        ]

    async def list_session_summaries(self, project_key: str) -> list[SessionSummaryEntry]:
        return [summary for place, summary in self._summaries.items() if place[0] == project_key]

    async def delete(self, key: SessionKey) -> None:
        gone = _place(key)
        for place in [each for each in self._lines if each == gone or (not gone[2] and each[:2] == gone[:2])]:
            del self._lines[place], self._written[place]
            self._summaries.pop(place, None)

    async def list_subkeys(self, key: SessionListSubkeysKey) -> list[str]:
        wanted = (key["project_key"], key["session_id"])
        return [place[2] for place in self._lines if place[:2] == wanted and place[2]]

    def get_entries(self, key: SessionKey) -> list[SessionStoreEntry]:
        """All lines of a transcript, for tests; an empty list if there is no such transcript."""
        return list(self._lines.get(_place(key), ()))

    @property
    def size(self) -> int:
        """How many sessions there are."""
        return sum(not place[2] for place in self._lines)

    def clear(self) -> None:
        """Forget everything."""
        self.__init__()


def _place(key: SessionKey) -> _Place:
    return key["project_key"], key["session_id"], key.get("subpath") or ""
