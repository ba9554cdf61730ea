"""A run on disk: its tasks, attempts, results and events in one SQLite file with one writer."""

import fcntl
import os
import re
import secrets
import sqlite3
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from typing import Literal

import msgspec
from msgspec import Struct

from bridle.frontends.fleet.artifacts import StoreError
from bridle.frontends.fleet.records import FINISHED, Progress, Result, RunOptions, Task
from bridle.host.files import make_folders
from bridle.host.paths import bridle_dir
from bridle.types.errors import UsageError
from bridle.types.nearest import did_you_mean

_SCHEMA = """
CREATE TABLE IF NOT EXISTS run (
  id TEXT PRIMARY KEY, created REAL NOT NULL, ended REAL, state TEXT NOT NULL, options BLOB NOT NULL,
  note TEXT NOT NULL DEFAULT '');
CREATE TABLE IF NOT EXISTS tasks (
  id TEXT PRIMARY KEY, position INTEGER NOT NULL, spec BLOB NOT NULL,
  status TEXT NOT NULL DEFAULT 'waiting',
  kind TEXT NOT NULL DEFAULT '', attempts INTEGER NOT NULL DEFAULT 0, started REAL, ended REAL,
  cost REAL NOT NULL DEFAULT 0, tokens INTEGER NOT NULL DEFAULT 0, steps INTEGER NOT NULL DEFAULT 0,
  seconds REAL NOT NULL DEFAULT 0, node TEXT NOT NULL DEFAULT '',
  doing TEXT NOT NULL DEFAULT '', result BLOB);
CREATE INDEX IF NOT EXISTS tasks_status ON tasks (status, position);
CREATE TABLE IF NOT EXISTS attempts (
  task TEXT NOT NULL, number INTEGER NOT NULL, node TEXT NOT NULL, started REAL NOT NULL, ended REAL,
  kind TEXT NOT NULL DEFAULT '', message TEXT NOT NULL DEFAULT '', cost REAL NOT NULL DEFAULT 0,
  tokens INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (task, number));
CREATE TABLE IF NOT EXISTS events (
  id INTEGER PRIMARY KEY, at REAL NOT NULL, task TEXT NOT NULL, text TEXT NOT NULL);
"""
_RUN_ID = re.compile(r"[a-z0-9][a-z0-9-]{2,60}")
_BUSY_SECONDS = 30.0
_MOST_EVENTS = 200_000

RunState = Literal["running", "finished", "stopped"]


class RunRow(Struct, frozen=True, kw_only=True):
    """A run as lists show it."""

    id: str
    created: float
    ended: float | None
    state: str
    """`interrupted` is one whose driver went away."""
    options: RunOptions
    note: str
    counts: Mapping[str, int]
    cost: float
    tokens: int

    @property
    def total(self) -> int:
        return sum(self.counts.values())

    @property
    def finished(self) -> int:
        return sum(self.counts.get(each, 0) for each in FINISHED)


class TaskRow(Struct, frozen=True, kw_only=True):
    """A task as tables show it."""

    id: str
    status: str
    kind: str
    attempts: int
    started: float | None
    ended: float | None
    cost: float
    tokens: int
    steps: int
    seconds: float
    node: str
    doing: str


class AttemptRow(Struct, frozen=True, kw_only=True):
    task: str
    number: int
    node: str
    started: float
    ended: float | None
    kind: str
    message: str
    cost: float
    tokens: int


class EventRow(Struct, frozen=True):
    id: int
    at: float
    task: str
    text: str


def runs_folder(env: Mapping[str, str]) -> str:
    """Where the runs of this user are."""
    return env.get("BRIDLE_FLEET_DATA") or os.path.join(bridle_dir(env), "fleet")


def work_folder(env: Mapping[str, str]) -> str:
    """Where work folders and copies of repositories are on this machine."""
    cache = env.get("XDG_CACHE_HOME") or os.path.join(env.get("HOME") or os.path.expanduser("~"), ".cache")
    return env.get("BRIDLE_FLEET_WORK") or os.path.join(cache, "bridle", "fleet")


def new_run_id() -> str:
    return f"{time.strftime('%m%d-%H%M')}-{secrets.token_hex(3)}"


