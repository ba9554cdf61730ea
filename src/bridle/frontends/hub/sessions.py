"""Sessions as a hub knows them: events in both directions, open questions, and the state of the worker."""

import sqlite3
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import msgspec
from msgspec import Raw, Struct

from bridle.frontends.hub.identity import clean_name, record
from bridle.frontends.hub.refusals import Refusal
from bridle.frontends.remote.event_log import digest
from bridle.types.ids import new_uuid

Side = Literal["out", "in"]
"""From the worker, or to it."""
Delivery = Literal["received", "processing", "processed"]
DELIVERIES: tuple[Delivery, ...] = ("received", "processing", "processed")

STATUSES = ("idle", "running", "requires_action", "completed", "failed")
PREFIXES = ("session_", "cse_")
_LONGEST_TITLE = 200
_SNIPPET = 160
_QUESTIONS = ("can_use_tool", "elicitation")
_PASSING = "stream_event"
"""Events that the next whole message makes superfluous."""
_SETTLING = ("assistant", "result")


class SessionRow(Struct, frozen=True):
    """A session, without its events."""

    id: str
    environment: str | None
    machine: str | None
    title: str
    source: str
    mode: str
    context: Any
    tags: list[str]
    created: float
    updated: float
    archived: float | None
    epoch: int
    status: str
    external: dict[str, Any]
    sent: int
    received: int


class Event(Struct, frozen=True):
    """One event of a session, as it stands in the store."""

    number: int
    uuid: str
    body: Raw


class QuestionRow(Struct, frozen=True):
    """A question of a session that no one has answered."""

    session: str
    id: str
    digest: str
    request: Any
    opened: float


_COLUMNS = (
    "id, environment, machine, title, source, mode, context, tags, created, updated, archived, epoch, "
    "status, external, sent, received"
)


def plain_id(id: str) -> str:
    """A session's name in the store, from either of its names on the wire.

    Raises:
        Refusal: it is none.
    """
    for prefix in PREFIXES:
        body = id.removeprefix(prefix)
        if body != id and body.isalnum() and body.isascii():
            return body
    raise Refusal(404, "Session not found.", "not_found_error")


def create(
    base: sqlite3.Connection,
    *,
    actor: str,
    environment: str | None = None,
    machine: str | None = None,
    title: str = "",
    source: str = "",
    mode: str = "",
    context: Any = None,
    tags: Sequence[str] = (),
) -> str:
    """Add a session; returns its name in the store."""
    id, now = new_uuid().replace("-", ""), time.time()
    encode = msgspec.json.encode
    base.execute(
        "INSERT INTO sessions "
        "(id, environment, machine, title, source, mode, context, tags, created, updated) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            id, environment, machine, clean_name(title)[:_LONGEST_TITLE], source, mode,
            encode(context or {}).decode(), encode(list(tags)).decode(), now, now,
        ),
    )  # fmt: skip
    record(base, actor=actor, action="session created", session=id, detail={"environment": environment})
    return id


def find(base: sqlite3.Connection, id: str) -> SessionRow:
    """A session by its name in the store.

    Raises:
        Refusal: there is none.
    """
    row = base.execute(f"SELECT {_COLUMNS} FROM sessions WHERE id = ?", (id,)).fetchone()
    if row is None:
        raise Refusal(404, "Session not found.", "not_found_error")
    return _session(row)


def all_sessions(base: sqlite3.Connection, *, archived: bool = False, limit: int = 2_000) -> list[SessionRow]:
    """The sessions, those that changed last first."""
    where = "IS NOT NULL" if archived else "IS NULL"
    rows = base.execute(
        f"SELECT {_COLUMNS} FROM sessions WHERE archived {where} ORDER BY updated DESC LIMIT ?", (limit,)
    )
    return [_session(row) for row in rows]


def rename(base: sqlite3.Connection, id: str, title: str, *, actor: str) -> None:
    """Give a session another title."""
    find(base, id)
    shown = clean_name(title)[:_LONGEST_TITLE]
    base.execute("UPDATE sessions SET title = ?, updated = ? WHERE id = ?", (shown, time.time(), id))
    record(base, actor=actor, action="session renamed", session=id, detail={"title": shown})


def archive(base: sqlite3.Connection, id: str, *, actor: str) -> None:
    """Take a session out of the list; its work stops.

    Raises:
        Refusal: it is archived already.
    """
    if find(base, id).archived is not None:
        raise Refusal(409, "The session is already archived.")
    now = time.time()
    base.execute("UPDATE sessions SET archived = ?, updated = ? WHERE id = ?", (now, now, id))
    base.execute("UPDATE work SET state = 'stopped', lease = NULL WHERE session = ?", (id,))
    _close_questions(base, id, by="the hub")
    record(base, actor=actor, action="session archived", session=id)


