"""Clears old tool results where that costs less than it saves."""

import time

from bridle.context.old_results import CLEARED, old_results
from bridle.context.tokens import ratio_of
from bridle.engine.compaction.cache_state import cache_state
from bridle.engine.turn import Turn
from bridle.tools.catalog import traits_of
from bridle.transcripts.shortened_results import shorten

_LEAST_COLD = 2_000
"""Tokens worth saving when the whole conversation must be put into the cache again anyway."""
_SHARE_WARM = 5
"""One part in so many of the window must come free before a warm cache is given up for it."""


def clear_when_cold(turn: Turn) -> int:
    """At the start of a turn after a pause: clear old results, since the cache is gone; the tokens saved."""
    if turn.steps or cache_state(turn.session, turn.runtime, turn.model).cache_warm:
        return 0
    return _clear(turn, least=_LEAST_COLD)


def clear_when_full(turn: Turn) -> int:
    """In place of a summary, if that frees enough to continue for a while; the tokens saved."""
    return _clear(turn, least=turn.runtime.window(turn.model).compact_at // _SHARE_WARM)


def _clear(turn: Turn, *, least: int) -> int:
    session = turn.session
    ratio = ratio_of(session.state.measured)
    toolbox = turn.runtime.toolbox
    old = old_results(
        session.entries,
        lambda tool: traits_of(tool, toolbox).repeatable,
        spared=session.state.pinned_items,
    )
    tokens = round(sum(each.units for each in old) * ratio)
    if tokens < least or not old:
        return 0
    shorten(session, {each.call_id: CLEARED for each in old})
    metadata = {"tokensSaved": tokens, "clearedToolUseIds": [each.call_id for each in old], "at": time.time()}
    session.say_system(
        "microcompact_boundary",
        content=f"{len(old)} old tool results were cleared.",
        fields={"microcompactMetadata": metadata, "level": "info"},
    )
    turn.runtime.watch.forget(session.id)
    return tokens
