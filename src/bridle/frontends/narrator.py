"""Tells a person what a run does while it does it, in plain lines."""

from collections.abc import Mapping
from typing import Any

from bridle.host.secrets import SECRETS
from bridle.host.streams import Output
from bridle.types.block import text_of
from bridle.types.event import (
    AssistantSaid,
    Event,
    FromAgent,
    ModelSwitched,
    Noticed,
    RetryScheduled,
    TaskEnded,
    TextDelta,
    ToolFinished,
    ToolStarted,
    TurnFinished,
    TurnStarted,
)
from bridle.types.hook_outcome import HookStarted
from bridle.types.text import printable
from bridle.types.turn import Outcome

_RESULT_LINES = 6
_LINE_LENGTH = 160
_TELLING = ("command", "file_path", "notebook_path", "pattern", "url", "query", "task_id", "path")


class Narrator:
    """Writes the answer as it streams, and a line or a few for every call and its result."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._in_text = False

    def take(self, event: Event) -> None:
        match event:
            case TurnStarted():
                self._line(f"[{event.model}, {event.mode} mode, {event.cwd}]")
            case TextDelta():
                self._in_text = True
                self._output.write(printable(event.text, keep="\n\t").encode(errors="replace"))
            case AssistantSaid(fault=fault) if fault is not None:
                self._line(f"! {text_of(event.message['content'])}")
            case AssistantSaid(display=str() as shown):
                self._line(shown)
            case AssistantSaid():
                self._end_text()
            case ToolStarted():
                self._line(f"* {event.tool}({_telling(event.input)})")
            case ToolFinished():
                self._result(event)
            case RetryScheduled():
                status = f" {event.status}" if event.status else ""
                attempt = f"{event.attempt} of {event.max_retries}"
                self._line(f"! {event.error}{status}: trying again in {event.delay:.1f} s ({attempt})")
            case ModelSwitched():
                self._line(f"! {event.fallback} goes on for {event.original}: {event.reason}")
            case FromAgent(event=ToolStarted() as started):
                self._line(f"  {event.agent_type}: {started.tool}({_telling(started.input)})")
            case TaskEnded():
                what = "background job" if event.task.backgrounded else "agent"
                self._line(f"* {what} {event.task.id} {event.task.status}")
            case Noticed():
                self._line(f"! {event.text}")
            case HookStarted(status_message=str() as message):
                self._line(f"* {message}")
            case TurnFinished():
                self._summary(event.outcome)
            case _:
                pass

    def finish(self, outcome: Outcome | None) -> None:
        """The summary has said it."""

    def _result(self, event: ToolFinished) -> None:
        lines = text_of(event.result["content"]).rstrip().splitlines() or ["(no text)"]
        for line in lines[:_RESULT_LINES]:
            self._line(f"  | {line[:_LINE_LENGTH]}")
        if len(lines) > _RESULT_LINES:
            self._line(f"  | … {len(lines) - _RESULT_LINES} more lines")

    def _summary(self, outcome: Outcome) -> None:
        tokens = outcome.usage.context + outcome.usage.output
        cost = f", ${outcome.total_cost_usd:.4f}" if outcome.total_cost_usd else ""
        self._line(f"[{outcome.reason} after {outcome.duration_ms / 1000:.1f} s, {tokens:,} tokens{cost}]")

    def _line(self, text: str) -> None:
        self._end_text()
        self._output.write(printable(f"{SECRETS.hide(text)}\n", keep="\n\t").encode(errors="replace"))

    def _end_text(self) -> None:
        if self._in_text:
            self._in_text = False
            self._output.write(b"\n")


def _telling(input: Mapping[str, Any]) -> str:
    """The one argument that tells a reader what a call is about."""
    for name in _TELLING:
        if isinstance(value := input.get(name), str):
            return " ".join(value.split())[:_LINE_LENGTH]
    return ", ".join(input)
