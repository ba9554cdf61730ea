"""How long a service may take, as variables have it."""

from collections.abc import Mapping

from bridle.host.http.client import Limits
from bridle.types.variables import is_off

SILENCE = 90.0
"""Seconds that a stream may be silent."""
_WHOLE_ANSWER = 600.0
_LARGEST_ANSWER = 64 * 1024 * 1024


def limits_of(env: Mapping[str, str], *, streamed: bool, silence: float = SILENCE) -> Limits:
    """The limits of one exchange; `silence` is what is normal for the service."""
    whole = _seconds(env, "API_TIMEOUT_MS") or _WHOLE_ANSWER
    if not streamed:
        return Limits(idle=whole, total=whole, body=_LARGEST_ANSWER)
    watched = not is_off(env, "CLAUDE_ENABLE_STREAM_WATCHDOG")
    unlimited = env.get("API_FORCE_IDLE_TIMEOUT", "") == "0" or not watched
    given = _seconds(env, "API_FORCE_IDLE_TIMEOUT") or _seconds(env, "CLAUDE_STREAM_IDLE_TIMEOUT_MS")
    idle = whole if unlimited else given or silence
    # Ours watches bytes, so that the stricter of the two words counts.
    return Limits(idle=min(idle, whole, _seconds(env, "CLAUDE_BYTE_STREAM_IDLE_TIMEOUT_MS") or idle))


def _seconds(env: Mapping[str, str], name: str) -> float | None:
    given = env.get(name, "")
    return int(given) / 1000 if given.isdecimal() and int(given) > 0 else None
