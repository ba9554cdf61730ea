"""The agents of a run and their states, for the run and for the views of it."""

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any, Literal

import msgspec

from bridle.features.workflows.journal import Record
from bridle.features.workflows.options import Request
from bridle.transcripts.session import Session
from bridle.types.services.tasks import Task
from bridle.types.services.workflows import AgentState, AgentView, PhaseView
from bridle.types.text import one_line

Verdict = Literal["skip", "stop", "restart"]

_PREVIEW = 200
_OVER: dict[AgentState, str] = {
    "waiting": "waiting",
    "running": "running",
    "done": "done",
    "replayed": "done",
    "failed": "failed",
    "skipped": "failed",
    "stopped": "failed",
}


class AgentCall:
    """One call of `agent()`, with all its attempts."""

    def __init__(self, number: int, request: Request, key: str, occurrence: int) -> None:
        self.number = number
        self.request = request
        self.key = key
        self.occurrence = occurrence
        self.state: AgentState = "waiting"
        self.agent_id: str | None = None
        self.preview = ""
        self.seconds = 0.0
        self.work: asyncio.Task[Any] | None = None
        """All its attempts."""
        self.attempt: asyncio.Task[Any] | None = None
        self.verdict: Verdict | None = None
        """What the user wants: skip, stop or restart. Checked when the attempt ends."""
        self.began: float | None = None
        self._session: Session | None = None
        self._task: Task | None = None
        self._before = (0, 0, 0)
        """Tokens, written tokens and calls of tools in attempts that are over."""

    @property
    def live(self) -> bool:
        return self.state in ("waiting", "running")

    @property
    def output_tokens(self) -> int:
        """What its models have written, in all attempts."""
        return self._before[1] + _written(self._session)

    @property
    def tokens(self) -> int:
        used = self._task.usage if self._task is not None else None
        return self._before[0] + (0 if used is None else used.tokens)

    @property
    def tool_uses(self) -> int:
        used = self._task.usage if self._task is not None else None
        return self._before[2] + (0 if used is None else used.tool_uses)

    def decide(self, verdict: Verdict) -> None:
        """End the attempt that runs or waits."""
        self.verdict = verdict
        if self.attempt is not None:
            self.attempt.cancel()

    def begin(self, agent_id: str, now: float) -> None:
        """An attempt begins."""
        self._let_go()
        self.state, self.agent_id, self.began = "running", agent_id, now

    def reopen(self) -> None:
        """Forget that it failed."""
        self.state, self.preview, self.verdict = "waiting", "", None
        self.work = self.attempt = None

    def take_session(self, session: Session) -> None:
        self._session = session

    def take_task(self, task: Task) -> None:
        self._task = task

    def replay(self, record: Record) -> None:
        """Take the result of an earlier run."""
        self._before = (record.tokens, record.output_tokens, record.tool_uses)
        self.agent_id, self.seconds = record.agent_id, record.seconds
        self.end("replayed", preview_of(record.result))

    def end(self, state: AgentState, preview: str, now: float | None = None) -> None:
        self._let_go()
        self.state, self.preview = state, preview
        if now is not None and self.began is not None:
            self.seconds = now - self.began

    def _let_go(self) -> None:
        """Keep the counts of an attempt and not its whole conversation."""
        self._before = (self.tokens, self.output_tokens, self.tool_uses)
        self._session = self._task = None

    def record(self, result: Any) -> Record:
        """The work as the journal keeps it."""
        return Record(
            key=self.key,
            occurrence=self.occurrence,
            number=self.number,
            label=self.request.label,
            phase=self.request.phase,
            model=self.request.model,
            agent_id=self.agent_id,
            tokens=self.tokens,
            output_tokens=self.output_tokens,
            tool_uses=self.tool_uses,
            seconds=round(self.seconds, 3),
            result=result,
        )

    def view(self, now: float) -> AgentView:
        running = self.state == "running" and self.began is not None
        return AgentView(
            number=self.number,
            label=self.request.label,
            phase=self.request.phase,
            state=self.state,
            model=self.request.model,
            agent_id=self.agent_id,
            tokens=self.tokens,
            tool_uses=self.tool_uses,
            seconds=now - self.began if running and self.began is not None else self.seconds,
            preview=self.preview,
        )


def view_of(record: Record) -> AgentView:
    """An agent of a run that another process has left."""
    return AgentView(
        number=record.number,
        label=record.label,
        phase=record.phase,
        state="done",
        model=record.model,
        agent_id=record.agent_id,
        tokens=record.tokens,
        tool_uses=record.tool_uses,
        seconds=record.seconds,
        preview=preview_of(record.result),
    )


def phases_of(
    declared: Sequence[tuple[str, str]], opened: Iterable[str], agents: Sequence[AgentView]
) -> tuple[PhaseView, ...]:
    """The phases in their order: those declared, then those that were opened, with their agents counted."""
    details = dict(declared)
    titles = dict.fromkeys((*details, *opened, *(agent.phase or "" for agent in agents)))
    phases: list[PhaseView] = []
    for title in titles:
        counts: dict[str, int] = {}
        for agent in agents:
            if (agent.phase or "") == title:
                state = _OVER[agent.state]
                counts[state] = counts.get(state, 0) + 1
        if title or counts:
            phases.append(PhaseView(title=title, detail=details.get(title, ""), **counts))
    return tuple(phases)


def preview_of(value: Any) -> str:
    """The beginning of a value, in one line."""
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return one_line(" ".join(text[: 4 * _PREVIEW].split()), _PREVIEW)


def _written(session: Session | None) -> int:
    return 0 if session is None else sum(spent.usage.output for spent in session.spend.values())
