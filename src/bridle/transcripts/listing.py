"""Lists conversations without reading them: the two ends of each file say enough."""

import os
import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from bridle.host.git.repository import worktrees
from bridle.host.paths import project_dir, projects_dir
from bridle.transcripts.conversation import blocks_of
from bridle.transcripts.line import decode_line, is_uuid
from bridle.types.errors import SessionError
from bridle.types.text import printable

_END_BYTES = 64 * 1024
_LONGEST_PROMPT = 200
_MOST_TOLD = 5
_COMMAND = re.compile(r"<command-name>(.*?)</command-name>")
_NOT_ASKED = re.compile(
    r"<local-command-stdout>|<session-start-hook>|<tick>|<goal>|\[Request interrupted by user[^\]]*\]|"
    r"<ide_opened_file>.*</ide_opened_file>$|<ide_selection>.*</ide_selection>$"
)
"""Beginnings of texts that stand on the user's side but were not written by the user."""


class SessionInfo(Struct, kw_only=True):
    """A conversation as lists show it; times are milliseconds since the epoch."""

    session_id: str
    summary: str
    """Its title, or what was last asked, or what was first asked."""
    last_modified: int
    file_size: int | None = None
    custom_title: str | None = None
    first_prompt: str | None = None
    git_branch: str | None = None
    cwd: str | None = None
    tag: str | None = None
    created_at: int | None = None


def list_sessions(
    env: Mapping[str, str],
    *,
    directory: str | None = None,
    limit: int | None = None,
    offset: int = 0,
    include_worktrees: bool = True,
) -> list[SessionInfo]:
    """The conversations of a folder and of its git worktrees, or of every folder; the newest first."""
    found: list[SessionInfo] = []
    wanted = None if not limit else offset + limit
    known: set[str] = set()
    for _, path, cwd in _newest_first(_folders(env, directory, include_worktrees=include_worktrees)):
        session_id = os.path.basename(path).removesuffix(".jsonl")
        if session_id in known or (info := read_info(path, cwd)) is None:
            continue
        known.add(session_id)
        found.append(info)
        if len(found) == wanted:
            break
    return found[offset:]


def find_by_name(wanted: str, env: Mapping[str, str], *, directory: str | None = None) -> str | None:
    """The id of the conversation with this name, or with these words in its name or subject; None for none.

    A folder's own conversations go before those of others, and a whole name before a part of one.

    Raises:
        SessionError: several fit.
    """
    text = wanted.strip().casefold()
    if not text:
        return None
    for place in dict.fromkeys((directory, None)):
        found = list_sessions(env, directory=place)
        for fits in (_is_named, _is_named_in_part, _is_about):
            hits = [info for info in found if fits(info, text)]
            if len(hits) == 1:
                return hits[0].session_id
            if hits:
                raise SessionError(_several(wanted, hits))
    return None


def _is_named(info: SessionInfo, text: str) -> bool:
    return (info.custom_title or "").casefold() == text


def _is_named_in_part(info: SessionInfo, text: str) -> bool:
    return text in (info.custom_title or "").casefold()


def _is_about(info: SessionInfo, text: str) -> bool:
    return text in info.summary.casefold() or text in (info.first_prompt or "").casefold()


def _several(wanted: str, hits: list[SessionInfo]) -> str:
    some = "\n".join(f"  {info.session_id}  {printable(info.summary)[:60]}" for info in hits[:_MOST_TOLD])
    more = f"\n  … and {len(hits) - _MOST_TOLD} more" if len(hits) > _MOST_TOLD else ""
    return f"{len(hits)} conversations match {wanted!r}. Resume one by its id:\n{some}{more}"


def locate(session_id: str, env: Mapping[str, str], directory: str | None = None) -> str | None:
    """The transcript with this id in a folder or its worktrees, or in any folder."""
    if not is_uuid(session_id):
        return None
    for folder, _ in _folders(env, directory, include_worktrees=True):
        path = os.path.join(folder, f"{session_id}.jsonl")
        if os.path.isfile(path) and os.path.getsize(path):
            return path
    return None


def transcript_paths(env: Mapping[str, str]) -> dict[str, str]:
    """Where the conversation of each id is, of all folders."""
    found: dict[str, str] = {}
    for folder, _ in _folders(env, None, include_worktrees=False):
        try:
            names = os.listdir(folder)
        except OSError:
            continue  # It is no folder, or is being removed right now.
        for name in names:
            if name.endswith(".jsonl"):
                found.setdefault(name.removesuffix(".jsonl"), os.path.join(folder, name))
    return found


