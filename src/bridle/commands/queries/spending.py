"""What was used and what it cost: in this session, and by day and model in all of them."""

import time
from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from bridle.commands.queries.usage_records import UsageRecords, usage_records
from bridle.providers import catalog
from bridle.transcripts.session import Session
from bridle.types.usage import Usage


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

    What agents and calls on the side used counts too, copies of a conversation do not. Calls that were
    recorded without their cost have the price of today's list.
    """
    wanted = last_days(days, now)
    since = datetime.combine(wanted[0], datetime.min.time()).timestamp()
    found = usage_records(env, since=since, directory=directory, own_models=own_models)
    return days_of_usage(found, wanted)


def last_days(days: int, now: float | None = None) -> list[date]:
    """So many days until today, on the user's calendar."""
    today = datetime.fromtimestamp(time.time() if now is None else now).date()
    return [today - timedelta(days=back) for back in range(days - 1, -1, -1)]


def days_of_usage(found: UsageRecords, wanted: Sequence[date]) -> tuple[DayCost, ...]:
    """What was recorded on each of these days."""
    costs: dict[date, dict[str, ModelCost]] = {day: {} for day in wanted}
    sessions: dict[date, set[str]] = {day: set() for day in wanted}
    prompts: dict[date, int] = dict.fromkeys(wanted, 0)
    for call in found.calls:
        if (models := costs.get(call.day)) is None:
            continue
        sessions[call.day].add(call.session_id)
        old = models.get(call.model) or ModelCost(
            model=call.model, usage=Usage(), usd=0.0, is_priced=call.is_priced
        )
        models[call.model] = _added(old, call.usage, call.usd, 1)
    for asked in found.prompts:
        if asked.day in prompts:
            prompts[asked.day] += 1
            sessions[asked.day].add(asked.session_id)
    return tuple(
        DayCost(
            day=day.isoformat(),
            models=tuple(sorted(costs[day].values(), key=lambda each: -each.usd)),
            sessions=len(sessions[day]),
            prompts=prompts[day],
        )
        for day in wanted
    )
