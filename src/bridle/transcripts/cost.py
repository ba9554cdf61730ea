"""The spending of a session as the transcript keeps it."""

from collections.abc import Mapping
from math import isfinite
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from bridle.types.usage import ModelSpend, Usage

_LAST_COUNTS = (
    "inputTokens",
    "outputTokens",
    "thinkingTokens",
    "cacheReadInputTokens",
    "cacheCreationInputTokens",
    "webSearchRequests",
    "costUSD",
)


class Work(Struct, frozen=True, kw_only=True):
    """Time that a session took and lines that it changed, agents included; times are milliseconds."""

    open_ms: int = 0
    """How long it was open."""
    api_ms: int = 0
    """Waiting for models, retries included; what ran at the same time counts for each."""
    api_ms_without_retries: int = 0
    tool_ms: int = 0
    """Running tools on the main thread."""
    lines_added: int = 0
    lines_removed: int = 0
    started_at: int = 0
    """Since the epoch; 0 where it is not known."""

    def __add__(self, more: "Work") -> "Work":
        return Work(
            open_ms=self.open_ms + more.open_ms,
            api_ms=self.api_ms + more.api_ms,
            api_ms_without_retries=self.api_ms_without_retries + more.api_ms_without_retries,
            tool_ms=self.tool_ms + more.tool_ms,
            lines_added=self.lines_added + more.lines_added,
            lines_removed=self.lines_removed + more.lines_removed,
            started_at=self.started_at or more.started_at,
        )

    def __sub__(self, before: "Work") -> "Work":
        """What was added since; a count that starts over adds all that it has."""

        def since(now: int, then: int) -> int:
            return now - then if now >= then else now

        return Work(
            open_ms=since(self.open_ms, before.open_ms),
            api_ms=since(self.api_ms, before.api_ms),
            api_ms_without_retries=since(self.api_ms_without_retries, before.api_ms_without_retries),
            tool_ms=since(self.tool_ms, before.tool_ms),
            lines_added=since(self.lines_added, before.lines_added),
            lines_removed=since(self.lines_removed, before.lines_removed),
        )


class Cost(Struct, frozen=True):
    """All that a session has cost so far."""

    usd: float = 0.0
    spend: Mapping[str, ModelSpend] = {}
    work: Work = Work()
    has_unknown_price: bool = False
    """Some of it was used with a model whose price is not known."""

    def plus(self, model: str, more: ModelSpend) -> "Cost":
        old = self.spend.get(model, ModelSpend())
        new = ModelSpend(
            old.usage + more.usage,
            old.usd + more.usd,
            more.context_window or old.context_window,
            more.max_output or old.max_output,
        )
        return replace(self, usd=self.usd + more.usd, spend={**self.spend, model: new})


def to_note(cost: Cost, session_id: str) -> dict[str, Any]:
    """The `cost-state` line."""
    return {
        "type": "cost-state",
        "sessionId": session_id,
        "totalCostUSD": cost.usd,
        "totalAPIDuration": cost.work.api_ms,
        "totalAPIDurationWithoutRetries": cost.work.api_ms_without_retries,
        "totalToolDuration": cost.work.tool_ms,
        "totalLinesAdded": cost.work.lines_added,
        "totalLinesRemoved": cost.work.lines_removed,
        "totalDuration": cost.work.open_ms,
        "startTime": cost.work.started_at,
        "hasUnknownModelCost": cost.has_unknown_price,
        "modelUsage": {
            model: {
                "inputTokens": spend.usage.input,
                "outputTokens": spend.usage.output,
                "thinkingTokens": spend.usage.thinking,
                "cacheReadInputTokens": spend.usage.cache_read,
                "cacheCreationInputTokens": spend.usage.cache_write_5m + spend.usage.cache_write_1h,
                "cacheCreationEphemeral5mInputTokens": spend.usage.cache_write_5m,
                "cacheCreationEphemeral1hInputTokens": spend.usage.cache_write_1h,
                "webSearchRequests": spend.usage.web_searches,
                "costUSD": spend.usd,
            }
            for model, spend in cost.spend.items()
        },
    }


def last_session(cost: Cost, session_id: str) -> dict[str, Any]:
    """What the entry of a folder in `~/.claude.json` says of a session."""
    note = to_note(cost, session_id)
    used = Usage()
    for spend in cost.spend.values():
        used += spend.usage
    return {
        "lastCost": note["totalCostUSD"],
        "lastAPIDuration": note["totalAPIDuration"],
        "lastAPIDurationWithoutRetries": note["totalAPIDurationWithoutRetries"],
        "lastToolDuration": note["totalToolDuration"],
        "lastDuration": note["totalDuration"],
        "lastStartTime": note["startTime"],
        "lastLinesAdded": note["totalLinesAdded"],
        "lastLinesRemoved": note["totalLinesRemoved"],
        "lastTotalInputTokens": used.input,
        "lastTotalOutputTokens": used.output,
        "lastTotalCacheCreationInputTokens": used.cache_write_5m + used.cache_write_1h,
        "lastTotalCacheReadInputTokens": used.cache_read,
        "lastTotalWebSearchRequests": used.web_searches,
        "lastModelUsage": {
            model: {key: counts[key] for key in _LAST_COUNTS} for model, counts in note["modelUsage"].items()
        },
        "lastSessionId": session_id,
        "lastGracefulShutdown": True,
    }


def from_note(note: Mapping[str, Any]) -> Cost:
    """Read a `cost-state` line of any writer; what cannot be read counts as nothing."""
    models = note.get("modelUsage")
    if not isinstance(models, dict):
        models = {}
    spend = {str(model): _spend(counts) for model, counts in models.items() if isinstance(counts, dict)}
    return Cost(
        _amount(note.get("totalCostUSD")), spend, work_in(note), note.get("hasUnknownModelCost") is True
    )


def work_in(note: Mapping[str, Any]) -> Work:
    """The times and lines of a `cost-state` line of any writer."""
    return Work(
        open_ms=_whole(note.get("totalDuration")),
        api_ms=_whole(note.get("totalAPIDuration")),
        api_ms_without_retries=_whole(note.get("totalAPIDurationWithoutRetries")),
        tool_ms=_whole(note.get("totalToolDuration")),
        lines_added=_whole(note.get("totalLinesAdded")),
        lines_removed=_whole(note.get("totalLinesRemoved")),
        started_at=_whole(note.get("startTime")),
    )


def _spend(counts: dict[str, Any]) -> ModelSpend:
    written, long_lived = (
        _count(counts.get(name))
        for name in ("cacheCreationInputTokens", "cacheCreationEphemeral1hInputTokens")
    )
    usage = Usage(
        input=_count(counts.get("inputTokens")),
        output=_count(counts.get("outputTokens")),
        cache_read=_count(counts.get("cacheReadInputTokens")),
        cache_write_5m=max(0, written - long_lived),
        cache_write_1h=long_lived,
        web_searches=_count(counts.get("webSearchRequests")),
        thinking=_count(counts.get("thinkingTokens")),
    )
    return ModelSpend(
        usage,
        _amount(counts.get("costUSD")),
        _count(counts.get("contextWindow")),
        _count(counts.get("maxOutputTokens")),
    )


def _count(value: object) -> int:
    return value if isinstance(value, int) else 0


def _whole(value: object) -> int:
    """A time or a number of lines, which other writers may give as a fraction."""
    return round(value) if isinstance(value, int | float) and isfinite(value) and value > 0 else 0


def _amount(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0
