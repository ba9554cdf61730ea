"""Turns what a session reports into metrics, events and spans."""

import re
import time
from collections import Counter
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct
from opentelemetry.trace import Span

from bridle.features.telemetry.recorder import Attributes, Recorder
from bridle.tools.catalog import traits_of
from bridle.tools.files.patches import changed_lines
from bridle.types.block import text_of
from bridle.types.channel import Channel
from bridle.types.event import (
    AssistantReplied,
    CallChanged,
    CompactionFinished,
    ConversationReset,
    Event,
    FromAgent,
    ModeChanged,
    PermissionDenied,
    RetryScheduled,
    ToolFinished,
    ToolStarted,
    TurnFinished,
    TurnStarted,
)
from bridle.types.hooks.outcome import HookRun, HookStarted
from bridle.types.question import Answer, PermissionQuestion, Permitted, Question

_EDITING = ("edit", "write", "notebook")
"""Kinds of tools that change files."""
_COMMIT = re.compile(r"(?:^|[;&|(\n])\s*git(?:\s+-{1,2}\S+(?:\s+[^\s-]\S*)?)*\s+commit\b")
_PULL_REQUEST = re.compile(r"(?:^|[;&|(\n])\s*(?:gh\s+pr\s+create|glab\s+mr\s+create)\b")
_DEFECT = re.compile(r"\w+ failed unexpectedly: (\w+):")
_LONGEST_ANSWER = 60.0
"""Seconds before a question that count as the user's own time: who takes longer does something else."""


class OpenCall(Struct):
    """A call on its way."""

    tool: str
    input: Mapping[str, Any]
    span: Span | None
    agent: str
    decided: str = ""
    """Who decided about it, once that is known."""
    blocked: Span | None = None


