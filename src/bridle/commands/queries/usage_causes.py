"""What was spent for what: agents, skills, tools and servers, and how much of each limit is used."""

from collections.abc import Iterable, Mapping

from msgspec import Struct

from bridle.commands.queries.usage_records import CallRecord
from bridle.engine.runtime import Runtime
from bridle.features.budgets.metered_provider import MeteredProvider
from bridle.transcripts.usage.model_calls import PROMPT
from bridle.types.budget import Charge, Limit, Scope

_MOST_ROWS = 30
_AGENTS, _SIDE = "Agents", "Side calls"
_GROUPS = (_AGENTS, "Prompts", "Tools", "Skills", "MCP servers", _SIDE)
_SCOPES: Mapping[Scope, str] = {
    "run": "this run",
    "agent": "main conversation",
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


def causes_of(calls: Iterable[CallRecord]) -> tuple[Cause, ...]:
    """What calls cost by agent, then by what they were made for."""
    sums: dict[tuple[str, str], tuple[int, float]] = {}
    for call in calls:
        for key in ((_AGENTS, call.agent), _sourced(call)):
            tokens, usd = sums.get(key, (0, 0.0))
            sums[key] = (tokens + call.usage.context + call.usage.output, usd + call.usd)
    found = [
        Cause(group=group, name=name, tokens=tokens, usd=usd) for (group, name), (tokens, usd) in sums.items()
    ]
    ordered = sorted(found, key=lambda each: (-each.usd, -each.tokens))
    return tuple(
        cause for group in _GROUPS for cause in [each for each in ordered if each.group == group][:_MOST_ROWS]
    )


def limits_of(runtime: Runtime) -> tuple[LimitUse, ...]:
    """Every budget of the settings, with how much of it is used."""
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


def _sourced(call: CallRecord) -> tuple[str, str]:
    name = call.source
    if call.on_side:
        return _SIDE, name
    for start, group in (("MCP server ", "MCP servers"), ("skill ", "Skills")):
        if name.startswith(start):
            return group, name.removeprefix(start)
    return ("Prompts", name) if name == PROMPT else ("Tools", name)
