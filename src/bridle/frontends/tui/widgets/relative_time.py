"""Says when something was."""

import time

_MINUTE, _HOUR, _DAY = 60, 3_600, 86_400


def ago(then: float, now: float) -> str:
    """`now`, `5 min ago`, `3 h ago`, `yesterday`, `4 days ago`, `12 Mar 2026`; seconds since the epoch."""
    passed = max(0.0, now - then)
    if passed < _MINUTE:
        return "now"
    if passed < _HOUR:
        return f"{int(passed // _MINUTE)} min ago"
    if passed < _DAY:
        return f"{int(passed // _HOUR)} h ago"
    days = int(passed // _DAY)
    if days == 1:
        return "yesterday"
    return f"{days} days ago" if days < 14 else day(then)


def day(then: float) -> str:
    """`12 Mar 2026`."""
    found = time.localtime(then)
    return f"{found.tm_mday} {time.strftime('%b %Y', found)}"


def period(then: float, now: float) -> str:
    """Which part of the past it belongs to, for lists that are grouped."""
    days = (now - then) / _DAY
    if days < 1:
        return "Last 24 hours"
    if days < 7:
        return "Last 7 days"
    return "Last 30 days" if days < 30 else "Older"