def register_worker(base: sqlite3.Connection, id: str) -> int:
    """A new worker takes over, and what an older one sends is refused from now on; returns its epoch."""
    find(base, id)
    (epoch,) = base.execute(
        "UPDATE sessions SET epoch = epoch + 1, updated = ? WHERE id = ? RETURNING epoch", (time.time(), id)
    ).fetchone()
    return epoch


def check_epoch(session: SessionRow, epoch: int) -> None:
    """Refuse a worker that another one has replaced.

    Raises:
        Refusal: it has been.
    """
    if epoch != session.epoch:
        raise Refusal(409, f"Another worker has taken over: epoch {session.epoch}.", "worker_epoch_mismatch")


def append(
    base: sqlite3.Connection,
    id: str,
    side: Side,
    bodies: Iterable[Mapping[str, Any]],
    *,
    device: str | None = None,
) -> list[Event]:
    """Add events that are not there yet; returns those that were added."""
    now, added = time.time(), list[Event]()
    counter = "sent" if side == "out" else "received"
    (number,) = base.execute(f"SELECT {counter} FROM sessions WHERE id = ?", (id,)).fetchone()
    for body in bodies:
        named = body.get("uuid")
        uuid = named if isinstance(named, str) and 0 < len(named) <= 100 else new_uuid()
        kind, data = str(body.get("type", ""))[:40], msgspec.json.encode(body)
        done = base.execute(
            "INSERT OR IGNORE INTO events (session, side, number, uuid, kind, body, device, created) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (id, side, number + 1, uuid, kind, data, device, now),
        )
        if not done.rowcount:
            continue
        number += 1
        added.append(Event(number, uuid, Raw(data)))
        if side == "out":
            _note(base, id, kind, body, number)
    base.execute(f"UPDATE sessions SET {counter} = ?, updated = ? WHERE id = ?", (number, now, id))
    return added


def events(
    base: sqlite3.Connection, id: str, side: Side, *, after: int, limit: int, open_only: bool = False
) -> list[Event]:
    """The events behind a number, the oldest first; with `open_only` those that were not processed."""
    where = " AND delivery IS NOT 'processed'" if open_only else ""
    rows = base.execute(
        f"SELECT number, uuid, body FROM events WHERE session = ? AND side = ? AND number > ?{where} "
        "ORDER BY number LIMIT ?",
        (id, side, after, limit),
    )
    return [Event(number, uuid, Raw(body)) for number, uuid, body in rows]


def history(base: sqlite3.Connection, id: str, *, before: int, limit: int) -> list[Event]:
    """The events of the worker before a number, the oldest first."""
    rows = base.execute(
        "SELECT number, uuid, body FROM events WHERE session = ? AND side = 'out' AND number < ? "
        "AND kind != 'stream_event' ORDER BY number DESC LIMIT ?",
        (id, before, limit),
    ).fetchall()
    return [Event(number, uuid, Raw(body)) for number, uuid, body in reversed(rows)]


def search(base: sqlite3.Connection, text: str, *, limit: int) -> list[dict[str, Any]]:
    """Where a text stands in what was said, the newest first."""
    pattern = "%" + text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") + "%"
    rows = base.execute(
        "SELECT session, number, kind, created, body FROM events WHERE side = 'out' "
        "AND kind IN ('user', 'assistant') AND CAST(body AS TEXT) LIKE ? ESCAPE '\\' "
        "ORDER BY created DESC LIMIT ?",
        (pattern, limit),
    )
    return [
        {"session": session, "number": number, "kind": kind, "at": at, "snippet": _around(body, text)}
        for session, number, kind, at, body in rows
    ]


