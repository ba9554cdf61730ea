"""How much of a conversation is still in the prompt cache, and what writing it again would cost."""

import time
from datetime import datetime

from msgspec import Struct

from bridle.engine.runtime import Runtime
from bridle.transcripts.session import Session
from bridle.types.entry import AssistantEntry
from bridle.types.usage import Usage

_CACHE_SECONDS = 300
CACHE_TTL = "5m"


class CacheState(Struct, frozen=True, kw_only=True):
    seconds: float | None
    """Since the model last said something; None when it never did."""
    context_tokens: int
    cache_warm: bool
    cache_write_usd: float
    """What it would cost to put the whole conversation into the cache of the model in question."""


def cache_state(session: Session, runtime: Runtime, model: str) -> CacheState:
    """The state of the cache now, for a session that would continue with `model`."""
    last = _last_answer(session)
    if last is None:
        return CacheState(seconds=None, context_tokens=0, cache_warm=False, cache_write_usd=0.0)
    usage = Usage.from_api(last["message"]["usage"])
    tokens = usage.context + usage.output
    seconds = max(0.0, time.time() - datetime.fromisoformat(last["timestamp"]).timestamp())
    return CacheState(
        seconds=round(seconds, 3),
        context_tokens=tokens,
        cache_warm=runtime.asking.cache and seconds < _CACHE_SECONDS,
        cache_write_usd=runtime.facts(model).cost(Usage(cache_write_5m=tokens)),
    )


def _last_answer(session: Session) -> AssistantEntry | None:
    for entry in reversed(session.entries):
        if entry["type"] == "assistant" and not entry.get("isApiErrorMessage"):
            return entry
    return None
