"""The index of every conversation: words only, the texts stay in the transcripts."""

import os
import re
import sqlite3
import time
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import closing, contextmanager

from msgspec import Struct

from bridle.features.recall.messages import Head, Said
from bridle.features.recall.places import Unit, find_units
from bridle.host.files import make_folders
from bridle.host.lock import FileLock, Locked
from bridle.host.paths import bridle_dir

_VERSION = 1
_SCHEMA = f"""
PRAGMA user_version = {_VERSION};
CREATE TABLE units (
  id INTEGER PRIMARY KEY, key TEXT UNIQUE, source TEXT NOT NULL, stamp INTEGER NOT NULL,
  size INTEGER NOT NULL, place INTEGER NOT NULL, session TEXT NOT NULL, cwd TEXT NOT NULL,
  title TEXT NOT NULL, messages INTEGER NOT NULL, live INTEGER NOT NULL DEFAULT 1);
CREATE TABLE messages (
  id INTEGER PRIMARY KEY, unit INTEGER NOT NULL, place INTEGER NOT NULL, time INTEGER NOT NULL);
CREATE VIRTUAL TABLE texts USING fts5(
  body, content = '', detail = none, columnsize = 0, tokenize = "unicode61 remove_diacritics 2");
"""
_BATCH = 4_000
_MOST_DEAD = 0.35
"""More messages of conversations that are gone than this, and the index is rebuilt."""
_ODD = re.compile(r"\W+|_")


class Updated(Struct, frozen=True):
    """What an update has done."""

    messages: int = 0
    units: int = 0
    busy: bool = False
    """Another process is at it."""


def index_path(env: Mapping[str, str]) -> str:
    return os.path.join(bridle_dir(env), "search", "index.db")


@contextmanager
def open_index(env: Mapping[str, str]) -> Generator[sqlite3.Connection]:
    """The index; a file that is damaged or of another release is replaced by an empty one.

    Raises:
        sqlite3.Error: it cannot be opened.
        OSError: its folder cannot be made.
    """
    path = index_path(env)
    make_folders(os.path.dirname(path), private=True)
    try:
        store = _opened(path)
    except sqlite3.DatabaseError as error:
        if isinstance(error, sqlite3.OperationalError) and "locked" in str(error):
            raise
        discard(env)
        store = _opened(path)
    with closing(store):
        yield store


def discard(env: Mapping[str, str]) -> None:
    """Remove the index; everything in it can be had again."""
    for end in ("", "-wal", "-shm", "-journal"):
        try:
            os.remove(index_path(env) + end)
        except FileNotFoundError:
            continue


def update(
    env: Mapping[str, str],
    *,
    only: Iterable[str] | None = None,
    progress: Callable[[int, int], None] = lambda done, of: None,
    patience: float = 0.0,
) -> Updated:
    """Read what is new in every transcript, or in `only` some.

    Raises:
        sqlite3.Error: the index cannot be written.
        OSError: it cannot be written.
    """
    make_folders(os.path.dirname(index_path(env)), private=True)
    try:
        with FileLock(f"{index_path(env)}.lock", seconds=patience), open_index(env) as store:
            try:
                return _update(store, env, only, progress)
            except sqlite3.DatabaseError as error:
                if isinstance(error, sqlite3.OperationalError):
                    raise
        with FileLock(f"{index_path(env)}.lock", seconds=patience):
            discard(env)  # Damaged in a place that opening it does not look at.
            with open_index(env) as store:
                return _update(store, env, None, progress)
    except Locked:
        return Updated(busy=True)


def _update(
    store: sqlite3.Connection,
    env: Mapping[str, str],
    only: Iterable[str] | None,
    progress: Callable[[int, int], None],
) -> Updated:
    known = {
        row[1]: row
        for row in store.execute(
            "SELECT id, key, stamp, size, place, session, cwd, title FROM units WHERE live"
        )
    }
    if only is not None:
        units = [unit for path in only if (unit := _unit_of(path)) is not None]
    else:
        units = list(find_units(env))
        _bury(store, known.keys() - {unit.key for unit in units}, known)
    is_first = not known
    changed = [unit for unit in units if _is_new(unit, known.get(unit.key))]
    changed.sort(key=lambda unit: unit.stamp)
    written = 0
    total = sum(unit.size for unit in changed) or 1
    done = 0
    writer = _Writer(store)
    for unit in changed:
        written += writer.add(unit, known.get(unit.key))
        done += unit.size
        progress(done, total)
    writer.flush()
    if is_first and written:
        store.execute("INSERT INTO texts(texts) VALUES('optimize')")
    store.commit()
    store.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return Updated(written, len(changed))


