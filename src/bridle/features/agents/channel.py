"""The channel of an agent: its events and questions go to the thread that started it."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any

import msgspec

from bridle.types.channel import Channel
from bridle.types.event import (
    Event,
    FromAgent,
    Streamed,
    TaskEnded,
    TaskProgressed,
    TaskStarted,
    TextDelta,
    ThinkingDelta,
)
from bridle.types.hooks.events import HookEvent, Stop, SubagentStop
from bridle.types.hooks.outcome import (
    NOTHING_SAID,
    AgentState,
    AskHost,
    EndReason,
    HookOutcome,
    Hooks,
    StartSource,
)
from bridle.types.question import Answer, PermissionQuestion, Permitted, Question
from bridle.types.services.checkpoints import Checkpoints, Redone, Rewound
from bridle.types.workspace import Workspace

_STREAM = (TextDelta, ThinkingDelta, Streamed)
_OF_THE_SESSION = (FromAgent, TaskStarted, TaskProgressed, TaskEnded)
_NOT_FOR_AGENTS = frozenset({"UserPromptSubmit", "MessageDisplay", "StopFailure"})
"""Events about what the user asks and sees."""


class AgentChannel:
    """Passes the events of an agent on, marked with its id, without the raw stream."""

    def __init__(
        self,
        parent: Channel,
        mark: Callable[[Event], FromAgent],
        *,
        agent_id: str,
        notice: Callable[[Event], None],
        agreed: Callable[[Iterable[Mapping[str, Any]]], Awaitable[None]],
    ) -> None:
        self._parent = parent
        self._mark = mark
        self._agent_id = agent_id
        self._notice = notice
        """Gets every event of the agent, before it is passed to the thread that started the agent."""
        self._agreed = agreed
        """Called with the permission updates that came with an answer."""

    def emit(self, event: Event) -> None:
        if isinstance(event, _OF_THE_SESSION):
            self._parent.emit(event)
            return
        self._notice(event)
        if not isinstance(event, _STREAM):
            self._parent.emit(self._mark(event))

    async def ask(self, question: Question) -> Answer:
        if isinstance(question, PermissionQuestion) and question.agent_id is None:
            question = msgspec.structs.replace(question, agent_id=self._agent_id)
        answer = await self._parent.ask(question)
        if isinstance(answer, Permitted) and answer.updates:
            await self._agreed(answer.updates)
        return answer


class AgentView:
    """The hooks of a session for a running agent: its stop is that of a subagent."""

    def __init__(self, hooks: Hooks, stop: Callable[[Stop], SubagentStop], *, reminder: str | None) -> None:
        self._hooks = hooks
        self._stop = stop
        self._reminder = reminder

    def listens_to(self, event: str) -> bool:
        if event in _NOT_FOR_AGENTS:
            return False
        return self._hooks.listens_to("SubagentStop" if event == "Stop" else event)

    async def fire(self, event: HookEvent) -> HookOutcome:
        if event.name in _NOT_FOR_AGENTS:
            return NOTHING_SAID
        return await self._hooks.fire(self._stop(event) if isinstance(event, Stop) else event)

    def notify(self, event: HookEvent) -> None:
        self._hooks.notify(event)

    def collect(self) -> tuple[str, ...]:
        """The reminder of its definition, which is repeated at every step, and then what its hooks add."""
        reminder = () if self._reminder is None else (f"<system-reminder>{self._reminder}</system-reminder>",)
        return (*reminder, *self._hooks.collect())

    async def late_words(self) -> str | None:
        return None

    async def fire_session_start(self, source: StartSource) -> None:
        """Nothing to do: an agent begins no session."""

    async def fire_session_end(self, reason: EndReason = "other") -> None:
        """Nothing to do: an agent ends no session."""

    def begin_turn(self, prompt_id: str) -> None:
        self._hooks.begin_turn(prompt_id)

    def for_agent(
        self,
        agent_id: str,
        agent_type: str,
        *,
        workspace: Workspace | None = None,
        standing: Callable[[], AgentState] | None = None,
    ) -> Hooks:
        return self._hooks.for_agent(agent_id, agent_type, workspace=workspace, standing=standing)

    def add_host_hooks(self, hooks: Mapping[str, Any], ask: AskHost) -> int:
        return self._hooks.add_host_hooks(hooks, ask)


class SharedCheckpoints:
    """The checkpoints of a session for an agent in it: what it changes belongs to the user's prompt."""

    def __init__(self, checkpoints: Checkpoints) -> None:
        self._checkpoints = checkpoints
        self._ended: Callable[[], Awaitable[None]] | None = None

    async def before_change(self, path: str) -> None:
        await self._checkpoints.before_change(path)

    async def before_command(self) -> Callable[[], Awaitable[None]]:
        return await self._checkpoints.before_command()

    async def begin(self, prompt: str) -> None:
        """What changes while an agent works is its doing; its prompt is not one of the user."""
        if self._ended is None:
            self._ended = await self._checkpoints.before_command()

    async def end(self) -> None:
        ended, self._ended = self._ended, None
        if ended is not None:
            await ended()

    async def rewind(
        self, prompt: str, *, dry_run: bool = False, force: bool = False, leaf: str | None = None
    ) -> Rewound:
        return await self._checkpoints.rewind(prompt, dry_run=dry_run, force=force, leaf=leaf)

    async def leave_branch(self, prompt: str, leaf: str) -> None:
        await self._checkpoints.leave_branch(prompt, leaf)

    async def redo(self, *, force: bool = False) -> Redone:
        return await self._checkpoints.redo(force=force)

    async def close(self) -> None:
        """Nothing to do: the session closes them."""
