"""What fits into a model's window, and when something must be done about it."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from bridle.types.variables import is_on

if TYPE_CHECKING:
    from bridle.context.summary import SummaryTexts

_SUMMARY_TOKENS = 20_000
_COMPACT_MARGIN = 13_000
_WARNING_MARGIN = 20_000
_BLOCKING_MARGIN = 3_000
_SMALLEST = 100_000
_LARGEST = 1_000_000

Level = Literal["fine", "warning", "compact", "full"]


class Window(Struct, frozen=True, kw_only=True):
    """Marks on the scale from empty to full, in tokens."""

    size: int
    usable: int
    """Less what an answer needs."""
    warn_at: int
    compact_at: int
    full_at: int

    def level(self, tokens: int) -> Level:
        if tokens >= self.full_at:
            return "full"
        if tokens >= self.compact_at:
            return "compact"
        return "warning" if tokens >= self.warn_at else "fine"


def window_of(
    size: int, max_output: int, *, chosen: int | None = None, percent: float | None = None
) -> Window:
    """The marks for a model; `chosen` is the user's own window, `percent` can only lower the mark.

    Small windows keep the proportions of large ones, so that something is left to work with.
    """
    reserve = min(max_output, _SUMMARY_TOKENS, size // 4)
    usable = size - reserve
    margin = min(_COMPACT_MARGIN, usable // 8)
    compact_at = usable - margin
    if chosen is not None:
        compact_at = min(compact_at, chosen)
    if percent is not None:
        compact_at = min(compact_at, round(usable * percent / 100))
    return Window(
        size=size,
        usable=usable,
        warn_at=max(0, compact_at - min(_WARNING_MARGIN, usable // 6)),
        compact_at=compact_at,
        full_at=max(compact_at, usable - min(_BLOCKING_MARGIN, usable // 40)),
    )


class CompactionSettings(Struct, frozen=True, kw_only=True):
    """What the user has said about compaction."""

    automatic: bool = True
    allowed: bool = True
    window: int | None = None
    percent: float | None = None
    collapses: bool = False
    """The oldest rounds are dropped without a summary."""
    texts: "SummaryTexts | None" = None
    """Those of a lock file; None for bridle's own."""


def habits_from(
    env: Mapping[str, str],
    *,
    enabled: bool | None,
    window: int | None,
    collapses: bool = False,
    texts: "SummaryTexts | None" = None,
) -> CompactionSettings:
    """Variables count more than settings; what cannot be read is as if it were not there."""
    return CompactionSettings(
        automatic=enabled is not False and not is_on(env, "DISABLE_AUTO_COMPACT"),
        allowed=not is_on(env, "DISABLE_COMPACT"),
        window=_number(env.get("CLAUDE_CODE_AUTO_COMPACT_WINDOW")) or window,
        percent=_percent(env.get("CLAUDE_AUTOCOMPACT_PCT_OVERRIDE")),
        collapses=collapses,
        texts=texts,
    )


def read_window(text: str) -> int | None:
    """A number of tokens such as `500k`, `1m` or `200000`; None for `auto`.

    Raises:
        ValueError: neither, or out of range.
    """
    wanted = text.strip().lower()
    if wanted == "auto":
        return None
    factor = {"k": 1_000, "m": 1_000_000}.get(wanted[-1:], 1)
    digits = wanted[:-1] if factor > 1 else wanted
    if not digits.isascii() or not digits.isdigit() or not _SMALLEST <= int(digits) * factor <= _LARGEST:
        raise ValueError(f"{text!r} is not a window size: use auto, or a number of tokens from 100k to 1m")
    return int(digits) * factor


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isascii() and text.isdigit() and int(text) > 0 else None


def _percent(text: str | None) -> float | None:
    try:
        value = float(text) if text else 0.0
    except ValueError:
        return None
    return value if 0 < value <= 100 else None
