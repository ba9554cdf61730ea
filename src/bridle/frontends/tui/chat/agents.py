"""Follows the agents of a session, from what happens in them to a picture of how far they are."""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from bridle.frontends.tui.render.call import AgentProgress, AgentStep, Call
from bridle.frontends.tui.render.tools.catalog import look_of
from bridle.types.event import AssistantReplied, FromAgent, ToolFinished, ToolStarted, TurnFinished

_MOST_STEPS = 200
_AGENT = ("Agent", "Task")


class Agents:
    """Every running agent, by the call that started it; agents of agents hang below them."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._known: dict[str, AgentProgress] = {}
        self._began: dict[str, float] = {}
        self._parents: dict[str, str] = {}
        """The call of the agent that made a call for another one."""
        self._beside: set[str] = set()
        """Finished calls whose agents still run."""

    def take(self, event: FromAgent, *, cwd: str) -> tuple[str, AgentProgress]:
        """The call of the main thread that this happened below, and how far its agent is."""
        call_id = event.call_id
        self._began.setdefault(call_id, self._clock())
        known = self._known.get(call_id) or AgentProgress(
            id=event.agent_id, name=event.agent_type, description=event.description
        )
        match event.event:
            case ToolStarted(call_id=inner, tool=tool, input=input):
                if tool in _AGENT:
                    self._parents[inner] = call_id
                step = AgentStep(tool=tool, subject=_subject(tool, input, cwd), state="running")
                steps = (*known.steps, step)[-_MOST_STEPS:]
                known = msgspec.structs.replace(known, steps=steps, calls=known.calls + 1)
            case ToolFinished(tool=tool, result=result):
                known = _with_last_settled(known, tool, failed=result.get("is_error") is True)
            case AssistantReplied(message=message):
                used = _tokens(message)
                known = msgspec.structs.replace(known, tokens=max(known.tokens, used))
            case TurnFinished(outcome=outcome):
                known = msgspec.structs.replace(known, state="failed" if outcome.is_error else "done")
            case _:
                pass
        self._known[call_id] = known
        root = self._root(call_id)
        return root, self._picture(root)

    def running_beside(self) -> list[AgentProgress]:
        """Agents that run in the background."""
        return [self._picture(call_id) for call_id in self._known if call_id in self._beside]

    def settle(self, call_id: str, *, goes_on: bool) -> None:
        """The call is finished; its agent may continue in the background."""
        if goes_on:
            self._beside.add(call_id)
            self._began.setdefault(call_id, self._clock())
        elif call_id not in self._beside:
            self.forget(call_id)

    def forget(self, call_id: str) -> None:
        """The agent is done, and those below it are."""
        for child in [each for each, parent in self._parents.items() if parent == call_id]:
            del self._parents[child]
            self.forget(child)
        self._beside.discard(call_id)
        self._known.pop(call_id, None)
        self._began.pop(call_id, None)

    def _root(self, call_id: str) -> str:
        while (parent := self._parents.get(call_id)) is not None:
            call_id = parent
        return call_id

    def _picture(self, call_id: str) -> AgentProgress:
        known = self._known.get(call_id) or AgentProgress(name="agent")
        seconds = self._clock() - self._began.get(call_id, self._clock())
        below = tuple(
            self._picture(child)
            for child, parent in self._parents.items()
            if parent == call_id and child in self._known
        )
        return msgspec.structs.replace(known, seconds=seconds, agents=below)


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
