"""Runs the session of one attempt: options from the task, events to the driver, and how it ended."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from msgspec import UNSET, Struct

from bridle.config.options import ModeName, SessionOptions
from bridle.engine.feature import Feature
from bridle.features.context import FeatureContext
from bridle.frontends.fleet.records import Assignment, FailureKind, Progress
from bridle.frontends.fleet.workspace import AttemptError
from bridle.providers.scripted import Answer, ScriptedProvider, calls, says
from bridle.session.host import Host
from bridle.session.open import begin_session, open_session
from bridle.transcripts.store import transcript_path
from bridle.types.errors import BridleError
from bridle.types.event import Event, RetryScheduled, StepStarted, ToolStarted, TurnFinished
from bridle.types.model import Provider
from bridle.types.origin import Origin
from bridle.types.question import Answer as Reply
from bridle.types.question import Question, Refused
from bridle.types.text import one_line
from bridle.types.turn import Outcome, Prompt

_FROM_TASK = Origin(source="argument")
_NO_APPROVER = "No one can approve it in a fleet."
_OVERLOADED = frozenset({"overloaded", "rate_limit"})
_OVERLOADED_STATUS = frozenset({429, 503, 529})
_KINDS: Mapping[str, FailureKind] = {
    "error_max_turns": "turns",
    "error_max_budget_usd": "budget",
}


class SessionEnd(Struct, frozen=True, kw_only=True):
    """How a session ended."""

    kind: FailureKind = ""
    message: str = ""
    answer: str = ""
    output: Any = None
    cost: float = 0.0
    tokens: int = 0
    steps: int = 0
    session: str = ""
    transcript: str = ""
    """Its file."""


class TaskChannel:
    """Takes the events of a session; questions are refused."""

    def __init__(self, task: str, report: Callable[[Progress], None]) -> None:
        self.outcome: Outcome | None = None
        self.steps = 0
        self.overloaded = ""
        """The last refusal of a model service that was too busy."""
        self._task = task
        self._report = report

    def emit(self, event: Event) -> None:
        match event:
            case StepStarted():
                self.steps += 1
                self._tell(f"step {self.steps}")
            case ToolStarted():
                self._tell(f"step {self.steps}: {event.tool}")
            case RetryScheduled() if event.error in _OVERLOADED or event.status in _OVERLOADED_STATUS:
                self.overloaded = event.cause or "overloaded"
                self._tell(f"{self.overloaded}, retrying")
            case TurnFinished(outcome=outcome):
                self.outcome = outcome
            case _:
                pass  # The rest is in the transcript.

    async def ask(self, question: Question) -> Reply:
        del question
        return Refused(message=_NO_APPROVER, by_person=False)

    def _tell(self, text: str) -> None:
        self._report(Progress(task=self._task, text=text, steps=self.steps))


async def run_session(
    work: Assignment,
    folder: str,
    env: Mapping[str, str],
    report: Callable[[Progress], None],
    *,
    features: tuple[Callable[[FeatureContext], Feature | None], ...] = (),
) -> SessionEnd:
    """Run the session of an attempt in its folder to its end.

    Raises:
        AttemptError: it could not begin.
    """
    task = work.task
    channel = TaskChannel(task.id, report)
    warnings: list[str] = []
    host = Host(
        env=env,
        cwd=folder,
        provider=scripted(task.script) if task.script else None,
        features=features,
        warn=warnings.append,
        tell=warnings.append,
        greets=True,
    )
    try:
        begun = begin_session(session_options(work), host)
        async with open_session(begun, channel) as live:
            if task.schema is not None:
                from bridle.engine.structured_output import AnswerShape

                live.server.shape_answers(AnswerShape(dict(task.schema)))
            live.inbox.put(Prompt(content=task.prompt, origin=_FROM_TASK))
            live.inbox.close()
            await live.serve()
            session = live.session
    except BridleError as error:
        raise AttemptError("session", str(error)) from error
    path = transcript_path(session.id, folder, begun.setup.env)
    return _end(channel, session.id, path, session.total_cost_usd)


def session_options(work: Assignment) -> SessionOptions:
    """What the session of an attempt is opened with."""
    task, run = work.task, work.options
    return SessionOptions(
        print_mode=True,
        prompt=task.prompt,
        model=task.model or None,
        permission_mode=msgspec.convert(task.mode or run.mode, ModeName),
        max_budget_usd=task.budget or None,
        max_turns=task.turns or None,
        append_system_prompt=task.system or None,
        agent=task.agent or None,
        name=task.id,
        settings=_settings(work),
        trust=run.trust,
        permission_prompts="none",
    )


def _settings(work: Assignment) -> str:
    """The settings of the run with the sandbox, which tasks cannot turn off."""
    run = work.options
    settings: dict[str, Any] = msgspec.json.decode(run.settings) if run.settings else {}
    settings |= msgspec.json.decode(work.task.settings) if work.task.settings else {}
    if run.sandbox:
        network = {"allowedDomains": list(run.network)} if run.network else {}
        given: dict[str, Any] = settings.get("sandbox") or {}
        settings["sandbox"] = {
            **given,
            "enabled": True,
            "failIfUnavailable": True,
            "allowUnsandboxedCommands": False,
            "network": {**(given.get("network") or {}), **network},
        }
    return msgspec.json.encode(settings).decode()


def scripted(script: tuple[Mapping[str, Any], ...]) -> Provider:
    """A model that gives the answers of a task, for evaluations without a service."""
    return ScriptedProvider([_line(row) for row in script])


def _line(row: Mapping[str, Any]) -> Answer:
    content: list[Any] = [row["text"]] if row.get("text") else []
    content += (calls(call["tool"], **call.get("input", {})) for call in row.get("calls", ()))
    pause = float(row.get("pause", 0))

    async def wait() -> None:
        await asyncio.sleep(pause)

    return says(*(content or ["Done."]), usage=row.get("usage"), then=wait if pause else None)


def _end(channel: TaskChannel, id: str, path: str, cost: float) -> SessionEnd:
    outcome = channel.outcome
    if outcome is None:
        return SessionEnd(
            kind="session", message="the session ended without a result", session=id, transcript=path
        )
    spend = outcome.spend.values()
    tokens = sum(each.usage.context + each.usage.output for each in spend)
    kind, message = "", ""
    if outcome.is_error or outcome.subtype != "success":
        message = one_line("; ".join(outcome.errors) or outcome.text or outcome.subtype, 500)
        kind = _KINDS.get(outcome.subtype) or _kind_of(outcome, channel)
    return SessionEnd(
        kind=kind,
        message=message,
        answer=outcome.text,
        output=None if outcome.structured_output is UNSET else outcome.structured_output,
        cost=max(cost, outcome.total_cost_usd),
        tokens=tokens,
        steps=channel.steps,
        session=id,
        transcript=path,
    )


def _kind_of(outcome: Outcome, channel: TaskChannel) -> FailureKind:
    if outcome.reason in ("api_error", "model_error") and (
        outcome.api_error_status in _OVERLOADED_STATUS or channel.overloaded
    ):
        return "overloaded"
    return "model" if outcome.reason in ("api_error", "model_error", "prompt_too_long") else "session"
