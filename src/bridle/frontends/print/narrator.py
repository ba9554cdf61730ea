"""Verbose output: what a run does, in plain lines, as it happens."""

from bridle.frontends.print.call_summary import call_words
from bridle.host.secrets import SECRETS
from bridle.host.streams import Output
from bridle.types.block import text_of
from bridle.types.errors import fault_words
from bridle.types.event import (
    Answered,
    AssistantReplied,
    Event,
    FromAgent,
    ModelSwitched,
    Noticed,
    PermissionDenied,
    RetryScheduled,
    SideTaskFailed,
    TaskEnded,
    TaskStarted,
    ToolFinished,
    ToolStarted,
    TurnFinished,
    TurnStarted,
    Withdrawn,
)
from bridle.types.hooks.outcome import HookStarted
from bridle.types.services.tasks import Task
from bridle.types.text import counted, printable
from bridle.types.turn import Outcome

_RESULT_LINES = 6
_LINE_LENGTH = 160


class Narrator:
    """Writes what the model says between its calls, and a line or a few for every call and its result.

    The answer itself is left to standard output.
    """

    def __init__(self, output: Output) -> None:
        self._output = output
        self._said: list[tuple[str, str]] = []
        """Text of which it is not known yet whether it is the answer: as written, and as people see it."""
        self._names: dict[str, str] = {}
        """What jobs, agents and tasks are called, by their ids."""
        self._calls: dict[str, str] = {}
        """Calls without a result, by their ids."""
        self._newest = ""
        """The call that the last line names."""
        self._model = ""
        self._denied: set[str] = set()
        """Denied calls, which are explained by another line."""

    def take(self, event: Event) -> None:
        match event:
            case TurnStarted():
                self._model = event.model
                self._line(f"[{event.model}, {event.mode} mode, {event.cwd}]")
            case AssistantReplied(fault=None):
                self._hear(event)
            case Answered() | Withdrawn():
                self._said.clear()
            case ToolStarted():
                self._tell_said()
                self._call(event)
            case PermissionDenied(call_id=call_id):
                self._denied.add(call_id)
            case ToolFinished():
                self._result(event)
            case RetryScheduled():
                why = event.cause or fault_words(event.error, event.status)
                attempt = f"{event.attempt}/{event.max_retries}"
                self._line(f"! {why}, retrying in {event.delay:.1f} s ({attempt})")
            case ModelSwitched():
                self._line(f"! switched from {event.original} to {event.fallback}: {event.reason}")
            case FromAgent():
                self._of_agent(event)
            case TaskStarted(task=task):
                self._names[task.id] = task.description
            case TaskEnded(task=task):
                self._names[task.id] = task.description
                self._line(f"* {_ended(task)}")
            case SideTaskFailed():
                self._line(f"! {event.name} in the background failed: {event.reason}")
            case Noticed():
                self._line(f"! {event.text}")
            case HookStarted(status_message=str() as message):
                self._line(f"* {message}")
            case TurnFinished():
                self._finish_turn(event.outcome)
            case _:
                pass

    def finish(self, outcome: Outcome | None) -> None:
        """The summary has said it."""

    def _hear(self, event: AssistantReplied) -> None:
        for block in event.message["content"]:
            if block["type"] == "text":
                self._said.append((block["text"], event.display or block["text"]))

    def _call(self, event: ToolStarted) -> None:
        self._newest = event.call_id
        self._calls[event.call_id] = call_words(event.tool, event.input, self._names)
        self._line(f"* {self._calls[event.call_id]}")

    def _of_agent(self, event: FromAgent) -> None:
        name = " ".join((event.description or event.agent_type).split())
        if isinstance(started := event.event, ToolStarted):
            self._line(f"  {name}: {call_words(started.tool, started.input, self._names)}")

    def _result(self, event: ToolFinished) -> None:
        match event.data:
            case {"task": {"id": str() as id, "subject": str() as subject}}:
                self._names[id] = subject
            case _:
                pass
        call = self._calls.pop(event.result["tool_use_id"], event.tool)
        if event.result["tool_use_id"] in self._denied:
            return
        if self._newest != event.result["tool_use_id"]:
            self._line(f"  {call}:")
        self._newest = ""
        lines = text_of(event.result["content"]).rstrip().splitlines() or ["(no text)"]
        if len(lines) > _RESULT_LINES:
            self._line(f"  | … {counted(len(lines) - _RESULT_LINES, 'earlier line')}")
        for line in lines[-_RESULT_LINES:]:
            self._line(f"  | {line[:_LINE_LENGTH]}")

    def _finish_turn(self, outcome: Outcome) -> None:
        answer = outcome.text if outcome.subtype == "success" else ""
        while self._said and answer and answer.endswith(self._said[-1][0]):
            answer = answer.removesuffix(self._said.pop()[0])
        self._tell_said()
        used = outcome.usage.context + outcome.usage.output
        # The offline model is a planner: what its requests would have cost elsewhere says nothing.
        tokens = "" if self._model == "offline" else f", {used:,} tokens"
        cost = f", ${outcome.total_cost_usd:.4f}" if outcome.total_cost_usd else ""
        self._line(f"[{outcome.reason} after {outcome.duration_ms / 1000:.1f} s{tokens}{cost}]")

    def _tell_said(self) -> None:
        for _, shown in self._said:
            self._line(shown.rstrip("\n"))
        self._said.clear()

    def _line(self, text: str) -> None:
        self._output.write(printable(f"{SECRETS.hide(text)}\n", keep="\n\t").encode(errors="replace"))


def _ended(task: Task) -> str:
    what = "background job" if task.backgrounded else "agent"
    code = f" with exit code {task.exit_code}" if task.exit_code else ""
    return f'{what} "{" ".join(task.description.split())}" {task.status}{code}'
