"""The conversations that one was copied from."""

from collections.abc import Iterable, Mapping
from typing import Any

from bridle.transcripts.line import is_uuid
from bridle.transcripts.reader import opening
from bridle.transcripts.session import Session
from bridle.transcripts.store import lookup, transcript_path

_MOST = 20


def origin_of(entries: Iterable[Mapping[str, Any]]) -> str | None:
    """The conversation that entries were copied from."""
    named = (forked_from(entry).get("sessionId") for entry in entries)
    return next((each for each in named if isinstance(each, str) and is_uuid(each)), None)


def forked_from(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    """Which entry of which conversation this one is a copy of; empty for one that is none."""
    forked = entry.get("forkedFrom")
    return forked if isinstance(forked, dict) else {}


def origin_folders(session: Session, env: Mapping[str, str]) -> tuple[str, ...]:
    """Where the conversations that this one is a copy of have put things aside, the nearest first."""
    found: dict[str, None] = {}
    # A summary may have taken the place of every entry that was copied.
    origin = origin_of(session.entries) or origin_in(transcript_path(session.id, session.cwd, env))
    while origin is not None and len(found) < _MOST:
        path = lookup(origin, session.cwd, env)
        if path is None or (folder := path.removesuffix(".jsonl")) in found:
            break
        found[folder] = None
        origin = origin_in(path)
    return tuple(found)


def origins_of(ids: Iterable[str], env: Mapping[str, str]) -> dict[str, str]:
    """The conversation that each of these began as a copy of, for those that did; it reads files."""
    from bridle.transcripts.listing import transcript_paths

    paths = transcript_paths(env)
    found = ((each, origin_in(paths[each])) for each in ids if each in paths)
    return {each: origin for each, origin in found if origin is not None}


def origin_in(path: str) -> str | None:
    """The conversation that the one in this file began as a copy of."""
    try:
        first = opening(path)
    except OSError:
        return None
    return None if first is None else origin_of((first,))
