"""Places where a program keeps transcripts itself, in the shapes of the official Agent SDK."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NotRequired, Protocol, Required, TypedDict

import msgspec

from bridle.types.text import encodable_value


class SessionKey(TypedDict):
    """A transcript: of a session, or with `subpath` of an agent in it, such as `subagents/agent-1`."""

    project_key: str
    session_id: str
    subpath: NotRequired[str]


class SessionListSubkeysKey(TypedDict):
    """A session whose agents are listed."""

    project_key: str
    session_id: str


class SessionStoreEntry(TypedDict, total=False):
    """One line of a transcript; what else is in it must come back as it was given."""

    type: Required[str]
    uuid: str
    timestamp: str


class SessionStoreListEntry(TypedDict):
    session_id: str
    mtime: int
    """Milliseconds since the epoch."""


class SessionSummaryEntry(TypedDict):
    """What a list shows of a session, brought up to date with each append by `fold_session_summary`."""

    session_id: str
    mtime: int
    """When the store wrote it, by the clock of its `list_sessions`."""
    data: dict[str, Any]
    """Kept as it is by the store."""


SessionStoreFlushMode = Literal["batched", "eager"]
"""When lines go to the store: at the end of a turn, or as they are written."""


class SessionStore(Protocol):
    """A place for transcripts, written by your program. Only `append` and `load` are required."""

    async def append(self, key: SessionKey, entries: list[SessionStoreEntry]) -> None:
        """Add lines to a transcript. A line whose uuid is stored already is the same line."""
        ...

    async def load(self, key: SessionKey) -> list[SessionStoreEntry] | None:
        """Return all lines in their order, or None if there is no such transcript."""
        ...

    async def list_sessions(self, project_key: str) -> list[SessionStoreListEntry]:
        """The sessions of a project, in any order."""
        raise NotImplementedError

    async def list_session_summaries(self, project_key: str) -> list[SessionSummaryEntry]:
        """What lists show of the sessions of a project."""
        raise NotImplementedError

    async def delete(self, key: SessionKey) -> None:
        """Remove a transcript, and with that of a session those of its agents."""
        raise NotImplementedError

    async def list_subkeys(self, key: SessionListSubkeysKey) -> list[str]:
        """The subpaths of the agents of a session."""
        raise NotImplementedError


def as_entries(rows: Sequence[Mapping[str, object]]) -> list[SessionStoreEntry]:
    """Lines of a transcript as a store takes them: plain JSON that no other code changes."""
    try:
        return msgspec.json.decode(msgspec.json.encode(rows))
    except UnicodeEncodeError:
        return msgspec.json.decode(msgspec.json.encode(encodable_value(rows)))


def has(store: SessionStore, method: str) -> bool:
    """Whether a store has one of the methods that it may leave out; it need not inherit from ours."""
    return getattr(type(store), method, None) not in (None, getattr(SessionStore, method))
