"""What an agent remembers from one run to the next: a folder of notes for its type."""

import os
import re
from collections.abc import Mapping

from bridle.features.agents.snapshots import take_snapshot
from bridle.host.files import make_folders, read_bytes
from bridle.host.paths import config_home
from bridle.types.agent import AgentDefinition, MemoryScope

_MOST_LINES = 200
_MOST_BYTES = 25_000
_LARGEST = 1_000_000

_SCOPES: Mapping[MemoryScope, str] = {
    "user": "It is shared by all projects of the user: keep what you learn general.",
    "project": "It is part of the project and shared with everyone who works on it.",
    "local": "It is for this project on this machine and is not committed.",
}


def memory_folder(name: str, scope: MemoryScope, *, cwd: str, env: Mapping[str, str]) -> str:
    """Where an agent of this type keeps its notes; ends with a separator."""
    base = {
        "user": os.path.join(config_home(env), "agent-memory"),
        "project": os.path.join(cwd, ".claude", "agent-memory"),
        "local": os.path.join(cwd, ".claude", "agent-memory-local"),
    }[scope]
    return os.path.join(base, safe_name(name), "")


def kept_folder(name: str, scope: MemoryScope, *, cwd: str, env: Mapping[str, str]) -> str:
    """The folder of an agent's notes where it really is.

    Only the way to the project or to the configuration is followed: a link in place of the folder itself
    could lead anywhere."""
    base = config_home(env) if scope == "user" else cwd
    folder = memory_folder(name, scope, cwd=cwd, env=env)
    return os.path.join(os.path.realpath(base), os.path.relpath(folder, base))


def memory_prompt(
    definition: AgentDefinition, *, cwd: str, env: Mapping[str, str], trusted: bool = False
) -> str:
    """The part of its prompt that is about memory, with the notes as they are now; empty without memory.

    In a folder that the user trusts, notes that the project hands out are taken over first.
    """
    if definition.memory is None:
        return ""
    folder = memory_folder(definition.name, definition.memory, cwd=cwd, env=env)
    try:
        make_folders(folder, private=definition.memory == "user")
    except OSError:
        pass  # Write makes it, or says why it cannot.
    newer = take_snapshot(folder, snapshot_folder(definition.name, cwd)) if trusted else ""
    return _PROMPT.format(folder=folder, scope=_SCOPES[definition.memory], notes=_notes(folder)) + newer


def snapshot_folder(name: str, cwd: str) -> str:
    """Where a project keeps notes that agents of this type begin with."""
    return os.path.join(cwd, ".claude", "agent-memory-snapshots", safe_name(name))


_PROMPT = """

# Persistent Agent Memory
You have a folder of your own at {folder} that outlives this run. {scope}
- Write down what will help the next time: how things are done here, what went wrong, where things are. \
Nothing about the task at hand, nothing secret.
- MEMORY.md is shown to you at every start, its first 200 lines: keep it short, and put details into other \
files that it names. Correct or delete notes that turn out wrong.

## MEMORY.md
{notes}"""


def _notes(folder: str) -> str:
    try:
        data = read_bytes(os.path.join(folder, "MEMORY.md"), _LARGEST)
    except OSError:
        return "(none yet)"
    text = data[:_MOST_BYTES].decode("utf-8", "replace")
    lines = text.splitlines()
    shown = "\n".join(lines[:_MOST_LINES]).strip()
    if len(lines) > _MOST_LINES or len(data) > _MOST_BYTES:
        shown += "\n(truncated: the file is too long)"
    return shown or "(empty)"


def safe_name(name: str) -> str:
    """A type as the name of a folder; the colons of plugins become dashes."""
    cleaned = re.sub(r"[^\w.-]", "-", name)[:100]
    return cleaned if cleaned.strip(".") else "agent"
