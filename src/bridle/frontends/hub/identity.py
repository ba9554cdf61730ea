"""Who may what: devices with roles, machines, one-time codes, and the record of who did what."""

import sqlite3
import time
from collections.abc import Mapping
from typing import Any, Literal, get_args

import msgspec
from msgspec import Struct

from bridle.frontends.hub.tokens import digest_of, new_code, new_id, new_key, read_code
from bridle.types.errors import UsageError

Role = Literal["watch", "answer", "steer", "start"]
"""Each may what those before it may: look, answer questions, send prompts and interrupt, start sessions."""
ROLES: tuple[Role, ...] = get_args(Role)

CODE_SECONDS = 600.0
_LONGEST_NAME = 80


class Device(Struct, frozen=True):
    """A browser or a program of a person."""

    id: str
    name: str
    role: Role
    created: float
    seen: float

    def may(self, role: Role) -> bool:
        return ROLES.index(self.role) >= ROLES.index(role)


class Machine(Struct, frozen=True):
    """A computer on which sessions run."""

    id: str
    name: str
    created: float
    seen: float


class Admission(Struct, frozen=True):
    """What a code was exchanged for; the key is shown once and only its digest is stored."""

    id: str
    key: str
    name: str
    role: str


def make_code(base: sqlite3.Connection, *, kind: Literal["device", "machine"], role: str, name: str) -> str:
    """A code that lets one device or machine in, for ten minutes and once."""
    code, now = new_code(), time.time()
    base.execute("DELETE FROM codes WHERE expires < ?", (now,))
    base.execute(
        "INSERT INTO codes VALUES (?, ?, ?, ?, ?)", (digest_of(code), kind, role, name, now + CODE_SECONDS)
    )
    return code


def admit(
    base: sqlite3.Connection, code: str, *, kind: Literal["device", "machine"], name: str
) -> Admission | None:
    """Exchange a code for a key; None if the code is not valid."""
    now = time.time()
    row = base.execute(
        "DELETE FROM codes WHERE digest = ? AND kind = ? AND expires > ? RETURNING role, name",
        (digest_of(read_code(code)), kind, now),
    ).fetchone()
    if row is None:
        return None
    role, planned = row
    shown = clean_name(planned or name) or kind
    key = new_key("dev" if kind == "device" else "mch")
    if kind == "device":
        id = new_id("device")
        values: tuple[Any, ...] = (id, shown, role, digest_of(key), now, now)
        base.execute("INSERT INTO devices VALUES (?, ?, ?, ?, ?, ?, NULL)", values)
    else:
        id = new_id("machine")
        base.execute(
            "INSERT INTO machines VALUES (?, ?, ?, ?, ?, NULL)", (id, shown, digest_of(key), now, now)
        )
    record(base, actor=id, action=f"{kind} joined", detail={"name": shown, "role": role})
    return Admission(id, key, shown, role)


def device_of(base: sqlite3.Connection, key: str) -> Device | None:
    """The device that a key belongs to, unless it was revoked."""
    row = base.execute(
        "SELECT id, name, role, created, seen FROM devices WHERE digest = ? AND revoked IS NULL",
        (digest_of(key),),
    ).fetchone()
    return None if row is None else Device(*row)


def machine_of(base: sqlite3.Connection, key: str) -> Machine | None:
    """The machine that a key belongs to, unless it was revoked."""
    row = base.execute(
        "SELECT id, name, created, seen FROM machines WHERE digest = ? AND revoked IS NULL", (digest_of(key),)
    ).fetchone()
    return None if row is None else Machine(*row)


def see(base: sqlite3.Connection, id: str, now: float) -> None:
    """Note that a device or machine was here."""
    table = "devices" if id.startswith("device_") else "machines"
    base.execute(f"UPDATE {table} SET seen = ? WHERE id = ?", (now, id))


def devices(base: sqlite3.Connection) -> list[Device]:
    rows = base.execute(
        "SELECT id, name, role, created, seen FROM devices WHERE revoked IS NULL ORDER BY created"
    )
    return [Device(*row) for row in rows]


def machines(base: sqlite3.Connection) -> list[Machine]:
    rows = base.execute("SELECT id, name, created, seen FROM machines WHERE revoked IS NULL ORDER BY created")
    return [Machine(*row) for row in rows]


def revoke(base: sqlite3.Connection, wanted: str, *, actor: str) -> str:
    """Take the key of a device or machine, by id or name; returns its id.

    Raises:
        UsageError: no one, or more than one, is called so.
    """
    known = {each.id: each.name for each in (*devices(base), *machines(base))}
    found = [id for id, name in known.items() if wanted in (id, name)]
    if len(found) != 1:
        problem = "unknown device or machine" if not found else "more than one device or machine is called"
        raise UsageError(f"{problem} {wanted!r}: see bridle hub devices")
    table = "devices" if found[0].startswith("device_") else "machines"
    base.execute(f"UPDATE {table} SET revoked = ? WHERE id = ?", (time.time(), found[0]))
    record(base, actor=actor, action="revoked", detail={"id": found[0], "name": known[found[0]]})
    return found[0]


def record(
    base: sqlite3.Connection,
    *,
    actor: str,
    action: str,
    session: str | None = None,
    detail: Mapping[str, Any] | None = None,
) -> None:
    """Add a line to the audit table."""
    base.execute(
        "INSERT INTO audit (at, actor, action, session, detail) VALUES (?, ?, ?, ?, ?)",
        (time.time(), actor, action, session, msgspec.json.encode(detail or {}).decode()),
    )


def audit(base: sqlite3.Connection, *, before: int | None, limit: int) -> list[dict[str, Any]]:
    """The newest lines of the audit table, the newest first."""
    rows = base.execute(
        "SELECT number, at, actor, action, session, detail FROM audit WHERE number < ? "
        "ORDER BY number DESC LIMIT ?",
        (before if before is not None else 2**62, limit),
    )
    return [
        {
            "number": number,
            "at": at,
            "actor": actor,
            "action": action,
            "session": session,
            **msgspec.json.decode(detail),
        }
        for number, at, actor, action, session, detail in rows
    ]


def clean_name(text: str) -> str:
    """A name without characters that could not be seen."""
    return " ".join("".join(each for each in text if each.isprintable()).split())[:_LONGEST_NAME]
