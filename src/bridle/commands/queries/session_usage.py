"""How a conversation used its model: prompt by prompt, how full the window is, and when it will be full."""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from bridle.commands.queries.usage_records import (
    CallRecord,
    PromptRecord,
    UsageRecords,
    usage_of_rows,
    usage_of_session,
)
from bridle.commands.wording import counted
from bridle.transcripts.session import Session
from bridle.types.usage import Usage

_MAIN = "main"
_RECENT_TURNS = 8
"""A forecast looks at so many turns."""


class PromptUse(Struct, frozen=True, kw_only=True):
    """A prompt with all that was used until the next one, by agents and on the side too."""

    text: str
    usd: float
    usage: Usage
    calls: int
    seconds: float
    """From the prompt to the beginning of its last call."""

    @property
    def tokens(self) -> int:
        return self.usage.context + self.usage.output


class Forecast(Struct, frozen=True, kw_only=True):
    """When the window will be full, if the conversation continues as it did."""

    used: int
    window: int
    per_turn: int
    """Tokens that a turn has added lately."""

    @property
    def turns(self) -> int | None:
        """So many more turns fit; None while the window does not grow."""
        if self.per_turn <= 0:
            return None
        return max(0, self.window - self.used) // self.per_turn


class SessionUsage(Struct, frozen=True, kw_only=True):
    """What the plots of one conversation show, each series in the order of time."""

    prompts: tuple[PromptUse, ...] = ()
    contexts: tuple[int, ...] = ()
    """Tokens in the window at each call of the main thread."""
    hit_rates: tuple[float, ...] = ()
    """Which part of each of those contexts came from the cache."""
    window: int = 0
    forecast: Forecast | None = None

    @property
    def hit_rate(self) -> float | None:
        """The part of all that was read that came from the cache."""
        read = sum((each.usage.context for each in self.prompts), 0)
        return sum(each.usage.cache_read for each in self.prompts) / read if read else None


def session_usage(
    session: Session,
    *,
    transcript: str | None,
    window: int,
    own_models: Mapping[str, Any] | None = None,
) -> SessionUsage:
    """Read it from the transcript, or from memory where none is kept; it reads files, so use a thread."""
    found = usage_of_session(transcript, own_models) if transcript else UsageRecords()
    if not found.calls:
        found = usage_of_rows(session.entries, own_models)
    return timeline(found, window=window)


def timeline(found: UsageRecords, *, window: int) -> SessionUsage:
    """Calls of one conversation, put to the prompts that they were made for."""
    main = [call for call in found.calls if not call.on_side and call.agent == _MAIN]
    contexts = tuple(call.usage.context for call in main)
    return SessionUsage(
        prompts=_by_prompt(found),
        contexts=contexts,
        hit_rates=tuple(c.usage.cache_read / c.usage.context if c.usage.context else 0.0 for c in main),
        window=window,
        forecast=_forecast(found.prompts, main, window),
    )


def forecast_text(forecast: Forecast | None) -> str:
    """The forecast in a sentence."""
    if forecast is None:
        return ""
    share = f"{forecast.used / forecast.window:.0%} of {forecast.window:,} tokens used"
    if forecast.turns is None:
        return f"{share}, not growing"
    grown = f"+{forecast.per_turn:,} tokens per prompt"
    if not forecast.turns:
        return f"{share}, {grown}: full with the next prompt"
    return f"{share}, {grown}: full in about {counted(forecast.turns, 'prompt')}"


def _by_prompt(found: UsageRecords) -> tuple[PromptUse, ...]:
    """What came before the first prompt, such as a hook at the start, belongs to it."""
    if not found.prompts:
        return ()
    begins = [asked.at for asked in found.prompts]
    groups: list[list[CallRecord]] = [[] for _ in begins]
    for call in found.calls:
        groups[max(0, bisect_right(begins, call.at) - 1)].append(call)
    return tuple(_prompt_use(asked, calls) for asked, calls in zip(found.prompts, groups, strict=True))


def _prompt_use(asked: PromptRecord, calls: Sequence[CallRecord]) -> PromptUse:
    return PromptUse(
        text=asked.text,
        usd=sum(call.usd for call in calls),
        usage=sum((call.usage for call in calls), Usage()),
        calls=len(calls),
        seconds=max((call.at - asked.at).total_seconds() for call in calls) if calls else 0.0,
    )


def _forecast(prompts: Sequence[PromptRecord], main: Sequence[CallRecord], window: int) -> Forecast | None:
    """The last turns since the window was last emptied, from the size at the end of each."""
    if not main or window <= 0:
        return None
    begins = [asked.at for asked in prompts]
    ends: dict[int, int] = {}
    for call in main:
        ends[bisect_right(begins, call.at)] = call.usage.context + call.usage.output
    sizes = list(ends.values())
    # A smaller window than before means that it was compacted: nothing before that tells anything.
    start = max((at for at in range(1, len(sizes)) if sizes[at] < sizes[at - 1]), default=0)
    recent = sizes[start:][-_RECENT_TURNS - 1 :]
    if len(recent) > 1:
        grown = (recent[-1] - recent[0]) / (len(recent) - 1)
    else:
        first = next((call.usage.context for call in main), 0)
        grown = sizes[-1] - first if start == 0 else 0
    return Forecast(used=sizes[-1], window=window, per_turn=max(0, round(grown)))
