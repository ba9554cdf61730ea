"""What users have used: counted in memory, written to one database that all workers share."""

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

from msgspec import Struct

from bridle.frontends.gateway.config import Budget, User
from bridle.types.usage import Usage

_SCHEMA = """
CREATE TABLE IF NOT EXISTS usage (
    day TEXT NOT NULL, user TEXT NOT NULL, model TEXT NOT NULL,
    requests INTEGER NOT NULL DEFAULT 0, errors INTEGER NOT NULL DEFAULT 0,
    input INTEGER NOT NULL DEFAULT 0, output INTEGER NOT NULL DEFAULT 0,
    cache_read INTEGER NOT NULL DEFAULT 0, cache_write INTEGER NOT NULL DEFAULT 0,
    usd REAL NOT NULL DEFAULT 0, PRIMARY KEY (day, user, model)
)"""
_COLUMNS = ("requests", "errors", "input", "output", "cache_read", "cache_write", "usd")
_ADD = (
    f"INSERT INTO usage (day, user, model, {', '.join(_COLUMNS)}) VALUES (?, ?, ?, {', '.join('?' * 7)}) "
    f"ON CONFLICT DO UPDATE SET {', '.join(f'{name} = {name} + excluded.{name}' for name in _COLUMNS)}"
)


class Sums(Struct):
    """Requests, tokens and dollars of one user in one period."""

    requests: int = 0
    tokens: int = 0
    usd: float = 0.0


class UsageLedger:
    """Budgets are held against what all workers have written and what this one has not written yet.

    `sync` runs every second, so workers may together exceed a budget by what they do within a second.
    """

    def __init__(self, path: str, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._base = sqlite3.connect(path or ":memory:", timeout=10, check_same_thread=False)
        self._base.execute("PRAGMA journal_mode=WAL")
        self._base.execute(_SCHEMA)
        self._base.commit()
        self._lock = threading.Lock()
        self._new: dict[tuple[str, str, str], list[float]] = {}
        self._sums: dict[tuple[str, str], Sums] = {}
        """By user and day or month."""
        self._minute: dict[str, tuple[int, int]] = {}
        self.sync()

    def refusal(self, user: str, rules: User) -> str:
        """Why a user may not ask now; empty if nothing is in the way."""
        if rules.requests_per_minute is not None:
            now = int(self._clock() // 60)
            minute, count = self._minute.get(user, (now, 0))
            count = count + 1 if minute == now else 1
            self._minute[user] = now, count
            if count > rules.requests_per_minute:
                return f"More than {rules.requests_per_minute} requests in this minute. Wait and try again."
        day = self._day()
        return self._over(user, day, rules.day, "day") or self._over(user, day[:7], rules.month, "month")

    def record(self, user: str, model: str, usage: Usage, usd: float, *, failed: bool = False) -> None:
        """Count one request."""
        day = self._day()
        written = usage.cache_write_5m + usage.cache_write_1h
        row = (1, int(failed), usage.input, usage.output, usage.cache_read, written, usd)
        with self._lock:
            sums = self._new.setdefault((day, user, model), [0.0] * 7)
            for at, amount in enumerate(row):
                sums[at] += amount
        for period in (day, day[:7]):
            known = self._sums.setdefault((user, period), Sums())
            known.requests += 1
            known.tokens += usage.context + usage.output
            known.usd += usd

    def sync(self) -> None:
        """Write what is new and read what the others have written."""
        with self._lock:
            new, self._new = self._new, {}
        if new:
            self._base.executemany(_ADD, [(*key, *row) for key, row in new.items()])
            self._base.commit()
        sums: dict[tuple[str, str], Sums] = {}
        for day, user, requests, tokens, usd in self._base.execute(
            "SELECT day, user, SUM(requests), SUM(input + output + cache_read + cache_write), SUM(usd) "
            "FROM usage WHERE day >= ? GROUP BY day, user",
            (f"{self._day()[:7]}-01",),
        ):
            for period in (day, day[:7]):
                known = sums.setdefault((user, period), Sums())
                known.requests += requests
                known.tokens += tokens
                known.usd += usd
        with self._lock:
            unwritten = not self._new
        if unwritten:
            self._sums = sums

    def export(self, user: str | None = None) -> Iterator[dict[str, Any]]:
        """Every row, or those of one user, oldest first."""
        self.sync()
        where, values = ("WHERE user = ?", (user,)) if user is not None else ("", ())
        names = ("day", "user", "model", *_COLUMNS)
        rows = self._base.execute(
            f"SELECT {', '.join(names)} FROM usage {where} ORDER BY day, user, model", values
        )
        for row in rows:
            yield dict(zip(names, row, strict=True))

    def close(self) -> None:
        self.sync()
        self._base.close()

    def _day(self) -> str:
        return datetime.fromtimestamp(self._clock(), UTC).strftime("%Y-%m-%d")

    def _over(self, user: str, period: str, budget: Budget | None, name: str) -> str:
        if budget is None:
            return ""
        used = self._sums.get((user, period), Sums())
        if budget.usd is not None and used.usd >= budget.usd:
            return f"The budget of ${budget.usd:g} per {name} is used up."
        if budget.tokens is not None and used.tokens >= budget.tokens:
            return f"The budget of {budget.tokens} tokens per {name} is used up."
        if budget.requests is not None and used.requests >= budget.requests:
            return f"The budget of {budget.requests} requests per {name} is used up."
        return ""
