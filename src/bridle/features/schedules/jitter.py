"""Small shifts of times, so that the prompts of many users do not come in the same second."""

from datetime import tzinfo
from zlib import crc32

from bridle.features.schedules.times import Times

_SHARE = 0.1
_MOST_LATE = 900.0
_MOST_EARLY = 90.0
_ROUND = (0, 30)


def shifted(times: Times, base: float, *, id: str, recurring: bool, zone: tzinfo | None) -> float:
    """When a prompt runs that is due at `base`: the same shift every time for the same id.

    What recurs comes up to a tenth of its period late, a quarter of an hour at most. What comes once, at the
    full or half hour, comes up to 90 seconds early.
    """
    fraction = crc32(id.encode()) / 2**32
    if not recurring:
        return base - fraction * _MOST_EARLY if base // 60 % 60 in _ROUND else base
    following = times.next_after(base, zone)
    period = 0.0 if following is None else following - base
    return base + fraction * min(period * _SHARE, _MOST_LATE)