class RunStore:
    """The file of one run; only its driver writes."""

    def __init__(self, folder: str, run: str) -> None:
        self.id = run
        self.folder = os.path.join(folder, "runs", run)
        self.path = os.path.join(self.folder, "run.db")
        self.ledger = os.path.join(self.folder, "ledger.db")
        self._lock: int | None = None
        self._base: sqlite3.Connection | None = None

    def create(self, tasks: Sequence[Task], options: RunOptions) -> None:
        """Write a new run with all its tasks.

        Raises:
            StoreError: it cannot be written.
        """
        # Lists of runs have it whole or not at all.
        whole, self.folder = self.folder, os.path.join(os.path.dirname(self.folder), f".{self.id}")
        path, self.path = self.path, os.path.join(self.folder, "run.db")
        with _faults(path):
            make_folders(self.folder, private=True)
            with self._db() as base:
                base.execute("BEGIN IMMEDIATE")
                base.execute(
                    "INSERT INTO run (id, created, state, options) VALUES (?, ?, 'running', ?)",
                    (self.id, time.time(), msgspec.json.encode(options)),
                )
                base.executemany(
                    "INSERT INTO tasks (id, position, spec) VALUES (?, ?, ?)",
                    ((task.id, at, msgspec.json.encode(task)) for at, task in enumerate(tasks)),
                )
                base.execute("COMMIT")
            os.rename(self.folder, whole)
        self.folder, self.path = whole, path

    def hold(self) -> None:
        """Become the driver of the run, until `release` or the end of the process.

        Raises:
            UsageError: another process is its driver.
        """
        descriptor = os.open(
            os.path.join(self.folder, "driver"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600
        )
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(descriptor)
            raise UsageError(
                f"the run {self.id} is running: watch it with bridle fleet attach {self.id}"
            ) from error
        os.ftruncate(descriptor, 0)
        os.write(descriptor, str(os.getpid()).encode())
        self._lock = descriptor

    def release(self) -> None:
        if self._base is not None:
            self._base.close()
            self._base = None
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def driver(self) -> int | None:
        """The process that drives the run now."""
        try:
            descriptor = os.open(os.path.join(self.folder, "driver"), os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
            return None
        except BlockingIOError:
            return int(os.read(descriptor, 20) or b"0") or None
        finally:
            os.close(descriptor)

    def begin_again(self) -> None:
        """What was being worked on when the last driver went away waits again."""
        with self._writing() as base:
            base.execute("UPDATE tasks SET status = 'waiting', doing = '' WHERE status = 'running'")
            base.execute(
                "UPDATE attempts SET ended = ?, kind = 'lost', message = 'the run was interrupted' "
                "WHERE ended IS NULL",
                (time.time(),),
            )
            base.execute("UPDATE run SET state = 'running', ended = NULL, note = ''")

    def retry(self, statuses: Sequence[str]) -> int:
        """Let finished tasks of these states wait again; how many there are."""
        with self._writing() as base:
            marks = ", ".join("?" * len(statuses))
            done = base.execute(
                f"UPDATE tasks SET status = 'waiting', kind = '', result = NULL WHERE status IN ({marks})",
                tuple(statuses),
            )
            return done.rowcount

    def waiting(self) -> list[Task]:
        """Every task that is not finished, in order."""
        with self._reading() as base:
            rows = base.execute(
                "SELECT spec FROM tasks WHERE status = 'waiting' ORDER BY position"
            ).fetchall()
        return [msgspec.json.decode(spec, type=Task) for (spec,) in rows]

    def add(self, task: Task) -> None:
        """One more task for the run; one that waits already is not added again."""
        with self._writing() as base:
            base.execute(
                "INSERT OR IGNORE INTO tasks (id, position, spec) "
                "VALUES (?, (SELECT COUNT(*) FROM tasks), ?)",
                (task.id, msgspec.json.encode(task)),
            )

    def knows(self, task: str) -> bool:
        """Whether the run has a task with this id."""
        with self._reading() as base:
            return base.execute("SELECT 1 FROM tasks WHERE id = ?", (task,)).fetchone() is not None

    def begin_attempt(self, task: str, *, node: str) -> int:
        """Note that a worker has a task now; the number of the attempt."""
        with self._writing() as base:
            (number,) = base.execute(
                "SELECT COALESCE(MAX(number), 0) + 1 FROM attempts WHERE task = ?", (task,)
            ).fetchone()
            now = time.time()
            base.execute(
                "INSERT INTO attempts (task, number, node, started) VALUES (?, ?, ?, ?)",
                (task, number, node, now),
            )
            base.execute(
                "UPDATE tasks SET status = 'running', attempts = ?, node = ?, doing = 'starting', "
                "started = COALESCE(started, ?) WHERE id = ?",
                (number, node, now, task),
            )
            return int(number)

    def end_attempt(self, result: Result, *, finished: bool) -> bool:
        """Note how an attempt ended; whether the task is finished by it, which happens once."""
        with self._writing() as base:
            now = time.time()
            base.execute(
                "UPDATE attempts SET ended = ?, kind = ?, message = ?, cost = ?, tokens = ? "
                "WHERE task = ? AND number = ? AND ended IS NULL",
                (now, result.kind, result.message, result.cost, result.tokens, result.task, result.attempt),
            )
            spent = (result.cost, result.tokens, result.steps, result.seconds)
            if not finished:
                base.execute(
                    "UPDATE tasks SET status = 'waiting', kind = ?, doing = '', cost = cost + ?, "
                    "tokens = tokens + ?, steps = steps + ?, seconds = seconds + ? "
                    "WHERE id = ? AND status = 'running'",
                    (result.kind, *spent, result.task),
                )
                return False
            done = base.execute(
                "UPDATE tasks SET status = ?, kind = ?, doing = '', ended = ?, result = ?, cost = cost + ?, "
                "tokens = tokens + ?, steps = steps + ?, seconds = seconds + ? "
                "WHERE id = ? AND status IN ('waiting', 'running')",
                (result.status, result.kind, now, msgspec.json.encode(result), *spent, result.task),
            )
            return done.rowcount == 1

    def note_progress(self, events: Sequence[Progress]) -> None:
        with self._writing() as base:
            now = time.time()
            base.executemany(
                "UPDATE tasks SET doing = ? WHERE id = ? AND status = 'running'",
                ((each.text, each.task) for each in events),
            )
            base.executemany(
                "INSERT INTO events (at, task, text) VALUES (?, ?, ?)",
                ((now, each.task, each.text) for each in events),
            )
            base.execute("DELETE FROM events WHERE id <= (SELECT MAX(id) FROM events) - ?", (_MOST_EVENTS,))

    def end(self, state: RunState, note: str = "") -> None:
        with self._writing() as base:
            base.execute("UPDATE run SET state = ?, ended = ?, note = ?", (state, time.time(), note))
            base.execute("UPDATE tasks SET status = 'waiting', doing = '' WHERE status = 'running'")
        if self._base is not None:
            # A copy of the file is whole without its log.
            self._base.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def options(self) -> RunOptions:
        with self._reading() as base:
            row = base.execute("SELECT options FROM run").fetchone()
        if row is None:
            raise StoreError(f"{self.path} has no run")
        return msgspec.json.decode(row[0], type=RunOptions)

    def change_options(self, options: RunOptions) -> None:
        with self._writing() as base:
            base.execute("UPDATE run SET options = ?", (msgspec.json.encode(options),))

    def row(self) -> RunRow:
        with self._reading() as base:
            run = base.execute("SELECT id, created, ended, state, options, note FROM run").fetchone()
            counts = dict(base.execute("SELECT status, COUNT(*) FROM tasks GROUP BY status").fetchall())
            cost, tokens = base.execute(
                "SELECT COALESCE(SUM(cost), 0), COALESCE(SUM(tokens), 0) FROM attempts"
            ).fetchone()
        if run is None:
            raise StoreError(f"{self.path} has no run")
        state = run[3]
        if state == "running" and self.driver() is None:
            state = "interrupted"
        return RunRow(
            id=run[0],
            created=run[1],
            ended=run[2],
            state=state,
            options=msgspec.json.decode(run[4], type=RunOptions),
            note=run[5],
            counts=counts,
            cost=cost,
            tokens=tokens,
        )

    def tasks(self) -> list[TaskRow]:
        with self._reading() as base:
            base.row_factory = sqlite3.Row
            rows = base.execute(
                "SELECT id, status, kind, attempts, started, ended, cost, tokens, steps, seconds, node, "
                "doing FROM tasks ORDER BY position"
            ).fetchall()
        return [TaskRow(**dict(row)) for row in rows]

    def specs(self) -> dict[str, Task]:
        with self._reading() as base:
            rows = base.execute("SELECT id, spec FROM tasks ORDER BY position").fetchall()
        return {id: msgspec.json.decode(spec, type=Task) for id, spec in rows}

    def results(self) -> Iterator[Result]:
        """Every result, in the order of the tasks."""
        with self._reading() as base:
            for (data,) in base.execute(
                "SELECT result FROM tasks WHERE result IS NOT NULL ORDER BY position"
            ):
                yield msgspec.json.decode(data, type=Result)

    def result(self, task: str) -> Result | None:
        """What a task came to; None while it is not finished.

        Raises:
            UsageError: there is no such task.
        """
        with self._reading() as base:
            row = base.execute("SELECT result FROM tasks WHERE id = ?", (task,)).fetchone()
            known = [] if row else [id for (id,) in base.execute("SELECT id FROM tasks LIMIT 10000")]
        if row is None:
            raise UsageError(f"the run {self.id} has no task {task!r}{did_you_mean(task, known)}")
        return None if row[0] is None else msgspec.json.decode(row[0], type=Result)

    def attempts(self, task: str | None = None) -> list[AttemptRow]:
        with self._reading() as base:
            base.row_factory = sqlite3.Row
            rows = base.execute(
                "SELECT * FROM attempts WHERE ?1 IS NULL OR task = ?1 ORDER BY started", (task,)
            ).fetchall()
        return [AttemptRow(**dict(row)) for row in rows]

    def events(self, after: int = 0, *, task: str | None = None) -> list[EventRow]:
        with self._reading() as base:
            rows = base.execute(
                "SELECT id, at, task, text FROM events WHERE id > ?1 AND (?2 IS NULL OR task = ?2) "
                "ORDER BY id",
                (after, task),
            ).fetchall()
        return [EventRow(*row) for row in rows]

    def exists(self) -> bool:
        return os.path.isfile(self.path)

    @contextmanager
    def _writing(self) -> Generator[sqlite3.Connection]:
        with _faults(self.path):
            if self._base is None:
                self._base = self._open()
            self._base.execute("BEGIN IMMEDIATE")
            try:
                yield self._base
            except BaseException:
                if self._base.in_transaction:
                    self._base.execute("ROLLBACK")
                raise
            self._base.execute("COMMIT")

    @contextmanager
    def _reading(self) -> Generator[sqlite3.Connection]:
        if not self.exists():
            raise StoreError(f"{self.path} does not exist")
        with _faults(self.path), self._db() as base:
            yield base

    @contextmanager
    def _db(self) -> Generator[sqlite3.Connection]:
        with closing(self._open()) as base:
            yield base

    def _open(self) -> sqlite3.Connection:
        base = sqlite3.connect(
            self.path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        base.execute("PRAGMA journal_mode = WAL")
        base.execute("PRAGMA synchronous = NORMAL")
        base.executescript(_SCHEMA)
        return base


def all_runs(folder: str) -> list[RunStore]:
    """Every run of a folder, the newest first."""
    try:
        names = os.listdir(os.path.join(folder, "runs"))
    except FileNotFoundError:
        return []
    found = [RunStore(folder, name) for name in names if _RUN_ID.fullmatch(name)]
    return sorted((each for each in found if each.exists()), key=lambda each: -os.path.getctime(each.folder))


def find_run(folder: str, wanted: str) -> RunStore:
    """A run by its id, the beginning or end of one, or `last`.

    Raises:
        UsageError: there is none, or more than one.
    """
    runs = all_runs(folder)
    if wanted in ("last", "latest") and runs:
        return max(runs, key=lambda each: each.row().created)
    exact = [each for each in runs if each.id == wanted]
    near = exact or [each for each in runs if each.id.startswith(wanted) or each.id.endswith(wanted)]
    if not near:
        hint = did_you_mean(wanted, [each.id for each in runs])
        raise UsageError(f"there is no run {wanted!r}{hint or '; list them with bridle fleet list'}")
    if len(near) > 1:
        raise UsageError(
            f"{wanted!r} is the beginning of several runs: {', '.join(each.id for each in near[:5])}"
        )
    return near[0]


@contextmanager
def _faults(path: str) -> Generator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise StoreError(f"can't use {path}: {error}") from error
    except OSError as error:
        raise StoreError(f"can't use {path}: {error.strerror or error}") from error
