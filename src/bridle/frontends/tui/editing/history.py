"""Remembers prompts in `history.jsonl`, shared with every other session and with Claude Code."""

import hashlib
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from bridle.frontends.tui.editing.attachments import Attachment, PastedText
from bridle.host.files import make_folders, read_bytes, write_atomic
from bridle.host.lock import lock_fd

_LARGEST_READ = 8 << 20
_MOST_ENTRIES = 1000
_INLINE = 1024
"""Longer pasted texts are kept in files of their own."""
_LONGEST_PROMPT = 100_000
_LOCK_TRIES = 40


class HistoryEntry(Struct, frozen=True):
    """A prompt of the past."""

    shown: str
    project: str
    attachments: Mapping[int, Attachment] = {}
    time: float | None = None
    """When it was sent, in seconds since the epoch."""


class History:
    """The prompts of this and other projects, newest first."""

    def __init__(
        self, home: str, project: str, session: str, *, clock: Callable[[], float] = time.time
    ) -> None:
        """`home` is the folder of the configuration."""
        self._path = os.path.join(home, "history.jsonl")
        self._pastes = os.path.join(home, "paste-cache")
        self._project, self._clock = project, clock
        self.session = session
        """The conversation that prompts are added for."""
        self._read: list[HistoryEntry] | None = None
        self._own: list[HistoryEntry] = []

    def entries(self, *, everywhere: bool = False) -> Sequence[HistoryEntry]:
        """Past prompts of this project, or of all, each text once; this session's come first."""
        if self._read is None:
            self._read = list(self._load())
        known: dict[str, HistoryEntry] = {}
        for entry in (*reversed(self._own), *self._read):
            if everywhere or entry.project == self._project:
                known.setdefault(entry.shown, entry)
        return list(known.values())[:_MOST_ENTRIES]

    def add(self, shown: str, attachments: Mapping[int, Attachment]) -> None:
        """Remember a prompt that was sent; what cannot be written is remembered for this session alone."""
        if not shown.strip():
            return
        texts = {number: each for number, each in attachments.items() if isinstance(each, PastedText)}
        self._own.append(HistoryEntry(shown, self._project, texts, self._clock()))
        try:
            pasted = {str(number): self._saved(number, each.text) for number, each in texts.items()}
            self._append({
                "display": shown[:_LONGEST_PROMPT],
                "pastedContents": pasted,
                "timestamp": int(self._clock() * 1000),
                "project": self._project,
                "sessionId": self.session,
            })  # fmt: skip
        except OSError:
            # A full disk or a read-only home must not stop the conversation.
            return

    def _append(self, entry: Mapping[str, Any]) -> None:
        make_folders(os.path.dirname(self._path), private=True)
        fd = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            for _ in range(_LOCK_TRIES):
                if lock_fd(fd):
                    break
                time.sleep(0.005)
            # A single append of a line is atomic even when the lock is held for too long.
            os.write(fd, msgspec.json.encode(entry) + b"\n")
        finally:
            os.close(fd)

    def _saved(self, number: int, text: str) -> dict[str, Any]:
        if len(text) <= _INLINE:
            return {"id": number, "type": "text", "content": text}
        data = text.encode("utf-8", "replace")
        name = hashlib.sha256(data).hexdigest()[:16]
        path = os.path.join(self._pastes, f"{name}.txt")
        if not os.path.exists(path):
            write_atomic(path, data, mode=0o600)
        return {"id": number, "type": "text", "contentHash": name}

    def _load(self) -> Iterator[HistoryEntry]:
        for line in reversed(_last_lines(self._path)):
            try:
                entry = msgspec.json.decode(line)
            except msgspec.DecodeError:
                continue
            if (remembered := self._remembered(entry)) is not None:
                yield remembered

    def _remembered(self, entry: object) -> HistoryEntry | None:
        match entry:
            case {"display": str(shown), **rest} if shown.strip():
                pasted = rest.get("pastedContents")
                held = dict(self._pasted(pasted)) if isinstance(pasted, dict) else {}
                sent = rest.get("timestamp")
                when = sent / 1000 if isinstance(sent, int | float) else None
                return HistoryEntry(shown, str(rest.get("project", "")), held, when)
            case _:
                return None

    def _pasted(self, pasted: Mapping[str, Any]) -> Iterator[tuple[int, Attachment]]:
        for number, each in pasted.items():
            match each:
                case {"content": str(text)} if number.isdecimal():
                    yield int(number), PastedText(text)
                case {"contentHash": str(name)} if number.isdecimal() and name.isalnum():
                    try:
                        data = read_bytes(os.path.join(self._pastes, f"{name}.txt"), _LARGEST_READ)
                    except OSError:
                        continue  # Cleaned up since; the placeholder stays as text.
                    yield int(number), PastedText(data.decode("utf-8", "replace"))
                case _:
                    pass  # Images are not kept.


class Browsing:
    """Up and down through past prompts, with the draft at the lower end."""

    def __init__(self, entries: Sequence[HistoryEntry], draft: str) -> None:
        self._entries = entries
        self._draft = draft
        self._at = -1

    @property
    def is_at_draft(self) -> bool:
        """Whether nothing of the past is shown."""
        return self._at < 0

    def previous(self) -> HistoryEntry | None:
        """The prompt before; None when there is none."""
        if self._at + 1 >= len(self._entries):
            return None
        self._at += 1
        return self._entries[self._at]

    def next(self) -> HistoryEntry | str | None:
        """The prompt after, at last the draft; None when the draft is shown already."""
        if self._at < 0:
            return None
        self._at -= 1
        return self._draft if self._at < 0 else self._entries[self._at]


class Search:
    """Finds past prompts while the query is typed."""

    def __init__(self, entries: Callable[[bool], Sequence[HistoryEntry]]) -> None:
        """`entries` gives the prompts of this project, or of all when called with True."""
        self._entries = entries
        self.everywhere = False
        self.query = ""
        self.at = 0
        """Which match is chosen, 0 for the newest."""

    @property
    def matches(self) -> Sequence[HistoryEntry]:
        """What holds the query, newest first."""
        wanted = self.query.casefold()
        return [entry for entry in self._entries(self.everywhere) if wanted in entry.shown.casefold()]

    @property
    def current(self) -> HistoryEntry | None:
        """The match that is shown; None when nothing holds the query."""
        matches = self.matches
        return matches[min(self.at, len(matches) - 1)] if matches else None

    def type(self, text: str) -> None:
        """Make the query longer."""
        self.query += text
        self.at = 0

    def backspace(self) -> None:
        """Make the query shorter."""
        self.query = self.query[:-1]
        self.at = 0

    def next(self) -> bool:
        """Go to an older match; False when there is none."""
        if self.at + 1 >= len(self.matches):
            return False
        self.at += 1
        return True

    def previous(self) -> None:
        """Go to a newer match."""
        self.at = max(self.at - 1, 0)

    def cycle_scope(self) -> None:
        """Search this project or all of them."""
        self.everywhere = not self.everywhere
        self.at = 0


def _last_lines(path: str) -> list[bytes]:
    """The lines at the end of a file that may be long or missing."""
    try:
        with open(path, "rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(size - _LARGEST_READ, 0))
            lines = file.read().splitlines()
    except OSError:
        return []
    return lines[1:] if size > _LARGEST_READ else lines
