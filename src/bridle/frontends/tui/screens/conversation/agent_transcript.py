"""Reads what agents of a session have said, from their own transcripts."""

import os.path
from collections.abc import Mapping, Sequence
from typing import Any

from bridle.engine.runtime import Runtime
from bridle.features.agents.records import PROCESS_SESSION
from bridle.features.agents.transcripts import read_meta
from bridle.transcripts.conversation import fold
from bridle.transcripts.reader import load
from bridle.transcripts.store import lookup


def agent_messages(runtime: Runtime, agent_id: str) -> Sequence[Mapping[str, Any]]:
    """What an agent and its task have said so far; nothing where it has said nothing yet."""
    session = read_meta(runtime, agent_id).get(PROCESS_SESSION)
    if isinstance(session, str) and (path := lookup(session, runtime.workspace.start, runtime.env)):
        try:
            return fold(load(path, team=True).entries).messages
        except OSError:
            return ()
    for folder in runtime.records.folders:
        try:
            loaded = load(os.path.join(folder, "subagents", f"agent-{agent_id}.jsonl"), sidechain=True)
        except OSError:
            continue
        return fold(loaded.entries).messages
    return ()
