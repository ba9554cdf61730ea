"""Events as the lines that programs read on standard output."""

from collections.abc import Iterator, Mapping
from typing import Any, Literal, assert_never

import msgspec
from msgspec import Raw, Struct

from bridle.types.event import (
    AssistantSaid,
    Event,
    ModelSwitched,
    Noticed,
    PermissionDenied,
    RetryScheduled,
    StepStarted,
    Streamed,
    TaskEnded,
    TaskStarted,
    TextDelta,
    ThinkingDelta,
    ToolFinished,
    ToolProgressed,
    ToolStarted,
    TurnFinished,
    TurnStarted,
    UserSaid,
    Withdrawn,
)
from bridle.types.ids import new_uuid
from bridle.types.task import Task
from bridle.types.text import encodable_value
from bridle.types.turn import Outcome
from bridle.types.usage import ModelSpend
from bridle.version import COMPATIBLE_WITH, __version__

Frame = dict[str, Any]

StateReports = Literal["host", "everyone"]
"""Who may read that the session runs, waits or rests."""

_PROGRESS_SECONDS = 5.0


class Facts(Struct, frozen=True, kw_only=True):
    """What the init message says that no event carries."""

    session_id: str
    api_key_source: str
    output_style: str = "default"
    betas: tuple[str, ...] = ()


class Framer:
    """Turns the events of one session into frames."""

    def __init__(
        self, facts: Facts, *, partial: bool = False, replay: bool = False, states: StateReports | None = None
    ) -> None:
        self._facts = facts
        self._partial = partial
        self._replay = replay
        self._states = states
        self._state = "idle"
        self._running: dict[str, Task] = {}
        self._progressed: dict[str, float] = {}

    def frames(self, event: Event) -> Iterator[Frame]:
        match event:
            case TextDelta() | ThinkingDelta():
                if self._partial:
                    yield self._stream_event(event.wire)
            case Streamed():
                if self._partial:
                    yield self._stream_event(event.wire, ttft_ms=event.ttft_ms)
            case TurnStarted():
                yield self._init(event)
                if self._replay and not event.meta:
                    yield self._echo(event)
            case StepStarted():
                if self._partial:
                    yield self._system("status", status="requesting")
            case AssistantSaid():
                yield self._assistant(event)
            case UserSaid():
                yield self._user(event)
            case ToolStarted():
                pass
            case ToolProgressed():
                yield from self._progress(event)
            case ToolFinished():
                yield self._result(event)
            case PermissionDenied():
                yield self._system(
                    "permission_denied",
                    tool_name=event.tool,
                    tool_use_id=event.call_id,
                    message=event.message,
                    decision_reason_type=event.reason_type,
                    decision_reason=event.reason,
                )
            case RetryScheduled():
                yield self._system(
                    "api_retry",
                    attempt=event.attempt,
                    max_retries=event.max_retries,
                    retry_delay_ms=round(event.delay * 1000),
                    error_status=event.status,
                    error=event.error,
                )
            case ModelSwitched():
                yield self._system(
                    "model_fallback",
                    trigger="overloaded",
                    original_model=event.original,
                    fallback_model=event.fallback,
                    content=f"{event.original} is overloaded: {event.fallback} answers for this turn.",
                )
            case Withdrawn():
                yield self._system("withdrawn", uuids=list(event.uuids))
            case TaskStarted() | TaskEnded():
                yield from self._task(event.task)
            case Noticed():
                yield self._system("informational", content=event.text, level=event.level)
            case TurnFinished():
                yield self.result(event.outcome)
            case _:
                assert_never(event)

    def state(self, state: str) -> Iterator[Frame]:
        """What the session is doing, for hosts that want to know; each change once."""
        if self._states is None or state == self._state:
            return
        self._state = state
        private = {"sdk_host_only": True} if self._states == "host" else {}
        yield self._system("session_state_changed", state=state, **private)

    def mode(self, mode: str) -> Frame:
        """The permission mode has changed."""
        return self._system("status", status=None, permissionMode=mode)

    def result(self, outcome: Outcome) -> Frame:
        """The last line of a turn."""
        frame: Frame = {
            "type": "result",
            "subtype": outcome.subtype,
            "is_error": outcome.is_error,
            "duration_ms": outcome.duration_ms,
            "duration_api_ms": outcome.duration_api_ms,
            "num_turns": outcome.num_turns,
            "stop_reason": outcome.stop_reason,
            "session_id": self._facts.session_id,
            "total_cost_usd": outcome.total_cost_usd,
            "usage": outcome.usage.to_api(),
            "modelUsage": {model: _model_usage(spend) for model, spend in outcome.spend.items()},
            "permission_denials": [msgspec.to_builtins(denial) for denial in outcome.denials],
            "terminal_reason": outcome.reason,
            "fast_mode_state": "off",
            "uuid": new_uuid(),
        }
        if outcome.subtype == "success":
            frame["result"] = outcome.text
            frame["api_error_status"] = outcome.api_error_status
        else:
            frame["errors"] = list(outcome.errors)
        optional: Mapping[str, Any] = {
            "ttft_ms": outcome.ttft_ms,
            "origin": outcome.origin,
            "user_message_uuid": outcome.prompt_uuid,
        }
        frame.update({key: value for key, value in optional.items() if value is not None})
        return frame

    def _init(self, event: TurnStarted) -> Frame:
        facts = self._facts
        frame = self._system(
            "init",
            cwd=event.cwd,
            tools=list(event.tools),
            mcp_servers=[],
            model=event.model,
            permissionMode=event.mode,
            slash_commands=[],
            terminal_slash_commands=[],
            apiKeySource=facts.api_key_source,
            claude_code_version=COMPATIBLE_WITH,
            bridle_version=__version__,
            output_style=facts.output_style,
            agents=[],
            skills=[],
            plugins=[],
            capabilities=[],
            fast_mode_state="off",
        )
        if facts.betas:
            frame["betas"] = list(facts.betas)
        return frame

    def _echo(self, event: TurnStarted) -> Frame:
        return {
            "type": "user",
            "message": {"role": "user", "content": event.prompt},
            "parent_tool_use_id": None,
            "isReplay": True,
            "session_id": self._facts.session_id,
            "uuid": event.uuid,
        }

    def _assistant(self, event: AssistantSaid) -> Frame:
        shown = event.message if event.fault else {**event.message, "stop_reason": None}
        frame: Frame = {
            "type": "assistant",
            "message": {**shown, "context_management": None},
            "parent_tool_use_id": None,
            "session_id": self._facts.session_id,
            "uuid": event.uuid,
            "timestamp": event.timestamp,
        }
        if event.request_id is not None:
            frame["request_id"] = event.request_id
        if event.aborted:
            frame["aborted"] = True
        if event.fault is not None:
            frame["error"] = event.fault.kind
            frame["is_api_error_message"] = True
            frame["api_error_status"] = event.fault.status
            frame["api_error_type"] = event.fault.type
        return frame

    def _user(self, event: UserSaid) -> Frame:
        frame: Frame = {
            "type": "user",
            "message": {"role": "user", "content": event.content},
            "parent_tool_use_id": None,
            "session_id": self._facts.session_id,
            "uuid": event.uuid,
            "timestamp": event.timestamp,
        }
        if event.synthetic:
            frame["isSynthetic"] = True
        return frame

    def _result(self, event: ToolFinished) -> Frame:
        self._progressed.pop(event.result["tool_use_id"], None)
        return {
            "type": "user",
            "message": {"role": "user", "content": [event.result]},
            "parent_tool_use_id": None,
            "tool_use_result": event.data,
            "session_id": self._facts.session_id,
            "uuid": event.uuid,
            "timestamp": event.timestamp,
        }

    def _progress(self, event: ToolProgressed) -> Iterator[Frame]:
        if event.seconds - self._progressed.get(event.call_id, 0.0) < _PROGRESS_SECONDS:
            return
        self._progressed[event.call_id] = event.seconds
        yield {
            "type": "tool_progress",
            "tool_use_id": event.call_id,
            "tool_name": event.tool,
            "parent_tool_use_id": None,
            "elapsed_time_seconds": round(event.seconds, 1),
            "session_id": self._facts.session_id,
            "uuid": new_uuid(),
        }

    def _task(self, task: Task) -> Iterator[Frame]:
        if task.status == "running":
            self._running[task.id] = task
            yield self._system(
                "task_started",
                task_id=task.id,
                tool_use_id=task.call_id,
                description=task.description,
                task_type=task.kind,
                is_backgrounded=True,
            )
        else:
            self._running.pop(task.id, None)
            ended = round((task.ended or task.started) * 1000)
            yield self._system(
                "task_updated", task_id=task.id, patch={"status": task.status, "end_time": ended}
            )
            yield self._system(
                "task_notification",
                task_id=task.id,
                tool_use_id=task.call_id,
                status="stopped" if task.status == "killed" else task.status,
                output_file=task.output_file,
                summary=task.description,
            )
        live = [
            {"task_id": each.id, "task_type": each.kind, "description": each.description}
            for each in self._running.values()
        ]
        yield self._system("background_tasks_changed", tasks=live)

    def _stream_event(self, wire: bytes, *, ttft_ms: int | None = None) -> Frame:
        frame: Frame = {
            "type": "stream_event",
            "event": Raw(wire),
            "parent_tool_use_id": None,
            "session_id": self._facts.session_id,
            "uuid": new_uuid(),
        }
        if ttft_ms is not None:
            frame["ttft_ms"] = ttft_ms
        return frame

    def _system(self, subtype: str, **fields: Any) -> Frame:
        return {
            "type": "system",
            "subtype": subtype,
            **fields,
            "session_id": self._facts.session_id,
            "uuid": new_uuid(),
        }


