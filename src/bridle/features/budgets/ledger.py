"""The local ledger of what model calls used, shared by all processes, with room reserved before each call."""

import os
import sqlite3
import time
from collections.abc import Mapping
from contextlib import closing
from typing import Any

from msgspec import UNSET, Struct, UnsetType

from bridle.host.owners import birth, is_alive
from bridle.host.paths import bridle_dir
from bridle.types.budget import SCOPES, Budgets, Charge, Limit, Payer, Scope

_SCHEMA = """
CREATE TABLE IF NOT EXISTS usage (
  id INTEGER PRIMARY KEY, at REAL NOT NULL, day TEXT NOT NULL, project TEXT NOT NULL, run TEXT NOT NULL,
  agent TEXT NOT NULL, model TEXT NOT NULL, source TEXT NOT NULL, usd REAL NOT NULL, tokens INTEGER NOT NULL,
  output INTEGER NOT NULL, calls INTEGER NOT NULL, seconds REAL NOT NULL);
CREATE INDEX IF NOT EXISTS usage_day ON usage (day);
CREATE INDEX IF NOT EXISTS usage_project ON usage (project);
CREATE INDEX IF NOT EXISTS usage_run ON usage (run);
CREATE TABLE IF NOT EXISTS reservations (
  id INTEGER PRIMARY KEY, pid INTEGER NOT NULL, born TEXT NOT NULL, day TEXT NOT NULL, project TEXT NOT NULL,
  run TEXT NOT NULL, agent TEXT NOT NULL, usd REAL NOT NULL, tokens INTEGER NOT NULL, calls INTEGER NOT NULL,
  seconds REAL NOT NULL);
"""
_WHERE: Mapping[Scope, str] = {
    "run": "run = :run",
    "agent": "run = :run AND agent = :agent",
    "project": "project = :project",
    "day": "day = :day",
}
_BUSY_SECONDS = 20.0


def ledger_path(env: Mapping[str, str]) -> str:
    """The file that all sessions write down their usage in, where that is wanted."""
    return os.path.join(bridle_dir(env), "usage.db")


class UsageRow(Struct, frozen=True, kw_only=True):
    """What was used on a day, by a model, an agent or a tool, or in a project."""

    key: str
    usd: float
    tokens: int
    output: int
    calls: int
    seconds: float | UnsetType = UNSET
    """How long sessions were open; unset where that cannot be said of the key."""
    api_seconds: float | UnsetType = UNSET
    lines_added: int | UnsetType = UNSET
    lines_removed: int | UnsetType = UNSET


class ChargeRecord(Struct, frozen=True):
    """What one call used."""

    at: float
    run: str
    project: str
    agent: str
    model: str
    source: str
    usd: float
    tokens: int
    output: int


class Refusal(Struct, frozen=True):
    """Why a call may not be made."""

    reason: str
    spent: bool
    """The limit is used up; otherwise other calls only hold what is left and may give it back."""