def _around(body: bytes, text: str) -> str:
    """The words around a text in a message, on one line."""
    said = " ".join(" ".join(_texts(msgspec.json.decode(body).get("message"))).split())
    at = max(said.lower().find(text.lower()), 0)
    start = max(at - _SNIPPET // 3, 0)
    piece = said[start : start + _SNIPPET]
    return f"{'…' if start else ''}{piece}{'…' if start + _SNIPPET < len(said) else ''}"


def _texts(value: Any) -> Iterable[str]:
    match value:
        case str():
            yield value
        case list():
            for each in value:
                yield from _texts(each)
        case dict():
            for name in ("content", "text", "input", "command", "file_path"):
                yield from _texts(value.get(name))
        case _:
            pass


def set_delivery(base: sqlite3.Connection, id: str, uuid: str, status: str) -> None:
    """A worker says how far an event came; it never goes back.

    Raises:
        Refusal: there is no such event or status.
    """
    if status not in DELIVERIES:
        raise Refusal(400, f"status must be one of {', '.join(DELIVERIES)}.")
    row = base.execute(
        "SELECT delivery FROM events WHERE session = ? AND side = 'in' AND uuid = ?", (id, uuid)
    ).fetchone()
    if row is None:
        raise Refusal(404, "Event not found.", "not_found_error")
    known = row[0]
    if known is None or DELIVERIES.index(status) > DELIVERIES.index(known):
        base.execute(
            "UPDATE events SET delivery = ? WHERE session = ? AND side = 'in' AND uuid = ?",
            (status, id, uuid),
        )


def set_state(base: sqlite3.Connection, id: str, wanted: Mapping[str, Any]) -> None:
    """A worker says how its session stands; metadata is merged as RFC 7396 has it.

    Raises:
        Refusal: a field has the wrong type.
    """
    status = wanted.get("worker_status")
    if status is not None and status not in STATUSES:
        raise Refusal(400, f"worker_status must be one of {', '.join(STATUSES)}.")
    external, internal = base.execute(
        "SELECT external, internal FROM sessions WHERE id = ?", (id,)
    ).fetchone()
    merged = [
        msgspec.json.encode(merge_patch(msgspec.json.decode(known), _object(wanted, name))).decode()
        for name, known in (("external_metadata", external), ("internal_metadata", internal))
    ]
    base.execute(
        "UPDATE sessions SET status = COALESCE(?, status), external = ?, internal = ?, updated = ? "
        "WHERE id = ?",
        (status, *merged, time.time(), id),
    )


def questions(base: sqlite3.Connection) -> list[QuestionRow]:
    """The open questions of all sessions, the oldest first."""
    rows = base.execute(
        "SELECT session, id, digest, request, opened FROM questions WHERE closed IS NULL ORDER BY opened"
    )
    return [_question(row) for row in rows]


def question(base: sqlite3.Connection, session: str, id: str) -> QuestionRow:
    """An open question.

    Raises:
        Refusal: there is none, or it was answered.
    """
    row = base.execute(
        "SELECT session, id, digest, request, opened, closed, closed_by FROM questions "
        "WHERE session = ? AND id = ?",
        (session, id),
    ).fetchone()
    if row is None:
        raise Refusal(404, "Question not found.", "not_found_error")
    if row[5] is not None:
        raise Refusal(409, f"{row[6]} answered first.")
    return _question(row)


def close_question(
    base: sqlite3.Connection, session: str, id: str, *, by: str, answer: Mapping[str, Any] | None = None
) -> None:
    """Settle a question; the first answer stays."""
    said = None if answer is None else msgspec.json.encode(answer).decode()
    base.execute(
        "UPDATE questions SET closed = ?, closed_by = ?, answer = ? "
        "WHERE session = ? AND id = ? AND closed IS NULL",
        (time.time(), by, said, session, id),
    )


def merge_patch(known: dict[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    """RFC 7396: values replace, null removes, objects are merged."""
    merged = dict(known)
    for name, value in patch.items():
        if value is None:
            merged.pop(name, None)
        elif isinstance(value, dict):
            inner = merged.get(name)
            merged[name] = merge_patch(inner if isinstance(inner, dict) else {}, value)
        else:
            merged[name] = value
    return merged


def _note(base: sqlite3.Connection, id: str, kind: str, body: Mapping[str, Any], number: int) -> None:
    """What an event of the worker means for the list of sessions and questions."""
    match body:
        case {
            "type": "control_request",
            "request_id": str(asked),
            "request": {"subtype": str(what)} as request,
        }:
            if what in _QUESTIONS:
                base.execute(
                    "INSERT OR IGNORE INTO questions (session, id, digest, request, opened) "
                    "VALUES (?, ?, ?, ?, ?)",
                    (
                        id,
                        asked,
                        question_digest(asked, request),
                        msgspec.json.encode(request).decode(),
                        time.time(),
                    ),
                )
        case {"type": "control_cancel_request", "request_id": str(asked)}:
            close_question(base, id, asked, by="The session")
        case {"type": "system", "subtype": "session_title_changed", "title": str(title)} if title:
            base.execute("UPDATE sessions SET title = ? WHERE id = ?", (clean_name(title), id))
        case _:
            if kind in _SETTLING:
                base.execute(
                    "DELETE FROM events WHERE session = ? AND side = 'out' AND kind = ? AND number < ?",
                    (id, _PASSING, number),
                )


def question_digest(id: str, request: Any) -> str:
    """Names exactly what was shown."""
    return digest([id, request])


def _close_questions(base: sqlite3.Connection, id: str, *, by: str) -> None:
    base.execute(
        "UPDATE questions SET closed = ?, closed_by = ? WHERE session = ? AND closed IS NULL",
        (time.time(), by, id),
    )


def _object(wanted: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = wanted.get(name)
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise Refusal(400, f"{name} must be an object.")
    return value


def _question(row: tuple[Any, ...]) -> QuestionRow:
    session, id, shown, request, opened = row[:5]
    return QuestionRow(session, id, shown, msgspec.json.decode(request), opened)


def _session(row: tuple[Any, ...]) -> SessionRow:
    known = list(row)
    for at in (6, 7, 13):
        known[at] = msgspec.json.decode(known[at])
    return SessionRow(*known)
