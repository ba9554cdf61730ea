"""Finds messages: by words in the index, and by regular expressions in the transcripts themselves."""

import os
import re
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime

from msgspec import Struct

from bridle.features.recall.index import mark, open_index
from bridle.features.recall.messages import Head, Said
from bridle.features.recall.places import SOURCES, Source, Unit, find_units
from bridle.types.errors import UsageError
from bridle.types.visible import visible_line

_ODD = re.compile(r"[\W_]+")
_SINCE = re.compile(r"(\d{1,5})([mhdw])")
_SECONDS = {"m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_MOST_LOOKED_AT = 20_000
"""Messages that have the words and may yet differ from what is wanted."""
_CHUNK = 200
_MORE = 10
_BEFORE, _AROUND = 60, 240


class Query(Struct, frozen=True, kw_only=True):
    """What to look for."""

    words: str = ""
    regex: str = ""
    tools: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()
    since: float = 0.0
    below: str = ""
    """Only conversations in this folder."""
    session: str = ""
    limit: int = 20


class Hit(Struct, frozen=True, kw_only=True):
    """A message that was found."""

    id: int
    source: str
    session: str
    title: str
    cwd: str
    time: int
    role: str
    excerpt: str
    path: str
    place: int
    files: tuple[str, ...] = ()

    @property
    def resume(self) -> str:
        """The command that opens the conversation again."""
        into = f"cd {_quoted(self.cwd)} && " if self.cwd else ""
        session = _quoted(self.session)
        match self.source:
            case "claude":
                return f"{into}bridle --resume {session}"
            case "codex":
                return f"{into}codex resume {session}"
            case "opencode":
                return f"{into}opencode --session {session}"
            case "pi":
                return f"{into}pi --session {_quoted(self.path)}"
            case _:
                return f"{into}gemini --resume {session}"


class _Place(Struct, frozen=True):
    """A message as the index has it."""

    id: int
    place: int
    time: int
    unit: Unit
    head: Head


def since_of(text: str, *, now: float) -> float:
    """The time that `7d`, `12h` or `2026-11-19` means.

    Raises:
        UsageError: it means none.
    """
    if found := _SINCE.fullmatch(text.strip()):
        return now - int(found[1]) * _SECONDS[found[2]]
    try:
        return datetime.fromisoformat(text.strip()).timestamp()
    except ValueError:
        raise UsageError(f"{text!r} is not a time: write 30m, 12h, 7d, 4w or 2026-11-19.") from None


def check(query: Query) -> Query:
    """The query, if it can be answered.

    Raises:
        UsageError: it asks for nothing, or for something that there is not.
    """
    if unknown := [name for name in query.sources if name not in SOURCES]:
        raise UsageError(f"Unknown source {unknown[0]!r}; use {', '.join(SOURCES)}.")
    if query.regex:
        try:
            re.compile(query.regex)
        except re.error as error:
            raise UsageError(f"{query.regex!r} is not a valid regular expression: {error}.") from error
    elif not _match(query):
        raise UsageError("Say what to look for: words, --regex, --tool or --file.")
    return query


def search(
    query: Query, env: Mapping[str, str], *, allows: Callable[[Hit], bool] = lambda _: True
) -> list[Hit]:
    """The newest messages that fit, the newest first; it reads files, so use a thread.

    Raises:
        UsageError: the query cannot be answered.
        sqlite3.Error: the index cannot be read.
    """
    check(query)
    found = _by_reading(query, env) if query.regex else _by_index(query, env)
    hits: list[Hit] = []
    # What stands later in the index is not always newer, so some more are looked at.
    for hit in found:
        if allows(hit):
            hits.append(hit)
        if len(hits) >= query.limit + _MORE:
            break
    return sorted(hits, key=lambda hit: -hit.time)[: query.limit]


def around(number: int, env: Mapping[str, str], *, more: int = 3) -> tuple[Hit, list[tuple[int, Said]]]:
    """A message by its number, with those around it.

    Raises:
        UsageError: there is none with this number.
        sqlite3.Error: the index cannot be read.
    """
    with open_index(env) as store:
        found = list(_places(store, [number]))
        if not found:
            raise UsageError(f"No message {number}. The index was rebuilt: search again.")
        at = found[0]
        rows = store.execute(
            "SELECT id, place FROM messages WHERE unit = (SELECT unit FROM messages WHERE id = ?)"
            " AND id BETWEEN ? AND ? ORDER BY place",
            (number, number - 10 * more, number + 10 * more),
        ).fetchall()
    index = next(i for i, row in enumerate(rows) if row[0] == number)
    shown = rows[max(0, index - more) : index + more + 1]
    said = [(row[0], each) for row in shown if (each := at.unit.said_at(row[1])) is not None]
    own = next((each for identity, each in said if identity == number), None)
    if own is None:
        raise UsageError("The transcript has changed; search again.")
    return _hit(at, own, ""), said


def _by_index(query: Query, env: Mapping[str, str]) -> Iterator[Hit]:
    exact = [word.casefold() for word in _phrases(query.words)]
    probe = next(iter(exact), "") or next(iter(_ODD.sub(" ", query.words).split()), "")
    with open_index(env) as store:
        rows = store.execute(
            "SELECT rowid FROM texts WHERE texts MATCH ? ORDER BY rowid DESC LIMIT ?",
            (_match(query), _MOST_LOOKED_AT),
        )
        while numbers := [row[0] for row in rows.fetchmany(_CHUNK)]:
            for at in sorted(_places(store, numbers), key=lambda each: -each.id):
                if not _fits(at, query) or (said := at.unit.said_at(at.place)) is None:
                    continue
                folded = said.text.casefold() if exact else ""
                if all(words in folded for words in exact) and _names(said, query):
                    yield _hit(at, said, probe)


def _by_reading(query: Query, env: Mapping[str, str]) -> Iterator[Hit]:
    """The messages of the newest conversations first; the index tells only where to look again."""
    wanted = re.compile(query.regex, re.IGNORECASE)
    with open_index(env) as store:
        for unit in sorted(find_units(env), key=lambda each: -each.stamp):
            if unit.stamp / 1e9 < query.since or (query.sources and unit.source not in query.sources):
                continue
            head, hits = Head(), list[tuple[int, Said, str]]()
            try:
                for begin, _, said in unit.read(0, head):
                    if said is not None and (found := wanted.search(said.text)):
                        hits.append((begin, said, found[0]))
            except (OSError, sqlite3.Error):
                continue
            for begin, said, words in reversed(hits):
                at = _Place(_number(store, unit, begin), begin, said.time, unit, head)
                if _fits(at, query) and _names(said, query):
                    yield _hit(at, said, words.casefold())


def _number(store: sqlite3.Connection, unit: Unit, place: int) -> int:
    """The number of a message in the index; 0 where it is not in it yet."""
    found = store.execute(
        "SELECT m.id FROM units u JOIN messages m ON m.unit = u.id AND m.place = ? WHERE u.key = ?",
        (place, unit.key),
    ).fetchone()
    return 0 if found is None else found[0]


def _places(store: sqlite3.Connection, numbers: Sequence[int]) -> Iterator[_Place]:
    marks = ",".join("?" * len(numbers))
    for row in store.execute(
        "SELECT m.id, m.place, m.time, u.source, u.key, u.session, u.cwd, u.title FROM messages m"
        f" JOIN units u ON u.id = m.unit WHERE u.live AND m.id IN ({marks})",
        tuple(numbers),
    ):
        source: Source = row[3]
        yield _Place(row[0], row[1], row[2], Unit(source, row[4], 0, 0), Head(row[5], row[6], row[7]))


def _fits(at: _Place, query: Query) -> bool:
    if at.time < query.since or (query.session and at.head.session != query.session):
        return False
    below = query.below
    return not below or at.head.cwd == below or at.head.cwd.startswith(os.path.join(below, ""))


def _names(said: Said, query: Query) -> bool:
    """Whether a message has the tools, the files and the role that are asked for."""
    tools = {name.lower() for name in said.tools}
    if not all(name.lower() in tools for name in query.tools):
        return False
    if query.roles and said.role not in query.roles:
        return False
    return all(any(path == file or path.endswith(f"/{file}") for path in said.files) for file in query.files)


def _match(query: Query) -> str:
    """The words of the query and those that stand for the rest, as the index wants them."""
    tokens = [f'"{word}"' for word in _ODD.sub(" ", query.words.replace("*", "")).split()]
    if query.words.rstrip().endswith("*") and tokens:
        tokens[-1] += " *"
    tokens += [f'"{mark("t", name)}"' for name in query.tools]
    tokens += [f'"{mark("f", os.path.basename(file))}"' for file in query.files]
    for kind, names in (("s", query.sources), ("r", query.roles)):
        if names:
            tokens.append("(" + " OR ".join(f'"{mark(kind, name)}"' for name in names) + ")")
    return " AND ".join(tokens)


def _phrases(words: str) -> list[str]:
    """What must stand in the text as it is: words in quotes, and words with other signs in them."""
    parts = words.split('"')
    last = len(parts) - 1
    quoted = [part for at, part in enumerate(parts) if at % 2 and at < last and part.strip()]
    rest = " ".join(part for at, part in enumerate(parts) if not at % 2 or at == last)
    return quoted + [
        word for word in rest.split() if _ODD.search(word.strip("*.,;:!?()")) and not word.endswith("*")
    ]


def _hit(at: _Place, said: Said, probe: str) -> Hit:
    return Hit(
        id=at.id,
        source=at.unit.source,
        session=at.head.session or os.path.basename(at.unit.key),
        title=at.head.title,
        cwd=at.head.cwd,
        time=at.time,
        role=said.role,
        excerpt=_excerpt(said.text, probe),
        path=at.unit.key,
        place=at.place,
        files=tuple(said.files),
    )


def _excerpt(text: str, probe: str) -> str:
    flat = " ".join(text.split())
    place = max(0, flat.casefold().find(probe.casefold())) if probe else 0
    start = max(0, place - _BEFORE)
    end = start + _AROUND
    return f"{'…' if start else ''}{flat[start:end]}{'…' if end < len(flat) else ''}"


def _quoted(text: str) -> str:
    from shlex import quote

    return quote(text)


def shown(hits: Sequence[Hit]) -> str:
    """The hits as a person reads them; no name in a conversation makes a line of its own."""
    rows: list[str] = []
    for hit in hits:
        day = time.strftime("%Y-%m-%d %H:%M", time.localtime(hit.time)) if hit.time else "no date"
        source = "" if hit.source == "claude" else f"  {hit.source}"
        rows += (
            visible_line(f"#{hit.id}  {day}{source}  {hit.title[:60]}"),
            visible_line(f"    {hit.role}: {hit.excerpt}"),
            visible_line(f"    {hit.resume}"),
        )
    return "\n".join(rows)