def is_worn(store: sqlite3.Connection) -> bool:
    """Whether so much in the index is gone from the disk that it should be rebuilt."""
    dead, everything = store.execute(
        "SELECT coalesce(sum(messages) FILTER (WHERE NOT live), 0), coalesce(sum(messages), 0) FROM units"
    ).fetchone()
    return everything > 10_000 and dead > everything * _MOST_DEAD


class _Writer:
    """Adds messages in batches; a commit ends each, so that a kill loses the last batch alone."""

    def __init__(self, store: sqlite3.Connection) -> None:
        self._store = store
        last = store.execute("SELECT coalesce(max(id), 0) FROM messages").fetchone()[0]
        self._next = int(last) + 1
        self._rows: list[tuple[int, int, int, int]] = []
        self._texts: list[tuple[int, str]] = []
        self._heads: list[tuple[int, int, int, str, str, str, int, int]] = []

    def add(self, unit: Unit, known: tuple[int, str, int, int, int, str, str, str] | None) -> int:
        """Add what is new in a unit, and say how many messages there were."""
        head, start, store = Head(), 0, self._store
        if known is not None and unit.grows and unit.size >= known[4]:
            number, start = known[0], known[4]
            head = Head(session=known[5], cwd=known[6], title=known[7])
        else:
            if known is not None:
                store.execute("UPDATE units SET live = 0, key = NULL WHERE id = ?", (known[0],))
            number = store.execute(
                "INSERT INTO units (key, source, stamp, size, place, session, cwd, title, messages)"
                " VALUES (?, ?, 0, 0, 0, '', '', '', 0)",
                (unit.key, unit.source),
            ).lastrowid
        count, place = 0, start
        try:
            for begin, end, said in unit.read(start, head):
                place = end
                if said is not None:
                    self._rows.append((self._next, number or 0, begin, said.time))
                    self._texts.append((self._next, body_of(said, unit.source)))
                    self._next += 1
                    count += 1
        except (OSError, sqlite3.Error):
            pass  # It went away while it was read; the next update looks again.
        session = head.session or os.path.basename(unit.key).removesuffix(".jsonl").rpartition("#")[2]
        self._heads.append((unit.stamp, unit.size, place, session, head.cwd, head.title, count, number or 0))
        if len(self._rows) >= _BATCH:
            self.flush()
        return count

    def flush(self) -> None:
        store = self._store
        store.executemany("INSERT INTO messages VALUES (?, ?, ?, ?)", self._rows)
        store.executemany("INSERT INTO texts(rowid, body) VALUES (?, ?)", self._texts)
        store.executemany(
            "UPDATE units SET stamp = ?, size = ?, place = ?, session = ?, cwd = ?, title = ?,"
            " messages = messages + ? WHERE id = ?",
            self._heads,
        )
        store.commit()
        self._rows, self._texts, self._heads = [], [], []


def body_of(said: Said, source: str) -> str:
    """The text with words that stand for the rest: role, source, tools and names of files."""
    marks = [mark("r", said.role), mark("s", source)]
    marks += [mark("t", name) for name in dict.fromkeys(said.tools)]
    marks += [mark("f", os.path.basename(path)) for path in dict.fromkeys(said.files)]
    return f"{said.text} {' '.join(marks)}"


def mark(kind: str, name: str) -> str:
    """A word that no text has, for a fact about a message."""
    return f"zzq{kind}{_ODD.sub('', name.lower())}"


def _bury(store: sqlite3.Connection, gone: Iterable[str], known: Mapping[str, tuple[int, ...]]) -> None:
    rows = [(known[key][0],) for key in gone]
    store.executemany("UPDATE units SET live = 0, key = NULL WHERE id = ?", rows)


def _is_new(unit: Unit, known: tuple[int, str, int, int, int, str, str, str] | None) -> bool:
    return known is None or (known[2], known[3]) != (unit.stamp, unit.size)


def _unit_of(path: str) -> Unit | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return Unit("claude", path, status.st_mtime_ns, status.st_size)


def _opened(path: str) -> sqlite3.Connection:
    store = sqlite3.connect(path, timeout=10.0)
    try:
        os.chmod(path, 0o600)
        store.execute("PRAGMA journal_mode = WAL")
        store.execute("PRAGMA synchronous = NORMAL")
        version = store.execute("PRAGMA user_version").fetchone()[0]
        if version == 0:
            store.executescript(_SCHEMA)
        elif version != _VERSION:
            raise sqlite3.DatabaseError(f"the index has version {version}")
        store.execute("SELECT count(*) FROM units").fetchone()
    except BaseException:
        store.close()
        raise
    return store


def age(env: Mapping[str, str]) -> float | None:
    """Seconds since the index was written last; None where there is none."""
    try:
        return max(0.0, time.time() - os.stat(index_path(env)).st_mtime)
    except OSError:
        return None
