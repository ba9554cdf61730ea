"""Environments of machines, and the work that waits for them."""

import sqlite3
import time
from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct

from bridle.frontends.hub.identity import clean_name, record
from bridle.frontends.hub.refusals import Refusal
from bridle.frontends.hub.tokens import digest_of, new_id, new_key

LEASE_SECONDS = 300.0
"""How long a session belongs to a worker that says nothing."""
_LONGEST_TEXT = 4_096
_MOST_SESSIONS = 1_000

State = Literal["queued", "delivered", "running", "stopping", "stopped"]


class Environment(Struct, frozen=True):
    """A folder of a machine in which sessions can be started."""

    id: str
    machine: str
    name: str
    directory: str
    branch: str
    repository: str | None
    max_sessions: int
    worker_type: str
    created: float
    seen: float


class Work(Struct, frozen=True):
    """A session that an environment is to run."""

    id: str
    environment: str
    session: str
    state: State
    created: float


class Heartbeat(Struct, frozen=True):
    """The answer to a heartbeat."""

    lease_extended: bool
    state: str
    last_heartbeat: str
    ttl_seconds: int


_COLUMNS = "id, machine, name, directory, branch, repository, max_sessions, worker_type, created, seen"


def register(base: sqlite3.Connection, machine: str, wanted: Mapping[str, Any]) -> tuple[str, str]:
    """Add an environment, or take up one that the machine had before; returns its id and its new secret.

    Raises:
        Refusal: a field has the wrong type.
    """
    now, secret = time.time(), new_key("env")
    metadata = wanted.get("metadata")
    kind = metadata.get("worker_type") if isinstance(metadata, Mapping) else None
    given: dict[str, Any] = {
        "name": clean_name(_text(wanted, "machine_name")),
        "directory": _text(wanted, "directory"),
        "branch": _text(wanted, "branch"),
        "repository": _text(wanted, "git_repo_url") or None,
        "max_sessions": _count(wanted.get("max_sessions", 1)),
        "worker_type": kind if isinstance(kind, str) else "claude_code",
        "secret": digest_of(secret),
        "seen": now,
    }
    reuse = _text(wanted, "environment_id") or None
    # A worker names either the id that it was given or one of its own making.
    row = (
        reuse
        and base.execute(
            "SELECT id FROM environments WHERE machine = ? AND (id = ? OR reuse = ?)", (machine, reuse, reuse)
        ).fetchone()
    )
    if row:
        sets = ", ".join(f"{name} = :{name}" for name in given)
        base.execute(
            f"UPDATE environments SET {sets}, removed = NULL WHERE id = :id", {**given, "id": row[0]}
        )
        return row[0], secret
    id = new_id("env")
    if reuse and base.execute("SELECT 1 FROM environments WHERE id = ?", (reuse,)).fetchone():
        raise Refusal(403, "This environment belongs to another machine.", "permission_error")
    values = {**given, "id": id, "machine": machine, "reuse": reuse, "created": now}
    names = ", ".join(values)
    base.execute(
        f"INSERT INTO environments ({names}) VALUES ({', '.join(f':{each}' for each in values)})", values
    )
    record(base, actor=machine, action="environment registered", detail={"directory": given["directory"]})
    return id, secret


def by_secret(base: sqlite3.Connection, id: str, secret: str) -> Environment:
    """The environment that a secret opens.

    Raises:
        Refusal: the secret is wrong, or the environment was removed.
    """
    row = base.execute(
        f"SELECT {_COLUMNS}, removed FROM environments WHERE id = ? AND secret = ?", (id, digest_of(secret))
    ).fetchone()
    if row is None:
        raise Refusal(401, "The secret of this environment is wrong.", "authentication_error")
    if row[-1] is not None:
        raise Refusal(410, "This environment was removed.", "environment_expired")
    return Environment(*row[:-1])


def find(base: sqlite3.Connection, id: str) -> Environment:
    """An environment.

    Raises:
        Refusal: there is none, or it was removed.
    """
    row = base.execute(f"SELECT {_COLUMNS}, removed FROM environments WHERE id = ?", (id,)).fetchone()
    if row is None:
        raise Refusal(404, "Environment not found.", "not_found_error")
    if row[-1] is not None:
        raise Refusal(410, "This environment was removed.", "environment_expired")
    return Environment(*row[:-1])


def all_environments(base: sqlite3.Connection) -> list[Environment]:
    rows = base.execute(
        f"SELECT {_COLUMNS} FROM environments WHERE removed IS NULL "
        "AND machine IN (SELECT id FROM machines WHERE revoked IS NULL) ORDER BY created"
    )
    return [Environment(*row) for row in rows]