def read_info(path: str, cwd: str | None = None) -> SessionInfo | None:
    """What a list shows of a transcript; None for one that holds nothing to show."""
    try:
        with open(path, "rb") as file:
            status = os.fstat(file.fileno())
            head = file.read(_END_BYTES)
            tail = head
            if status.st_size > _END_BYTES:
                file.seek(status.st_size - _END_BYTES)
                tail = file.read(_END_BYTES)
    except OSError:
        return None
    if not head or b'"isSidechain":true' in head.partition(b"\n")[0]:
        return None
    title = (
        _last(tail, b"customTitle")
        or _last(head, b"customTitle")
        or _last(tail, b"aiTitle")
        or _last(head, b"aiTitle")
    )
    first = first_prompt(head)
    summary = title or _last(tail, b"lastPrompt") or _last(tail, b"summary") or first
    if not summary:
        return None
    return SessionInfo(
        session_id=os.path.basename(path).removesuffix(".jsonl"),
        summary=summary,
        last_modified=int(status.st_mtime * 1000),
        file_size=status.st_size,
        custom_title=title or None,
        first_prompt=first,
        git_branch=_last(tail, b"gitBranch") or _first(head, b"gitBranch") or None,
        cwd=_first(head, b"cwd") or cwd,
        tag=_tag(tail),
        created_at=_milliseconds(_first(head, b"timestamp")),
    )


def first_prompt(head: bytes) -> str | None:
    """The first thing that a person asked, cut to a length that lists can show."""
    command = None
    for line in head.split(b"\n"):
        if b'"type":"user"' not in line and b'"type": "user"' not in line:
            continue
        asked, called = prompt_in(decode_line(line) or {})
        if asked is not None:
            return asked
        command = command or called
    return command


def prompt_in(row: Mapping[str, Any]) -> tuple[str | None, str | None]:
    """What a person asks in a row, short enough for a list, and the first command that is called there."""
    command = None
    if row.get("type") != "user" or row.get("isMeta") or row.get("isCompactSummary"):
        return None, None
    for text in _texts(row):
        if match := _COMMAND.search(text):
            command = command or match[1]
        elif not _NOT_ASKED.match(text):
            short = text if len(text) <= _LONGEST_PROMPT else f"{text[:_LONGEST_PROMPT].rstrip()}…"
            return short, command
    return None, command


def _texts(row: Mapping[str, Any]) -> Iterator[str]:
    message = row.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    if not isinstance(content, str | list):
        return
    blocks = [block for block in blocks_of(content) if isinstance(block, dict)]
    if any(block.get("type") == "tool_result" for block in blocks):
        return
    for block in blocks:
        text = block.get("text")
        if (
            block.get("type") == "text"
            and isinstance(text, str)
            and (plain := text.replace("\n", " ").strip())
        ):
            yield plain


def _folders(
    env: Mapping[str, str], directory: str | None, *, include_worktrees: bool
) -> Iterator[tuple[str, str | None]]:
    """Folders of transcripts, with the project that each belongs to where that is known."""
    if directory is not None:
        projects = [os.path.realpath(directory)]
        if include_worktrees:
            projects += (each for each in worktrees(projects[0]) if each not in projects)
        folders: dict[str, str] = {}
        for project in projects:
            # A variable may give all of them one folder.
            folders.setdefault(project_dir(project, env), project)
        yield from folders.items()
        return
    try:
        names = sorted(os.listdir(projects_dir(env)))
    except OSError:
        return
    for name in names:
        yield os.path.join(projects_dir(env), name), None


def _newest_first(folders: Iterator[tuple[str, str | None]]) -> list[tuple[int, str, str | None]]:
    found: list[tuple[int, str, str | None]] = []
    for folder, cwd in folders:
        try:
            with os.scandir(folder) as entries:
                found += (
                    (entry.stat().st_mtime_ns, entry.path, cwd)
                    for entry in entries
                    if entry.name.endswith(".jsonl") and is_uuid(entry.name.removesuffix(".jsonl"))
                )
        except OSError:
            continue  # Nothing was ever said there, or it is being removed right now.
    return sorted(found, key=lambda each: each[0], reverse=True)


def _first(text: bytes, key: bytes) -> str | None:
    return _value(text, text.find(b'"%s":' % key), key)


def _last(text: bytes, key: bytes) -> str | None:
    """The last text under a key, wherever it stands; half lines at the edges do no harm."""
    at = len(text)
    while (at := text.rfind(b'"%s":' % key, 0, at)) >= 0:
        if (value := _value(text, at, key)) is not None:
            return value
    return None


_TEXT = re.compile(rb' ?("(?:[^"\\]|\\.)*")')


def _value(text: bytes, at: int, key: bytes) -> str | None:
    if at < 0 or (match := _TEXT.match(text, at + len(key) + 3)) is None:
        return None
    try:
        return msgspec.json.decode(match[1], type=str)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return match[1][1:-1].decode(errors="replace")


def _tag(tail: bytes) -> str | None:
    at = tail.rfind(b'{"type":"tag"')
    if at < 0:
        return None
    return _last(tail[at:].partition(b"\n")[0], b"tag") or None


def _milliseconds(moment: str | None) -> int | None:
    if moment is None:
        return None
    from datetime import datetime

    try:
        return int(datetime.fromisoformat(moment).timestamp() * 1000)
    except ValueError:
        return None
