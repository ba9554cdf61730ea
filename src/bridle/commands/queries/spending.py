"""What was used and what it cost: in this session, and by day and model in all of them."""

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from bridle.host.paths import project_dir, projects_dir
from bridle.providers import catalog
from bridle.transcripts.line import decode_line
from bridle.transcripts.session import Session
from bridle.types.usage import Usage

_MOST_FILES = 5_000
_SECONDS_OF_DAY = 86_400


class ModelCost(Struct, frozen=True, kw_only=True):
    model: str
    usage: Usage
    usd: float
    calls: int = 0
    is_priced: bool = True
    """Whether the price is known; without one `usd` is 0."""


class DayCost(Struct, frozen=True, kw_only=True):
    """One day on the user's calendar, days without use included."""

    day: str
    """YYYY-MM-DD"""
    models: tuple[ModelCost, ...] = ()
    """The costliest first."""
    sessions: int = 0
    prompts: int = 0

    @property
    def usd(self) -> float:
        return sum(each.usd for each in self.models)

    @property
    def tokens(self) -> int:
        return sum(each.usage.context + each.usage.output for each in self.models)


def session_cost(session: Session, own_models: Mapping[str, Any] | None = None) -> tuple[ModelCost, ...]:
    """What each model has cost since the conversation began, the costliest first."""
    found = (
        ModelCost(
            model=model,
            usage=each.usage,
            usd=each.usd,
            is_priced=bool(each.usd) or catalog.find(model, own_models).priced,
        )
        for model, each in session.spend.items()
    )
    return tuple(sorted(found, key=lambda each: -each.usd))


def cost_by_model(days: Sequence[DayCost]) -> tuple[ModelCost, ...]:
    """What each model has cost on these days together, in the order of its first use."""
    found: dict[str, ModelCost] = {}
    for each in (each for day in days for each in day.models):
        before = found.get(each.model)
        found[each.model] = each if before is None else _added(before, each.usage, each.usd, each.calls)
    return tuple(found.values())


def _added(cost: ModelCost, usage: Usage, usd: float, calls: int) -> ModelCost:
    return replace(cost, usage=cost.usage + usage, usd=cost.usd + usd, calls=cost.calls + calls)


def cost_by_day(
    env: Mapping[str, str],
    *,
    days: int = 30,
    directory: str | None = None,
    own_models: Mapping[str, Any] | None = None,
    now: float | None = None,
) -> tuple[DayCost, ...]:
    """The last days, oldest first, of one folder's conversations or of all; it reads files, so use a thread.

    Prices are those of today's list; what was said by agents counts too, copies of a conversation do not.
    """
    now = time.time() if now is None else now
    today = datetime.fromtimestamp(now).date()
    wanted = [today - timedelta(days=back) for back in range(days - 1, -1, -1)]
    tally = _Tally(own_models, first=wanted[0])
    folder = projects_dir(env) if directory is None else project_dir(directory, env)
    for path in _recent(folder, since=now - (days + 1) * _SECONDS_OF_DAY):
        tally.add(path)
    return tuple(tally.day(day) for day in wanted)


class _Tally:
    def __init__(self, own_models: Mapping[str, Any] | None, *, first: date) -> None:
        self._own_models = own_models
        self._models: dict[str, catalog.Model] = {}
        self._first = first
        self._costs: dict[tuple[date, str], ModelCost] = {}
        self._sessions: dict[date, set[str]] = {}
        self._prompts: dict[date, int] = {}

    def add(self, path: str) -> None:
        answers: dict[str, tuple[date, str, Usage]] = {}
        for row in _rows(path):
            day = _day(row.get("timestamp"))
            if day is None or day < self._first:
                continue
            self._sessions.setdefault(day, set()).add(str(row.get("sessionId")))
            message: Any = row.get("message")
            if row["type"] == "user":
                self._prompts[day] = self._prompts.get(day, 0) + _is_asked(row)
            elif isinstance(message, dict) and isinstance(usage := message.get("usage"), dict):
                # Each block of an answer has a row of its own, and all tell the same usage.
                answers[str(message.get("id"))] = (day, str(message.get("model")), Usage.from_api(usage))
        for day, model, usage in answers.values():
            if model != "<synthetic>":
                self._count(day, model, usage)

    def day(self, day: date) -> DayCost:
        models = sorted(
            (each for (when, _), each in self._costs.items() if when == day), key=lambda e: -e.usd
        )
        return DayCost(
            day=day.isoformat(),
            models=tuple(models),
            sessions=len(self._sessions.get(day, ())),
            prompts=self._prompts.get(day, 0),
        )

    def _facts(self, model: str) -> catalog.Model:
        if model not in self._models:
            self._models[model] = catalog.find(model, self._own_models)
        return self._models[model]

    def _count(self, day: date, model: str, usage: Usage) -> None:
        facts = self._facts(model)
        old = self._costs.get((day, model)) or ModelCost(
            model=model, usage=Usage(), usd=0.0, is_priced=facts.priced
        )
        self._costs[day, model] = _added(old, usage, catalog.cost(facts, usage), 1)


def _recent(folder: str, *, since: float) -> list[str]:
    """Transcripts below a folder that were written to since then, those of agents included."""
    found: list[tuple[float, str]] = []
    for parent, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name != "tool-results"]
        for name in names:
            if not name.endswith(".jsonl"):
                continue
            path = os.path.join(parent, name)
            try:
                changed = os.stat(path).st_mtime
            except OSError:
                continue  # It was removed in the meantime.
            if changed >= since:
                found.append((changed, path))
    return [path for _, path in sorted(found, reverse=True)[:_MOST_FILES]]


def _rows(path: str) -> Iterator[dict[str, Any]]:
    try:
        with open(path, "rb") as file:
            for line in file:
                if b'"usage"' not in line and b'"type":"user"' not in line:
                    continue
                row = decode_line(line)
                if row is not None and row.get("type") in ("user", "assistant") and "forkedFrom" not in row:
                    yield row
    except OSError:
        return


def _is_asked(row: Mapping[str, Any]) -> bool:
    if row.get("isMeta") or row.get("isSidechain") or "toolUseResult" in row or row.get("isCompactSummary"):
        return False
    message = row.get("message")
    return isinstance(message, dict) and bool(message.get("content"))


def _day(moment: object) -> date | None:
    if not isinstance(moment, str):
        return None
    try:
        return datetime.fromisoformat(moment).astimezone().date()
    except ValueError:
        return None
