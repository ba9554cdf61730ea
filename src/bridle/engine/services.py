"""What the features of a session offer to the tools of a call, by the key that a tool asks with."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from bridle.engine.call import Call
from bridle.engine.turn import Turn
from bridle.types.service import Service


def services_of(call: Call, turn: Turn) -> Callable[[Service[Any]], Any]:
    """Finds services for a call; what offers them is imported with the first use."""

    def find(key: Service[Any]) -> Any:
        if (offer := _OFFERS.get(key.name)) is not None:
            return offer(call, turn)
        return turn.runtime.features.offered(key, call, turn)

    return find


def _messages(call: Call, turn: Turn) -> Any:
    if turn.runtime.agents is None:
        return None
    from bridle.engine.teams.post import Post

    return Post(turn.runtime.agents, turn, call_id=call.id)


def _delegate(call: Call, turn: Turn) -> Any:
    agents = turn.runtime.agents
    return None if agents is None else partial(agents.run, turn, call_id=call.id)


_OFFERS: Mapping[str, Callable[[Call, Turn], Any]] = {
    "messages": _messages,
    "delegate": _delegate,
}
