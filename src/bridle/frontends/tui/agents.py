"""Follows the agents of a turn, from what happens in them to a picture of how far they are."""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from bridle.frontends.tui.render.call import AgentProgress, AgentStep, Call
from bridle.frontends.tui.render.tools.catalog import look_of
from bridle.types.event import AssistantSaid, FromAgent, ToolFinished, ToolStarted, TurnFinished

_MOST_STEPS = 200


class Agents:
    """Every agent that a call of the conversation has started, by that call."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._known: dict[str, AgentProgress] = {}
        self._began: dict[str, float] = {}

    def take(self, event: FromAgent, *, cwd: str) -> AgentProgress:
        """How far the agent is after this."""
        began = self._began.setdefault(event.call_id, self._clock())
        known = self._known.get(event.call_id) or AgentProgress(
            name=event.agent_type, description=event.description
        )
        match event.event:
            case ToolStarted(tool=tool, input=input):
                step = AgentStep(tool=tool, subject=_subject(tool, input, cwd), state="running")
                steps = (*known.steps, step)[-_MOST_STEPS:]
                known = msgspec.structs.replace(known, steps=steps, calls=known.calls + 1)
            case ToolFinished(tool=tool, result=result):
                known = _with_last_settled(known, tool, failed=result.get("is_error") is True)
            case AssistantSaid(message=message):
                used = _tokens(message)
                known = msgspec.structs.replace(known, tokens=max(known.tokens, used))
            case TurnFinished(outcome=outcome):
                known = msgspec.structs.replace(known, state="failed" if outcome.is_error else "done")
            case _:
                pass
        known = msgspec.structs.replace(known, seconds=self._clock() - began)
        self._known[event.call_id] = known
        return known

    def forget(self, call_id: str) -> None:
        """The call is settled."""
        self._known.pop(call_id, None)
        self._began.pop(call_id, None)


def _subject(tool: str, input: Mapping[str, Any], cwd: str) -> str:
    return look_of(tool).subject(Call(tool=tool, input=input, state="running", cwd=cwd))


def _with_last_settled(agent: AgentProgress, tool: str, *, failed: bool) -> AgentProgress:
    steps = list(agent.steps)
    for index in range(len(steps)):
        if steps[index].tool == tool and steps[index].state == "running":
            steps[index] = msgspec.structs.replace(steps[index], state="failed" if failed else "done")
            break
    return msgspec.structs.replace(agent, steps=tuple(steps))


def _tokens(message: Mapping[str, Any]) -> int:
    usage = message.get("usage")
    if not isinstance(usage, Mapping):
        return 0
    counts = (usage.get(name) or 0 for name in ("input_tokens", "output_tokens", "cache_read_input_tokens"))
    return sum(count for count in counts if isinstance(count, int))
