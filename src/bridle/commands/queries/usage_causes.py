"""What was spent for what: agents, skills, tools and servers, and how much of each limit is gone."""

import os.path
from collections.abc import Mapping

from msgspec import Struct

from bridle.context.compaction_report import dropped
from bridle.context.tokens import ratio_of
from bridle.engine.runtime import Runtime
from bridle.features.budgets.ledger import Ledger, UsageRow, ledger_path
from bridle.features.budgets.metered_provider import MeteredProvider
from bridle.transcripts.session import Session
from bridle.types.budget import Charge, Limit, Scope

_MOST_ROWS = 30
_SCOPES: Mapping[Scope, str] = {
    "run": "this run",
    "agent": "the main thread",
    "project": "this project",
    "day": "today",
}


class Cause(Struct, frozen=True, kw_only=True):
    """Something that model calls were made for."""

    group: str
    name: str
    tokens: int = 0
    usd: float = 0.0


class LimitUse(Struct, frozen=True, kw_only=True):
    name: str
    used: float
    """From 0 to 1, and more where it was passed."""


def causes_of(session: Session, env: Mapping[str, str]) -> tuple[Cause, ...]:
    """What the ledger says of all sessions; where none is kept, what fills this conversation."""
    path = ledger_path(env)
    if not os.path.exists(path):
        rows = dropped(session.entries, ratio_of(session.state.measured))
        return tuple(Cause(group="In this conversation", name=row.kind, tokens=row.tokens) for row in rows)
    spending = Ledger(path)
    agents = [_cause("Agents", row.key, row) for row in spending.totals("agent", most=_MOST_ROWS)]
    sources = [_sourced(row) for row in spending.totals("tool", most=_MOST_ROWS)]
    return (*agents, *sorted(sources, key=lambda each: (each.group, -each.usd)))


def limits_of(runtime: Runtime) -> tuple[LimitUse, ...]:
    """Every budget of the settings with what is gone of it."""
    provider = runtime.provider
    found = provider.standing() if isinstance(provider, MeteredProvider) else ()
    return tuple(use for scope, limit, used in found for use in _uses(_SCOPES[scope], limit, used))


def _uses(name: str, limit: Limit, used: Charge) -> list[LimitUse]:
    amounts = (
        (limit.usd, used.usd, f"${used.usd:.2f} of ${limit.usd or 0:g}"),
        (limit.tokens, used.tokens, f"{used.tokens:,} of {limit.tokens or 0:,} tokens"),
        (limit.calls, used.calls, f"{used.calls:,} of {limit.calls or 0:,} calls"),
        (limit.seconds, used.seconds, f"{used.seconds:,.0f} of {limit.seconds or 0:g} seconds"),
    )
    return [
        LimitUse(name=f"{name}: {words}", used=spent / most if most else 1.0)
        for most, spent, words in amounts
        if most is not None
    ]


def _sourced(row: UsageRow) -> Cause:
    name = row.key
    for start, group in (("MCP server ", "MCP servers"), ("skill ", "Skills")):
        if name.startswith(start):
            return _cause(group, name.removeprefix(start), row)
    return _cause("Prompts" if name == "prompt" else "Tools", name, row)


def _cause(group: str, name: str, row: UsageRow) -> Cause:
    return Cause(group=group, name=name, tokens=row.tokens, usd=row.usd)