def encode(frame: Frame | list[Frame]) -> bytes:
    """One line of JSON; the two separators that some readers take for line ends are escaped."""
    try:
        line = _ENCODER.encode(frame)
    except UnicodeEncodeError:
        line = _ENCODER.encode(encodable_value(frame))
    if b"\xe2\x80\xa8" in line or b"\xe2\x80\xa9" in line:
        line = line.replace(b"\xe2\x80\xa8", b"\\u2028").replace(b"\xe2\x80\xa9", b"\\u2029")
    return line + b"\n"


def start_failure(session_id: str, message: str) -> Frame:
    """The result of a run that could not begin."""
    zero = ModelSpend()
    return {
        "type": "result",
        "subtype": "error_during_execution",
        "is_error": True,
        "duration_ms": 0,
        "duration_api_ms": 0,
        "num_turns": 0,
        "stop_reason": None,
        "session_id": session_id,
        "total_cost_usd": 0,
        "usage": zero.usage.to_api(),
        "modelUsage": {},
        "permission_denials": [],
        "errors": [message],
        "uuid": new_uuid(),
    }


_ENCODER = msgspec.json.Encoder()


def _model_usage(spend: ModelSpend) -> Frame:
    usage = spend.usage
    return {
        "inputTokens": usage.input,
        "outputTokens": usage.output,
        "cacheReadInputTokens": usage.cache_read,
        "cacheCreationInputTokens": usage.cache_write_5m + usage.cache_write_1h,
        "webSearchRequests": usage.web_searches,
        "costUSD": spend.usd,
        "contextWindow": spend.context_window,
        "maxOutputTokens": spend.max_output,
    }
