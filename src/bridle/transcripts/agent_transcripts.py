"""Conversations of agents, which lie beside that of the session that started them."""

import os
from collections.abc import Iterator, Mapping
from typing import Any

from bridle.transcripts.listing import locate
from bridle.transcripts.management import SessionMessage, page
from bridle.transcripts.reader import Loaded, load
from bridle.transcripts.transcript import agent_facts


def agent_files(transcript: str) -> Iterator[tuple[str, str]]:
    """The id and the file of every agent of a session, in the order of their names."""
    yield from _walk(os.path.join(transcript.removesuffix(".jsonl"), "subagents"))


def agent_ids(session_id: str, env: Mapping[str, str], *, directory: str | None = None) -> list[str]:
    """The agents of a session; none for a session that is not there."""
    path = locate(session_id, env, directory)
    return [] if path is None else [agent_id for agent_id, _ in agent_files(path)]


def agent_messages(
    session_id: str,
    agent_id: str,
    env: Mapping[str, str],
    *,
    directory: str | None = None,
    limit: int | None = None,
    offset: int = 0,
) -> list[SessionMessage]:
    """What was said to and by an agent, oldest first; nothing where there is no such agent."""
    transcript = locate(session_id, env, directory)
    found = () if transcript is None else agent_files(transcript)
    path = next((place for name, place in found if name == agent_id), None)
    if path is None:
        return []
    try:
        loaded = load(path, sidechain=True)
    except OSError:
        return []
    return said_by_agent(loaded, agent_facts(path), limit=limit, offset=offset)


def said_by_agent(
    loaded: Loaded, facts: Mapping[str, Any] | None, *, limit: int | None = None, offset: int = 0
) -> list[SessionMessage]:
    """The messages of an agent, each with the call and the agent that started it."""
    call, starter = (None if facts is None else facts.get(key) for key in ("toolUseId", "parentAgentId"))
    found = [
        SessionMessage(
            type=row["type"],
            uuid=row["uuid"],
            session_id=row["sessionId"],
            message=row["message"],
            parent_tool_use_id=call if isinstance(call, str) else None,
            parent_agent_id=starter if isinstance(starter, str) else None,
        )
        for row in loaded.chain
        if row["type"] in ("user", "assistant")
    ]
    return page(found, limit=limit, offset=offset)


def _walk(folder: str) -> Iterator[tuple[str, str]]:
    try:
        with os.scandir(folder) as entries:
            listed = sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return
    for entry in listed:
        if entry.is_dir(follow_symlinks=False):
            yield from _walk(entry.path)
        elif entry.name.startswith("agent-") and entry.name.endswith(".jsonl") and entry.is_file():
            yield entry.name.removeprefix("agent-").removesuffix(".jsonl"), entry.path
