"""The store of a hub: one SQLite file, written in groups by one thread."""

import asyncio
import os
import queue
import secrets
import sqlite3
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any, TypeVar

from bridle.types.errors import BridleError

T = TypeVar("T")

SCHEMA_VERSION = 2
_MOST_IN_A_GROUP = 1_000
_READERS = 2
_BUSY_SECONDS = 10
_FILE = "hub.sqlite"

_FIRST_SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE codes (
    digest TEXT PRIMARY KEY, kind TEXT NOT NULL, role TEXT NOT NULL, name TEXT NOT NULL,
    expires REAL NOT NULL
) WITHOUT ROWID;
CREATE TABLE devices (
    id TEXT PRIMARY KEY, name TEXT NOT NULL, role TEXT NOT NULL, digest TEXT NOT NULL UNIQUE,
    created REAL NOT NULL, seen REAL NOT NULL, revoked REAL
);
CREATE TABLE machines (
    id TEXT PRIMARY KEY, name TEXT NOT NULL, digest TEXT NOT NULL UNIQUE,
    created REAL NOT NULL, seen REAL NOT NULL, revoked REAL
);
CREATE TABLE environments (
    id TEXT PRIMARY KEY, machine TEXT NOT NULL, name TEXT NOT NULL, directory TEXT NOT NULL,
    branch TEXT NOT NULL, repository TEXT, max_sessions INTEGER NOT NULL, worker_type TEXT NOT NULL,
    reuse TEXT, secret TEXT NOT NULL UNIQUE, created REAL NOT NULL, seen REAL NOT NULL, removed REAL
);
CREATE UNIQUE INDEX environments_reused ON environments (machine, reuse) WHERE reuse IS NOT NULL;
CREATE TABLE sessions (
    id TEXT PRIMARY KEY, environment TEXT, machine TEXT, title TEXT NOT NULL, source TEXT NOT NULL,
    mode TEXT NOT NULL, context TEXT NOT NULL, tags TEXT NOT NULL, created REAL NOT NULL,
    updated REAL NOT NULL, archived REAL, epoch INTEGER NOT NULL DEFAULT 0,
    status TEXT NOT NULL DEFAULT 'idle', external TEXT NOT NULL DEFAULT '{}',
    internal TEXT NOT NULL DEFAULT '{}', sent INTEGER NOT NULL DEFAULT 0, received INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE work (
    id TEXT PRIMARY KEY, environment TEXT NOT NULL, session TEXT NOT NULL, state TEXT NOT NULL,
    created REAL NOT NULL, delivered REAL, acknowledged REAL, heartbeat REAL, lease REAL
);
CREATE INDEX work_waiting ON work (environment, state, created);
CREATE INDEX work_of_session ON work (session);
CREATE TABLE events (
    session TEXT NOT NULL, side TEXT NOT NULL, number INTEGER NOT NULL, uuid TEXT NOT NULL,
    kind TEXT NOT NULL, body BLOB NOT NULL, device TEXT, delivery TEXT, created REAL NOT NULL,
    PRIMARY KEY (session, side, number)
) WITHOUT ROWID;
CREATE UNIQUE INDEX events_once ON events (session, side, uuid);
CREATE TABLE questions (
    session TEXT NOT NULL, id TEXT NOT NULL, digest TEXT NOT NULL, request TEXT NOT NULL,
    opened REAL NOT NULL, closed REAL, answer TEXT, closed_by TEXT,
    PRIMARY KEY (session, id)
) WITHOUT ROWID;
CREATE INDEX questions_open ON questions (opened) WHERE closed IS NULL;
CREATE TABLE files (
    id TEXT PRIMARY KEY, name TEXT NOT NULL, kind TEXT NOT NULL, size INTEGER NOT NULL,
    device TEXT NOT NULL, created REAL NOT NULL
);
CREATE TABLE done (
    device TEXT NOT NULL, id TEXT NOT NULL, answer TEXT NOT NULL, at REAL NOT NULL, PRIMARY KEY (device, id)
) WITHOUT ROWID;
CREATE INDEX done_old ON done (at);
CREATE TABLE audit (
    number INTEGER PRIMARY KEY AUTOINCREMENT, at REAL NOT NULL, actor TEXT NOT NULL, action TEXT NOT NULL,
    session TEXT, detail TEXT NOT NULL
);
"""

_KEYS_AND_PUSH = """
CREATE TABLE keys (
    machine TEXT NOT NULL, device TEXT NOT NULL, public TEXT NOT NULL, proof TEXT NOT NULL, ring TEXT,
    created REAL NOT NULL, PRIMARY KEY (machine, device)
) WITHOUT ROWID;
CREATE TABLE push (
    device TEXT NOT NULL, endpoint TEXT NOT NULL, kind TEXT NOT NULL, p256dh TEXT NOT NULL,
    auth TEXT NOT NULL, has_content INTEGER NOT NULL, created REAL NOT NULL,
    failed INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (device, endpoint)
) WITHOUT ROWID;
"""
_MIGRATIONS: Sequence[str] = (_FIRST_SCHEMA, _KEYS_AND_PUSH)
"""The steps from each version to the next; the first begins with an empty file."""


class StoreError(BridleError):
    """The file of a hub cannot be used."""


class Database:
    """Writes that come while others are being committed are committed together, then answered."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._readers = ThreadPoolExecutor(_READERS, "hub-read")
        self._local = threading.local()
        self._connections: list[sqlite3.Connection] = []
        self._lock = threading.Lock()
        self._writer = threading.Thread(target=self._write_groups, name="hub-write", daemon=True)
        migrate(path)
        self._writer.start()

    async def write(self, job: Callable[[sqlite3.Connection], T]) -> T:
        """Run a job in a transaction and return what it returns, once that is on disk."""
        done: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._jobs.put(_Job(job, done))
        return await done

    async def read(self, job: Callable[[sqlite3.Connection], T]) -> T:
        """Run a job that only reads."""
        return await asyncio.get_running_loop().run_in_executor(self._readers, self._read, job)

    def close(self) -> None:
        """Wait for everything that was asked for, and close the file."""
        self._jobs.put(None)
        self._writer.join()
        self._readers.shutdown()
        for connection in self._connections:
            connection.close()

    def _read(self, job: Callable[[sqlite3.Connection], T]) -> T:
        connection = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._local.connection = connect(self.path)
            with self._lock:
                self._connections.append(connection)
        return job(connection)

    def _write_groups(self) -> None:
        with closing(connect(self.path)) as connection:
            while (first := self._jobs.get()) is not None:
                group, is_last = [first], False
                while len(group) < _MOST_IN_A_GROUP and not self._jobs.empty():
                    job = self._jobs.get()
                    if job is None:
                        is_last = True
                        break
                    group.append(job)
                _commit(connection, group)
                if is_last:
                    return


class _Job:
    __slots__ = ("done", "error", "run", "value")

    def __init__(self, run: Callable[[sqlite3.Connection], Any], done: "asyncio.Future[Any]") -> None:
        self.run = run
        self.done = done
        self.value: Any = None
        self.error: Exception | None = None

    def settle(self) -> None:
        if self.done.cancelled():
            return
        if self.error is not None:
            self.done.set_exception(self.error)
        else:
            self.done.set_result(self.value)


def _commit(connection: sqlite3.Connection, group: Sequence[_Job]) -> None:
    """Run jobs in one transaction; one that fails undoes its own part only."""
    try:
        connection.execute("BEGIN IMMEDIATE")
        for job in group:
            connection.execute("SAVEPOINT job")
            try:
                job.value = job.run(connection)
            except (sqlite3.Error, BridleError, ValueError, KeyError, TypeError) as error:
                job.error = error
                connection.execute("ROLLBACK TO job")
            connection.execute("RELEASE job")
        connection.execute("COMMIT")
    except sqlite3.Error as error:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        for job in group:
            job.error = job.error or StoreError(f"can't write the data of the hub: {error}")
    for loop in {job.done.get_loop() for job in group}:
        mine = [job for job in group if job.done.get_loop() is loop]
        try:
            loop.call_soon_threadsafe(_settle, mine)
        except RuntimeError:
            continue  # The loop has ended: no one waits for these.


def _settle(group: Sequence[_Job]) -> None:
    for job in group:
        job.settle()


def connect(path: str) -> sqlite3.Connection:
    """Open the file."""
    connection = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=NORMAL")
    connection.execute("PRAGMA foreign_keys=ON")
    return connection


def database_path(folder: str) -> str:
    return os.path.join(folder, _FILE)


def migrate(path: str) -> None:
    """Bring a file to the newest version, or make one; nothing is changed where a step fails.

    Raises:
        StoreError: the file is damaged, of a newer bridle, or cannot be written.
    """
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        _create_private(path)
        with closing(connect(path)) as connection:
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            if version > SCHEMA_VERSION:
                raise StoreError(
                    f"{path} was written by a newer bridle: update bridle, or use another --data"
                )
            for number in range(version, SCHEMA_VERSION):
                step = f"BEGIN IMMEDIATE; {_MIGRATIONS[number]}; PRAGMA user_version = {number + 1}; COMMIT;"
                connection.executescript(step)
            if version == 0:
                row = ("secret", secrets.token_bytes(32))
                connection.execute("INSERT OR IGNORE INTO meta VALUES (?, ?)", row)
    except (OSError, sqlite3.Error) as error:
        said = error.strerror if isinstance(error, OSError) else error
        raise StoreError(f"can't use {path}: {said}. Restore a backup with: bridle hub restore") from error


def _create_private(path: str) -> None:
    """Make an empty file for this user alone, where there is none.

    A file that is there is never opened here: closing it would drop the locks that SQLite holds on it in this
    process.
    """
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    except FileExistsError:
        if not os.path.isfile(path) or os.path.islink(path):
            raise StoreError(f"{path} is not a file: move it away") from None


def back_up(path: str, target: str) -> None:
    """Write a consistent copy of the file, also while a hub runs.

    Raises:
        StoreError: it cannot be read or written.
    """
    try:
        os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        with closing(connect(path)) as source, closing(sqlite3.connect(target)) as copy:
            source.backup(copy)
    except FileExistsError as error:
        raise StoreError(f"{target} exists: name another file") from error
    except (OSError, sqlite3.Error) as error:
        said = error.strerror if isinstance(error, OSError) else error
        raise StoreError(f"can't write the backup {target}: {said}") from error
