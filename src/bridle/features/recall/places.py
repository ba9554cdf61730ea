"""Where agents keep their transcripts on this machine."""

import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import Literal

from msgspec import Struct

from bridle.features.recall import messages
from bridle.features.recall.messages import Head, Parse, Said, read_line, read_lines
from bridle.host.paths import config_home

Source = Literal["claude", "codex", "gemini", "opencode", "pi"]
SOURCES: tuple[Source, ...] = ("claude", "codex", "gemini", "opencode", "pi")
"""`claude` is the store that bridle and Claude Code share."""

_BY_LINE: Mapping[Source, Parse] = {
    "claude": messages.claude_row,
    "codex": messages.codex_row,
    "pi": messages.pi_row,
}


class Unit(Struct, frozen=True):
    """A conversation, or a part of one, that is read in one piece."""

    source: Source
    key: str
    """Its file; for a session in a database the file, `#` and the id."""
    stamp: int
    size: int

    @property
    def grows(self) -> bool:
        """It is a file to which lines are added."""
        return self.source in _BY_LINE

    def read(self, start: int, head: Head) -> Iterator[tuple[int, int, Said | None]]:
        """What was said from a place on, with the places where each message begins and ends.

        Raises:
            OSError: it cannot be read.
            sqlite3.Error: it cannot be read.
        """
        if (parse := _BY_LINE.get(self.source)) is not None:
            yield from read_lines(self.key, start, head, parse)
            return
        for number, said in enumerate(self._whole(head)):
            yield number, number + 1, said

    def said_at(self, place: int) -> Said | None:
        """The message at a place; None when it is there no more."""
        try:
            if (parse := _BY_LINE.get(self.source)) is not None:
                return read_line(self.key, place, parse)
            found = (said for number, said in enumerate(self._whole(Head())) if number == place)
            return next(found, None)
        except (OSError, sqlite3.Error):
            return None

    def _whole(self, head: Head) -> Iterator[Said | None]:
        if self.source == "gemini":
            return messages.gemini_messages(self.key, head)
        path, hash, session = self.key.rpartition("#")
        if hash and path.endswith(".db"):
            return messages.opencode_session(path, session, head)
        return messages.opencode_file(self.key, head)


def find_units(env: Mapping[str, str]) -> Iterator[Unit]:
    """Everything that can be searched, as it is now."""
    home = env.get("HOME") or os.path.expanduser("~")
    claude = os.path.join(config_home(env), "projects")
    codex = env.get("CODEX_HOME") or os.path.join(home, ".codex")
    data = env.get("XDG_DATA_HOME") or os.path.join(home, ".local", "share")
    yield from _files("claude", claude, ".jsonl", 4)
    for folder in ("sessions", "archived_sessions"):
        yield from _files("codex", os.path.join(codex, folder), ".jsonl", 4)
    for unit in _files("gemini", os.path.join(home, ".gemini", "tmp"), ".json", 3):
        if os.sep + "chats" + os.sep in unit.key:
            yield unit
    yield from _files("pi", os.path.join(home, ".pi", "agent", "sessions"), ".jsonl", 2)
    opencode = os.path.join(data, "opencode")
    databases = list(_databases(opencode))
    for path in databases:
        yield from _sessions(path)
    if not databases:
        yield from _files("opencode", os.path.join(opencode, "storage", "message"), ".json", 2)


def _files(source: Source, folder: str, end: str, depth: int) -> Iterator[Unit]:
    """The files below a folder with this ending, links not followed."""
    try:
        entries = list(os.scandir(folder))
    except OSError:
        return
    for entry in entries:
        try:
            if entry.name.endswith(end) and entry.is_file(follow_symlinks=False):
                status = entry.stat(follow_symlinks=False)
                yield Unit(source, entry.path, status.st_mtime_ns, status.st_size)
            elif depth > 1 and entry.is_dir(follow_symlinks=False):
                yield from _files(source, entry.path, end, depth - 1)
        except OSError:
            continue  # It is being removed right now.


def _databases(folder: str) -> Iterator[str]:
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return
    yield from (
        os.path.join(folder, name) for name in names if name.startswith("opencode") and name.endswith(".db")
    )


def _sessions(path: str) -> Iterator[Unit]:
    try:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=2.0)) as store:
            rows = store.execute("SELECT id, time_updated FROM session").fetchall()
    except sqlite3.Error:
        return
    for session, updated in rows:
        if isinstance(session, str) and isinstance(updated, int):
            yield Unit("opencode", f"{path}#{session}", updated * 1_000_000, 0)