class Ledger:
    """One file; every operation opens it again, so that any thread and process may use it."""

    def __init__(self, path: str) -> None:
        self.path = path

    def reserve(self, payer: Payer, charge: Charge, budgets: Budgets) -> int | Refusal:
        """Set aside what a call may use at most; the number of the reservation, or why not.

        A limit without other reservations allows one more call, so that its rest can be used.
        """
        facts = {**_facts(payer), "pid": os.getpid(), "born": birth(os.getpid())}
        with closing(self._open()) as db, db:
            db.execute("BEGIN IMMEDIATE")
            _release_the_dead(db)
            for scope in SCOPES:
                limit = budgets.get(scope)
                if limit is not None and (refusal := _refusal(db, scope, limit, charge, facts)) is not None:
                    return refusal
            row = db.execute(
                "INSERT INTO reservations (pid, born, day, project, run, agent, usd, tokens, calls, seconds) "
                "VALUES (:pid, :born, :day, :project, :run, :agent, :usd, :tokens, :calls, :seconds)",
                {**facts, **_amounts(charge)},
            )
            return row.lastrowid or 0

    def settle(
        self,
        reservation: int | None,
        payer: Payer,
        charge: Charge | None,
        *,
        model: str = "",
        source: str = "",
        output: int = 0,
    ) -> None:
        """Write down what a call used, if it used anything, and give back what was set aside for it."""
        with closing(self._open()) as db, db:
            db.execute("BEGIN IMMEDIATE")
            if reservation is not None:
                db.execute("DELETE FROM reservations WHERE id = ?", (reservation,))
            if charge is not None:
                more = {"at": time.time(), "model": model, "source": source, "output": output}
                db.execute(
                    "INSERT INTO usage (at, day, project, run, agent, model, source, usd, tokens, output, "
                    "calls, seconds) VALUES (:at, :day, :project, :run, :agent, :model, :source, :usd, "
                    ":tokens, :output, :calls, :seconds)",
                    {**_facts(payer), **_amounts(charge), **more},
                )

    def release(self, payer: Payer) -> None:
        """Give back what an agent of a run has reserved and cannot settle any more."""
        with closing(self._open()) as db, db:
            db.execute("DELETE FROM reservations WHERE run = ? AND agent = ?", (payer.run, payer.agent))

    def totals(self, by: str, *, most: int = 500) -> list[UsageRow]:
        """What was used, in rows of a kind: `day`, `model`, `agent`, `tool` or `project`."""
        column = {"tool": "source"}.get(by, by)
        if column not in ("day", "model", "agent", "source", "project", "run"):
            raise ValueError(f"usage cannot be shown by {by}")
        order = "key DESC" if by == "day" else "usd DESC, tokens DESC"
        with closing(self._open()) as db:
            db.row_factory = sqlite3.Row
            rows = db.execute(
                f"SELECT {column} AS key, SUM(usd) AS usd, SUM(tokens) AS tokens, SUM(output) AS output, "
                f"SUM(calls) AS calls, SUM(seconds) AS seconds FROM usage GROUP BY {column} "
                f"ORDER BY {order} LIMIT ?",
                (most,),
            )
            return [UsageRow(**dict(row)) for row in rows]

    def rows(self) -> "list[ChargeRecord]":
        """Every call, oldest first."""
        with closing(self._open()) as db:
            found = db.execute(
                "SELECT at, run, project, agent, model, source, usd, tokens, output FROM usage ORDER BY at"
            )
            return [ChargeRecord(*row) for row in found]

    def used(self, scope: Scope, payer: Payer) -> Charge:
        """What was used in a scope so far."""
        with closing(self._open()) as db:
            return _sum(db, "usage", scope, _facts(payer))

    def _open(self) -> sqlite3.Connection:
        folder = os.path.dirname(self.path)
        os.makedirs(folder, mode=0o700, exist_ok=True)
        fresh = not os.path.exists(self.path)
        db = sqlite3.connect(self.path, timeout=_BUSY_SECONDS, isolation_level=None)
        if fresh:
            os.chmod(self.path, 0o600)
        # What a crash of the machine could lose is a few cents, and a sync of the disk costs more.
        db.execute("PRAGMA synchronous = OFF")
        db.executescript(_SCHEMA)
        return db


def _refusal(
    db: sqlite3.Connection, scope: Scope, limit: Limit, charge: Charge, facts: Mapping[str, Any]
) -> Refusal | None:
    used, held = _sum(db, "usage", scope, facts), _sum(db, "reservations", scope, facts)
    for unit, most in (
        ("usd", limit.usd),
        ("tokens", limit.tokens),
        ("calls", limit.calls),
        ("seconds", limit.seconds),
    ):
        if most is None:
            continue
        spent, kept, wanted = (float(getattr(each, unit)) for each in (used, held, charge))
        shown = f"${most:g}" if unit == "usd" else f"{most:g} {unit}"
        if spent >= most:
            return Refusal(f"This {scope} has used its budget ({shown}).", spent=True)
        if kept and spent + kept + wanted > most:
            return Refusal(
                f"Other calls have reserved the rest of this {scope}'s budget ({shown}).", spent=False
            )
    return None


def _sum(db: sqlite3.Connection, table: str, scope: Scope, facts: Mapping[str, Any]) -> Charge:
    usd, tokens, calls, seconds = db.execute(
        f"SELECT COALESCE(SUM(usd), 0), COALESCE(SUM(tokens), 0), COALESCE(SUM(calls), 0), "
        f"COALESCE(SUM(seconds), 0) FROM {table} WHERE {_WHERE[scope]}",
        facts,
    ).fetchone()
    return Charge(usd=usd, tokens=tokens, calls=calls, seconds=seconds)


def _release_the_dead(db: sqlite3.Connection) -> None:
    for pid, born in db.execute("SELECT DISTINCT pid, born FROM reservations").fetchall():
        if not is_alive(pid, born):
            db.execute("DELETE FROM reservations WHERE pid = ? AND born = ?", (pid, born))


def _facts(payer: Payer) -> dict[str, Any]:
    day = time.strftime("%Y-%m-%d")
    return {"day": day, "project": payer.project, "run": payer.run, "agent": payer.agent}


def _amounts(charge: Charge) -> dict[str, Any]:
    return {"usd": charge.usd, "tokens": charge.tokens, "calls": charge.calls, "seconds": charge.seconds}