class SessionEvents:
    """Keeps what is open: the turn, its calls and hooks."""

    def __init__(self, recorder: Recorder, mode: str) -> None:
        self._recorder = recorder
        self._mode = mode
        self.prompt = ""
        """The id of the prompt that is worked on."""
        self.interaction: Span | None = None
        self._began = 0.0
        self._waited = 0.0
        self._calls: dict[str, OpenCall] = {}
        self._hooks: dict[str, Span | None] = {}
        self._hook_totals: dict[str, Counter[str]] = {}
        self._agents: dict[str, tuple[float, Counter[str]]] = {}

    def call(self, call_id: str) -> OpenCall | None:
        return self._calls.get(call_id)

    def parent(self, agent_call: str = "") -> Span | None:
        """What work belongs to: the call that started an agent, else the turn."""
        call = self._calls.get(agent_call)
        return self.interaction if call is None or call.span is None else call.span

    def take(self, event: Event) -> None:
        if isinstance(event, FromAgent):
            self._take_from_agent(event)
        else:
            self._take(event, "", {})

    def decide(self, call_id: str, tool: str, *, accepted: bool, source: str) -> None:
        """A call was allowed or refused; only the first decision is reported."""
        call = self._calls.get(call_id)
        if call is not None:
            if call.decided:
                return
            call.decided = source
        decision = "accept" if accepted else "reject"
        about: dict[str, str] = {"tool_name": tool, "decision": decision, "source": source}
        self._log("tool_decision", {**about, "tool_use_id": call_id})
        if traits_of(tool).kind in _EDITING:
            language = _language(call.input if call is not None else {})
            self._recorder.count("code_edit_tool.decision", 1, **about, language=language)

    def asked(self, question: PermissionQuestion) -> float:
        if (call := self._calls.get(question.call_id)) is not None:
            about = {"tool_name": question.tool, "tool_use_id": question.call_id}
            call.blocked = self._recorder.begin("tool.blocked_on_user", about, parent=call.span)
        return time.monotonic()

    def answered(self, question: PermissionQuestion, answer: Answer | None, began: float) -> None:
        seconds = time.monotonic() - began
        self._waited += seconds
        source, accepted = _source(answer), isinstance(answer, Permitted)
        if (call := self._calls.get(question.call_id)) is not None and call.blocked is not None:
            decision = "accept" if accepted else "reject"
            self._recorder.end(call.blocked, {"decision": decision, "source": source})
            call.blocked = None
        if source.startswith("user"):
            self._recorder.count("active_time.total", min(seconds, _LONGEST_ANSWER), type="user")
        self.decide(question.call_id, question.tool, accepted=accepted, source=source)

    def close(self) -> None:
        """End what is still open."""
        for call in self._calls.values():
            self._recorder.end(call.span)
        for span in (*self._hooks.values(), self.interaction):
            self._recorder.end(span)
        for name, totals in self._hook_totals.items():
            self._log("hook_plugin_metrics", {"hook_name": name, **totals})
        self._calls.clear()
        self._hooks.clear()
        self._hook_totals.clear()
        self.interaction = None

    def _take_from_agent(self, event: FromAgent) -> None:
        about = {"agent_id": event.agent_id, "agent_type": event.agent_type}
        inner = event.event
        began, totals = self._agents.setdefault(event.agent_id, (time.monotonic(), Counter()))
        if isinstance(inner, ToolFinished):
            totals["tool_uses"] += 1
        if isinstance(inner, TurnFinished):
            usage = inner.outcome.usage
            del self._agents[event.agent_id]
            self._log(
                "subagent_completed",
                {
                    **about,
                    "success": not inner.outcome.is_error,
                    "duration_ms": round((time.monotonic() - began) * 1000),
                    "total_tokens": usage.context + usage.output,
                    "tool_uses": totals["tool_uses"],
                },
            )
        elif not isinstance(inner, TurnStarted):
            self._take(inner, event.call_id, about)

    def _take(self, event: Event, agent_call: str, about: Attributes) -> None:
        match event:
            case TurnStarted():
                self._begin_turn(event)
            case TurnFinished():
                self._end_turn(event)
            case AssistantReplied():
                self._answer(event, about)
            case ToolStarted():
                self._begin_call(event, agent_call, about)
            case CallChanged() if (call := self._calls.get(event.call_id)) is not None:
                call.input = event.input
            case ToolFinished():
                self._end_call(event, about)
            case PermissionDenied():
                source = "hook" if event.reason_type == "hook" else "config"
                self.decide(event.call_id, event.tool, accepted=False, source=source)
            case RetryScheduled():
                pass  # The provider knows more of it.
            case HookStarted():
                self._begin_hook(event)
            case HookRun():
                self._end_hook(event)
            case ModeChanged():
                if event.mode != self._mode:
                    self._log("permission_mode_changed", {"from_mode": self._mode, "to_mode": event.mode})
                    self._mode = event.mode
            case CompactionFinished():
                self._compacted(event)
            case ConversationReset():
                self._recorder.follow(event.session_id)
            case _:
                pass  # Nothing else is counted.

    def _begin_turn(self, event: TurnStarted) -> None:
        self.prompt = event.prompt_uuid or event.uuid
        text = text_of(event.prompt)
        shown = text if self._recorder.switches.prompts else "<REDACTED>"
        self._began, self._waited = time.monotonic(), 0.0
        self._recorder.end(self.interaction)
        self.interaction = self._recorder.begin(
            "interaction",
            {
                "gen_ai.operation.name": "invoke_agent",
                "gen_ai.agent.name": "bridle",
                "prompt.id": self.prompt,
                "user_prompt": shown,
                "user_prompt_length": len(text),
                "permission_mode": event.mode,
            },
        )
        if not event.meta:
            self._log(
                "user_prompt", {"prompt_length": len(text), "prompt": shown, "message.uuid": event.uuid}
            )

    def _end_turn(self, event: TurnFinished) -> None:
        outcome = event.outcome
        seconds = time.monotonic() - self._began if self._began else 0.0
        self._recorder.count("active_time.total", max(0.0, seconds - self._waited), type="cli")
        about: Attributes = {
            "interaction.duration_ms": outcome.duration_ms,
            "terminal_reason": outcome.reason,
            "gen_ai.usage.input_tokens": outcome.usage.context,
            "gen_ai.usage.output_tokens": outcome.usage.output,
        }
        self._recorder.end(self.interaction, about, error=outcome.reason if outcome.is_error else "")
        self.interaction = None

    def _answer(self, event: AssistantReplied, about: Attributes) -> None:
        text = text_of(event.message["content"])
        if not text or event.fault is not None:
            return
        shown = text if self._recorder.switches.responses else "<REDACTED>"
        more = {"response_length": len(text), "response": shown, "model": event.message["model"]}
        self._log("assistant_response", {**about, **more, "message.uuid": event.uuid})

    def _begin_call(self, event: ToolStarted, agent_call: str, about: Attributes) -> None:
        named = {
            **about,
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": event.tool,
            "gen_ai.tool.call.id": event.call_id,
            "tool_name": event.tool,
            "tool_use_id": event.call_id,
            **self._details(event.input),
        }
        span = self._recorder.begin("tool", named, parent=self.parent(agent_call))
        self._calls[event.call_id] = OpenCall(event.tool, event.input, span, agent_call)

    def _end_call(self, event: ToolFinished, about: Attributes) -> None:
        call_id = event.result["tool_use_id"]
        call = self._calls.pop(call_id, None) or OpenCall(event.tool, {}, None, "")
        failed = bool(event.result.get("is_error"))
        content = event.result.get("content") or ""
        text = content if isinstance(content, str) else text_of(content)
        added, removed = (0, 0) if failed else changed_lines(event.data)
        self._recorder.count("lines_of_code.count", added, type="added")
        self._recorder.count("lines_of_code.count", removed, type="removed")
        if not failed and traits_of(event.tool).kind == "command":
            self._count_git(str(call.input.get("command", "")))
        if defect := _DEFECT.match(text):
            self._log("internal_error", {"error_name": defect[1], "tool_name": event.tool})
        size = {
            "tool_result_size_bytes": len(text.encode("utf-8", "replace")),
            "tool_input_size_bytes": len(msgspec.json.encode(dict(call.input))),
        }
        done: dict[str, str | int | float | bool] = {
            **about,
            "tool_name": event.tool,
            "tool_use_id": call_id,
            "success": not failed,
            "duration_ms": round(event.seconds * 1000),
            **size,
            **({"decision_source": call.decided} if call.decided else {}),
            **self._details(call.input),
        }
        if failed and self._recorder.switches.tool_details:
            done["error"] = text
        self._log("tool_result", done)
        inside = {"tool_output": text} if self._recorder.switches.tool_content else {}
        self._recorder.end(
            call.span, {"success": not failed, **size, **inside}, error="failed" if failed else ""
        )

    def _count_git(self, command: str) -> None:
        if _COMMIT.search(command):
            self._recorder.count("commit.count")
        if _PULL_REQUEST.search(command):
            self._recorder.count("pull_request.count")

    def _begin_hook(self, event: HookStarted) -> None:
        about = {"hook_event": event.event, "hook_name": event.name}
        self._hooks[event.id] = self._recorder.begin("hook", about, parent=self.interaction)
        self._log("hook_execution_start", about)

    def _end_hook(self, event: HookRun) -> None:
        about: Attributes = {
            "hook_event": event.event,
            "hook_name": event.name,
            "outcome": event.outcome,
            "duration_ms": round(event.seconds * 1000),
        }
        failed = event.outcome == "error"
        self._recorder.end(self._hooks.pop(event.id, None), about, error="failed" if failed else "")
        self._log("hook_execution_complete", about)
        totals = self._hook_totals.setdefault(event.name, Counter())
        totals.update(runs=1, errors=int(failed), duration_ms=round(event.seconds * 1000))

    def _compacted(self, event: CompactionFinished) -> None:
        self._log(
            "compaction",
            {
                "trigger": event.trigger,
                "success": event.error is None,
                "duration_ms": event.duration_ms,
                "pre_tokens": event.tokens_before,
                "post_tokens": event.tokens_after,
            },
        )

    def _details(self, input: Mapping[str, Any]) -> dict[str, str]:
        """The arguments of a call, where they may be reported."""
        if not self._recorder.switches.tool_details or not input:
            return {}
        return {"tool_input": msgspec.json.encode(dict(input)).decode()}

    def _log(self, name: str, attributes: Attributes) -> None:
        self._recorder.log(name, attributes, prompt=self.prompt, span=self.interaction)


