"""Says in a few words what agents are doing, for hosts that ask for it."""

import asyncio
from collections import deque
from collections.abc import Callable

from bridle.engine.runtime import Runtime
from bridle.engine.side_calls import consult_beside
from bridle.transcripts.session import Session
from bridle.types.block import text_of
from bridle.types.errors import ToolError
from bridle.types.event import (
    AssistantReplied,
    Event,
    FromAgent,
    SideTaskFailed,
    TaskEnded,
    TaskProgressed,
    TaskStarted,
)
from bridle.types.services.tasks import Task
from bridle.types.tool import Consultation
from bridle.types.turn import Outcome
from bridle.types.variables import is_on

_SECONDS = 30.0
_KEPT = 12
_LONGEST_STEP = 400
_LONGEST_SUMMARY = 120
_OFF = "CLAUDE_CODE_DISABLE_AGENT_PROGRESS_SUMMARIES"
_QUESTION = """\
You see the last steps of a running agent. State its current activity in 3 to 8 words, in the present tense, \
such as "Reading the login tests". No quotes, no full stop."""


class AgentSummaries:
    """Follows the agents of a session and sums each up now and then, while there is anything new to say."""

    def __init__(
        self, session: Session, runtime: Callable[[], Runtime | None], *, seconds: float = _SECONDS
    ) -> None:
        self._session = session
        self._runtime = runtime
        self._seconds = seconds
        self._tasks: dict[str, Task] = {}
        self._steps: dict[str, deque[str]] = {}
        self._fresh: set[str] = set()
        """Agents that have done something since they were last summarized."""
        self._fault_reported = False

    def take(self, event: Event) -> None:
        match event:
            case TaskStarted(task=task) | TaskProgressed(task=task) if task.kind == "local_agent":
                self._tasks[task.id] = task
            case TaskEnded(task=task):
                for kept in (self._tasks, self._steps):
                    kept.pop(task.id, None)
                self._fresh.discard(task.id)
            case FromAgent(event=AssistantReplied() as said) if event.agent_id in self._tasks:
                self._steps.setdefault(event.agent_id, deque(maxlen=_KEPT)).append(_step(said))
                self._fresh.add(event.agent_id)
            case _:
                pass  # Nothing else says what an agent does.

    def finish(self, outcome: Outcome | None) -> None:
        """Nothing to do: the caller of `run` cancels it."""

    async def run(self) -> None:
        """Sum up until cancelled; where the host does not ask for it, nothing is done."""
        while True:
            await asyncio.sleep(self._seconds)
            runtime = self._runtime()
            if runtime is None or not runtime.host.offer.agent_progress_summaries or is_on(runtime.env, _OFF):
                continue
            for agent_id in tuple(self._fresh & self._tasks.keys()):
                self._fresh.discard(agent_id)
                await self._sum_up(agent_id, runtime)

    async def _sum_up(self, agent_id: str, runtime: Runtime) -> None:
        steps = "\n".join(self._steps[agent_id])
        question = Consultation(purpose="agent summary", system=_QUESTION, prompt=steps, max_tokens=40)
        try:
            answer = await consult_beside(self._session, runtime, question, model=runtime.asking.small_model)
        except ToolError as error:
            if not self._fault_reported:
                self._fault_reported = True
                runtime.channel.emit(SideTaskFailed("agent summary", str(error)))
            return
        words = " ".join(text_of(answer["content"]).split())[:_LONGEST_SUMMARY].rstrip(".")
        task = self._tasks.get(agent_id)
        # It may have come to its end while the words were found.
        if words and task is not None:
            runtime.channel.emit(TaskProgressed(task, words))


def _step(said: AssistantReplied) -> str:
    parts: list[str] = []
    for block in said.message["content"]:
        if block["type"] == "text":
            parts.append(f"It says: {block['text'][:_LONGEST_STEP]}")
        elif block["type"] == "tool_use":
            parts.append(f"It calls {block['name']}: {str(block['input'])[:_LONGEST_STEP]}")
    return "\n".join(parts)
