"""The files of a run: its script, its state, and the result of every agent that finished."""

import fcntl
import hashlib
import os
import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from bridle.host.files import make_folders, read_bytes, write_atomic
from bridle.types.services.workflows import RunState

_RUN_ID = re.compile(r"wf_[0-9a-f]{12}")
_LARGEST_NOTE = 4_000_000
_LARGEST_JOURNAL = 512_000_000
_COSMETIC = ("label", "phase")
"""What an agent never sees, so that changing it changes no result."""


class RunNote(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A run as `run.json` keeps it."""

    run_id: str
    name: str
    description: str
    phases: tuple[tuple[str, str], ...] = ()
    """Titles and details."""
    args: Any = msgspec.UNSET
    origin: str | None = None
    """The file that the script was read from."""
    state: RunState = "running"
    started: float = 0.0
    ended: float | None = None
    preview: str = ""
    logs: tuple[str, ...] = ()


class Record(Struct, frozen=True, kw_only=True, rename="camel"):
    """One line of the journal: an agent that finished."""

    key: str
    occurrence: int
    number: int
    label: str
    phase: str | None
    model: str
    agent_id: str | None
    tokens: int
    output_tokens: int
    tool_uses: int
    seconds: float
    result: Any


def call_key(prompt: str, options: Mapping[str, Any]) -> str:
    """What makes two calls the same work, whatever their order and names."""
    matters = {name: value for name, value in options.items() if name not in _COSMETIC}
    text = msgspec.json.encode([prompt, matters], order="deterministic")
    return hashlib.sha256(text).hexdigest()[:32]


def new_run_id() -> str:
    return f"wf_{os.urandom(6).hex()}"


def is_run_id(text: str) -> bool:
    return _RUN_ID.fullmatch(text) is not None


class RunFolder:
    """The folder of one run beside the session."""

    def __init__(self, storage: str, run_id: str) -> None:
        self.path = os.path.join(storage, "workflows", run_id)
        self.script = os.path.join(self.path, "script.js")
        self.result = os.path.join(self.path, "result.json")
        self._note = os.path.join(self.path, "run.json")
        self._journal = os.path.join(self.path, "journal.jsonl")

    def exists(self) -> bool:
        return os.path.isfile(self._note)

    def read_note(self) -> RunNote:
        """The state of the run.

        Raises:
            OSError: nothing is kept of it.
            msgspec.MsgspecError: what is kept cannot be read.
        """
        return msgspec.json.decode(read_bytes(self._note, _LARGEST_NOTE), type=RunNote)

    def read_script(self) -> str:
        """The script that was last run.

        Raises:
            OSError: it cannot be read.
        """
        return read_bytes(self.script, _LARGEST_NOTE).decode(errors="replace")

    def write_note(self, note: RunNote) -> None:
        """Save the state of the run.

        Raises:
            OSError: it cannot be written.
        """
        make_folders(self.path, private=True)
        write_atomic(self._note, msgspec.json.encode(note), mode=0o600)

    def write(self, path: str, data: bytes) -> None:
        """Keep a file of the run.

        Raises:
            OSError: it cannot be written.
        """
        make_folders(self.path, private=True)
        write_atomic(path, data, mode=0o600)

    def records(self) -> Iterator[Record]:
        """The agents that finished, in the order of their ends; a line that was torn costs only itself."""
        try:
            lines = read_bytes(self._journal, _LARGEST_JOURNAL).split(b"\n")
        except FileNotFoundError:
            return
        for line in lines:
            try:
                yield msgspec.json.decode(line, type=Record)
            except msgspec.MsgspecError:
                continue  # An empty last line, or one that a killed process left.

    def open_journal(self) -> "Journal":
        """The results so far, open for more.

        Raises:
            BlockingIOError: another process works on the run.
            OSError: it cannot be written.
        """
        make_folders(self.path, private=True)
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        file = os.open(self._journal, flags, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(file)
            raise
        return Journal(tuple(self.records()), file)

    def take_over(self, other: "RunFolder") -> None:
        """Copy the results of a run of another conversation, without writing there.

        Raises:
            OSError: it cannot be read or written.
        """
        try:
            finished = read_bytes(other._journal, _LARGEST_JOURNAL)
        except FileNotFoundError:
            finished = b""
        self.write(self._journal, finished)

    def is_held(self) -> bool:
        """Whether a process works on the run."""
        try:
            file = os.open(self._journal, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(file)
        return False


class Journal:
    """Results by what was asked for; closed with the run."""

    def __init__(self, records: tuple[Record, ...], file: int) -> None:
        self._known = {(record.key, record.occurrence): record for record in records}
        self._file: int | None = file
        if (size := os.fstat(file).st_size) and os.pread(file, 1, size - 1) != b"\n":
            os.write(file, b"\n")

    def __len__(self) -> int:
        return len(self._known)

    def find(self, key: str, occurrence: int) -> Record | None:
        """The result of the same work, done before."""
        return self._known.get((key, occurrence))

    def add(self, record: Record) -> None:
        """Keep a result; whole lines, so that two writers never mix.

        Raises:
            OSError: it cannot be written.
        """
        self._known[record.key, record.occurrence] = record
        if self._file is None:
            return
        line = memoryview(msgspec.json.encode(record) + b"\n")
        while line:
            line = line[os.write(self._file, line) :]

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None


def run_folders(storages: tuple[str, ...]) -> list[RunFolder]:
    """Every run that these folders of conversations keep."""
    found: list[RunFolder] = []
    for storage in dict.fromkeys(storages):
        try:
            names = sorted(os.listdir(os.path.join(storage, "workflows")))
        except OSError:
            continue
        found += (RunFolder(storage, name) for name in names if is_run_id(name))
    return [folder for folder in found if folder.exists()]