class TelemetryChannel:
    """Passes everything on, and takes note of it."""

    def __init__(self, channel: Channel, events: SessionEvents) -> None:
        self._channel = channel
        self._events = events

    def emit(self, event: Event) -> None:
        self._events.take(event)
        self._channel.emit(event)

    async def ask(self, question: Question) -> Answer:
        if not isinstance(question, PermissionQuestion):
            return await self._channel.ask(question)
        began = self._events.asked(question)
        answer: Answer | None = None
        try:
            answer = given = await self._channel.ask(question)
        finally:
            self._events.answered(question, answer, began)
        return given


def _source(answer: Answer | None) -> str:
    """Who answered, in the words of the surface."""
    match answer:
        case Permitted(by_hook=True):
            return "hook"
        case Permitted(updates=updates):
            return "user_permanent" if updates else "user_temporary"
        case None:
            return "user_abort"
        case _:
            return "user_reject" if getattr(answer, "by_person", True) else "config"


def _language(input: Mapping[str, Any]) -> str:
    path = str(input.get("file_path") or input.get("notebook_path") or "")
    return _LANGUAGES.get(path.rpartition(".")[2].lower(), "unknown") if "." in path else "unknown"


_LANGUAGES = {
    "c": "C", "cc": "C++", "cpp": "C++", "cs": "C#", "css": "CSS", "go": "Go", "h": "C", "hpp": "C++",
    "html": "HTML", "ipynb": "Jupyter", "java": "Java", "js": "JavaScript", "json": "JSON",
    "jsx": "JavaScript", "kt": "Kotlin", "lua": "Lua", "md": "Markdown", "php": "PHP", "py": "Python",
    "rb": "Ruby", "rs": "Rust", "sh": "Shell", "sql": "SQL", "swift": "Swift", "toml": "TOML",
    "ts": "TypeScript", "tsx": "TypeScript", "yaml": "YAML", "yml": "YAML", "zig": "Zig",
}  # fmt: skip
