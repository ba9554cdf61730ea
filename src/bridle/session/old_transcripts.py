"""Takes over conversations of agents and past prompts that older releases kept in other places."""

import os
import time
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from bridle.host.files import copy_quickly, make_folders, read_bytes
from bridle.host.lock import lock_fd
from bridle.host.paths import config_home
from bridle.transcripts.line import is_uuid
from bridle.transcripts.store import project_dir

_MOST_FILES = 5_000
_MOST_PROMPTS = 100
_LARGEST_HISTORY = 64 << 20
_HEAD = 64 * 1024


def take_over_agents(env: Mapping[str, str], cwd: str) -> int:
    """Copy `agent-<id>.jsonl` files that lie beside their session to where agents are looked for.

    The old files stay as they are, for older programs and as the backup. How many were copied."""
    folder, copied = project_dir(cwd, env), 0
    for path in _old_agents(folder):
        session_id = _session_of(path)
        if session_id is None or not os.path.isfile(os.path.join(folder, f"{session_id}.jsonl")):
            continue
        target = os.path.join(folder, session_id, "subagents", os.path.basename(path))
        if os.path.lexists(target):
            continue
        make_folders(os.path.dirname(target), private=True)
        copy_quickly(path, target)
        copied += 1
    return copied


def take_over_prompts(kept: Mapping[str, Any], env: Mapping[str, str], cwd: str) -> int:
    """Add the prompts that an older release kept in `~/.claude.json` to `history.jsonl`, each once.

    How many were added; the old list stays."""
    listed = kept.get("history")
    prompts = [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
    if not prompts:
        return 0
    path = os.path.join(config_home(env), "history.jsonl")
    known = _known_prompts(path, cwd)
    now = int(time.time() * 1000)
    # The newest comes first there, and last in the file.
    rows = (_row(each, cwd, now) for each in reversed(prompts[:_MOST_PROMPTS]))
    lines = [msgspec.json.encode(row) for row in rows if row is not None and row["display"] not in known]
    if lines:
        make_folders(os.path.dirname(path), private=True)
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            lock_fd(file)
            os.write(file, b"\n".join(lines) + b"\n")
        finally:
            os.close(file)
    return len(lines)


def _row(prompt: Mapping[str, Any], cwd: str, now: int) -> dict[str, Any] | None:
    shown, pasted = prompt.get("display"), prompt.get("pastedContents")
    if not isinstance(shown, str) or not shown.strip():
        return None
    kept = pasted if isinstance(pasted, dict) else {}
    return {"display": shown, "pastedContents": kept, "timestamp": now, "project": cwd}


def _old_agents(folder: str) -> Iterator[str]:
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries[:_MOST_FILES]:
        named = entry.name.startswith("agent-") and entry.name.endswith(".jsonl")
        if named and entry.is_file(follow_symlinks=False):
            yield entry.path


def _session_of(path: str) -> str | None:
    """The session that the first row of an agent names."""
    try:
        with open(path, "rb") as file:
            row = msgspec.json.decode(file.read(_HEAD).partition(b"\n")[0], type=dict[str, Any])
    except (OSError, msgspec.DecodeError, RecursionError):
        return None
    named = row.get("sessionId")
    return named if isinstance(named, str) and is_uuid(named) else None


def _known_prompts(path: str, cwd: str) -> set[str]:
    try:
        data = read_bytes(path, _LARGEST_HISTORY)
    except OSError:
        return set()
    found: set[str] = set()
    for line in data.splitlines():
        try:
            row = msgspec.json.decode(line, type=dict[str, Any])
        except (msgspec.DecodeError, RecursionError):
            continue
        if row.get("project") == cwd and isinstance(shown := row.get("display"), str):
            found.add(shown)
    return found
