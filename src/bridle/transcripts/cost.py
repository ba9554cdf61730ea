"""The spending of a session as the transcript keeps it."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from bridle.types.usage import ModelSpend, Usage


class Cost(Struct, frozen=True):
    """All that a session has cost so far."""

    usd: float = 0.0
    spend: Mapping[str, ModelSpend] = {}

    def plus(self, model: str, more: ModelSpend) -> "Cost":
        old = self.spend.get(model, ModelSpend())
        new = ModelSpend(
            old.usage + more.usage,
            old.usd + more.usd,
            more.context_window or old.context_window,
            more.max_output or old.max_output,
        )
        return Cost(self.usd + more.usd, {**self.spend, model: new})


def to_note(cost: Cost, session_id: str) -> dict[str, Any]:
    """The `cost-state` line."""
    return {
        "type": "cost-state",
        "sessionId": session_id,
        "totalCostUSD": cost.usd,
        "modelUsage": {
            model: {
                "inputTokens": spend.usage.input,
                "outputTokens": spend.usage.output,
                "cacheReadInputTokens": spend.usage.cache_read,
                "cacheCreationInputTokens": spend.usage.cache_write_5m + spend.usage.cache_write_1h,
                "webSearchRequests": spend.usage.web_searches,
                "costUSD": spend.usd,
                "contextWindow": spend.context_window,
                "maxOutputTokens": spend.max_output,
            }
            for model, spend in cost.spend.items()
        },
    }


def from_note(note: Mapping[str, Any]) -> Cost:
    """Read a `cost-state` line of any writer; what cannot be read counts as nothing."""
    models = note.get("modelUsage")
    if not isinstance(models, dict):
        models = {}
    spend = {str(model): _spend(counts) for model, counts in models.items() if isinstance(counts, dict)}
    return Cost(_amount(note.get("totalCostUSD")), spend)


def _spend(counts: dict[str, Any]) -> ModelSpend:
    usage = Usage(
        input=_count(counts.get("inputTokens")),
        output=_count(counts.get("outputTokens")),
        cache_read=_count(counts.get("cacheReadInputTokens")),
        cache_write_5m=_count(counts.get("cacheCreationInputTokens")),
        web_searches=_count(counts.get("webSearchRequests")),
    )
    return ModelSpend(
        usage,
        _amount(counts.get("costUSD")),
        _count(counts.get("contextWindow")),
        _count(counts.get("maxOutputTokens")),
    )


def _count(value: object) -> int:
    return value if isinstance(value, int) else 0


def _amount(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0