def deregister(base: sqlite3.Connection, environment: Environment) -> None:
    """Remove an environment; what waits for it stops."""
    now = time.time()
    base.execute("UPDATE environments SET removed = ?, reuse = NULL WHERE id = ?", (now, environment.id))
    base.execute("UPDATE work SET state = 'stopped' WHERE environment = ?", (environment.id,))
    record(base, actor=environment.machine, action="environment removed", detail={"id": environment.id})


def queue_work(base: sqlite3.Connection, environment: str, session: str) -> str:
    """Let an environment run a session; returns the id of the work, also where it waits already."""
    row = base.execute(
        "SELECT id FROM work WHERE session = ? AND state IN ('queued', 'delivered')", (session,)
    ).fetchone()
    if row:
        return row[0]
    id = new_id("work")
    base.execute(
        "INSERT INTO work (id, environment, session, state, created) VALUES (?, ?, ?, 'queued', ?)",
        (id, environment, session, time.time()),
    )
    return id


def take_work(
    base: sqlite3.Connection, environment: Environment, *, reclaim_after: float | None
) -> Work | None:
    """The oldest work that no one has, or that someone took and did not acknowledge."""
    now = time.time()
    base.execute("UPDATE environments SET seen = ? WHERE id = ?", (now, environment.id))
    # Work whose worker has been silent for longer than its lease is for the next one.
    base.execute(
        "UPDATE work SET state = 'queued' WHERE environment = ? AND state = 'running' AND lease < ?",
        (environment.id, now),
    )
    taken_before = now - reclaim_after if reclaim_after is not None else -1.0
    row = base.execute(
        "SELECT id, environment, session, state, created FROM work WHERE environment = ? AND "
        "(state = 'queued' OR (state = 'delivered' AND delivered < ?)) ORDER BY created LIMIT 1",
        (environment.id, taken_before),
    ).fetchone()
    if row is None:
        return None
    base.execute("UPDATE work SET state = 'delivered', delivered = ? WHERE id = ?", (now, row[0]))
    return Work(*row)


def acknowledge(base: sqlite3.Connection, environment: str, id: str, session: str) -> None:
    """A worker has what it took; a second time changes nothing.

    Raises:
        Refusal: there is no such work for this session.
    """
    work = _work(base, environment, id, session)
    now = time.time()
    if work.state in ("queued", "delivered"):
        base.execute(
            "UPDATE work SET state = 'running', acknowledged = ?, heartbeat = ?, lease = ? WHERE id = ?",
            (now, now, now + LEASE_SECONDS, id),
        )


def beat(base: sqlite3.Connection, environment: str, id: str, session: str) -> Heartbeat:
    """A worker still runs a session.

    Raises:
        Refusal: there is no such work for this session.
    """
    work, now = _work(base, environment, id, session), time.time()
    runs = work.state in ("running", "delivered")
    if runs:
        base.execute(
            "UPDATE work SET state = 'running', heartbeat = ?, lease = ? WHERE id = ?",
            (now, now + LEASE_SECONDS, id),
        )
        base.execute("UPDATE environments SET seen = ? WHERE id = ?", (now, environment))
    state = "running" if runs else work.state
    when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now))
    return Heartbeat(runs, state, when, int(LEASE_SECONDS))


def stop(base: sqlite3.Connection, environment: str, id: str, *, actor: str, force: bool) -> str:
    """End work; returns its session.

    Raises:
        Refusal: there is no such work.
    """
    work = _work(base, environment, id, None)
    if work.state != "stopped":
        base.execute("UPDATE work SET state = 'stopped', lease = NULL WHERE id = ?", (id,))
        record(base, actor=actor, action="work stopped", session=work.session, detail={"force": force})
    return work.session


def _work(base: sqlite3.Connection, environment: str, id: str, session: str | None) -> Work:
    row = base.execute(
        "SELECT id, environment, session, state, created FROM work WHERE id = ? AND environment = ?",
        (id, environment),
    ).fetchone()
    if row is None or (session is not None and row[2] != session):
        raise Refusal(404, "Work not found.", "not_found_error")
    return Work(*row)


def _text(wanted: Mapping[str, Any], name: str) -> str:
    value = wanted.get(name)
    if value is None:
        return ""
    if not isinstance(value, str) or len(value) > _LONGEST_TEXT:
        raise Refusal(400, f"{name} must be a string of at most {_LONGEST_TEXT} characters.")
    return value


def _count(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= _MOST_SESSIONS:
        raise Refusal(400, f"max_sessions must be a number from 1 to {_MOST_SESSIONS}.")
    return value
