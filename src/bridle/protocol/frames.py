"""Events as the lines that programs read on standard output."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, assert_never

import msgspec
from msgspec import Raw

from bridle.protocol.heartbeat import Heartbeats, progress_frame
from bridle.protocol.init_frame import NO_FAST_MODE, InitFacts, Inventory, init_fields
from bridle.protocol.message_frames import (
    assistant_frame,
    command_frame,
    prompt_frame,
    result_frame,
    user_frame,
)
from bridle.protocol.result_frame import turn_frame, usage_since
from bridle.protocol.system_frames import hook_notice, notice
from bridle.protocol.task_frames import TaskFrames, progress
from bridle.protocol.turn_report import AgentReport, TurnTimes
from bridle.types.block import text_of
from bridle.types.event import (
    Answered,
    AssistantReplied,
    CallChanged,
    CommandReplied,
    CompactionFinished,
    CompactionStarted,
    ConversationReset,
    Event,
    FromAgent,
    LimitChanged,
    ModeChanged,
    ModelSwitched,
    Noticed,
    PermissionDenied,
    PromptFolded,
    PromptMoved,
    PromptSuggested,
    RetryScheduled,
    SessionRenamed,
    SideTaskFailed,
    Signalled,
    StepStarted,
    Streamed,
    TaskEnded,
    TaskProgressed,
    TaskStarted,
    TextDelta,
    ThinkingDelta,
    ToolFinished,
    ToolProgressed,
    ToolStarted,
    TurnFinished,
    TurnStarted,
    UserTextAdded,
    Withdrawn,
)
from bridle.types.hooks.outcome import HookProgressed, HookRun, HookStarted
from bridle.types.ids import new_uuid
from bridle.types.services.fast_mode import FastState
from bridle.types.text import encodable_value
from bridle.types.turn import Outcome
from bridle.types.usage import ModelSpend

Frame = dict[str, Any]

StateReports = Literal["host", "everyone"]
"""Who may read that the session runs, waits or rests."""

_PROGRESS_SECONDS = 5.0
_CHARACTERS_PER_TOKEN = 4
_THINKING_STEP = 50
"""Tokens of thinking between two reports of it."""
_ALWAYS_TOLD = ("SessionStart", "Setup")
"""Events whose hooks are always reported."""
_AFTER_INIT = (AssistantReplied, CommandReplied, ToolFinished, TurnFinished, UserTextAdded)
"""Events that are sent only after the first line of a turn."""


class Framer:
    """Turns the events of one session into frames."""

    def __init__(
        self,
        facts: InitFacts,
        *,
        partial: bool = False,
        replay: bool = False,
        hooks: bool = False,
        states: StateReports | None = None,
        inventory: Callable[[], Inventory] = Inventory,
        waiting: Callable[[], int] | None = None,
        agent_text: Callable[[], bool] = lambda: False,
    ) -> None:
        self._facts = facts
        self._partial = partial
        self._replay = replay
        self._hooks = hooks
        """Whether every hook is reported."""
        self._states = states
        self._inventory = inventory
        self._waiting = waiting
        """How many prompts wait for a turn of their own."""
        self._agent_text = agent_text
        """Whether text and thinking of agents are sent too."""
        self._state = "idle"
        self._unopened: TurnStarted | None = None
        """A turn that has begun but was not reported yet."""
        self._compacts = False
        """Whether that is all the turn is for."""
        self._results = 0
        self._spent: Mapping[str, ModelSpend] = facts.spent
        """What the result before this one reported."""
        self._fast_mode: FastState | None = "off"
        """As the last turn has begun with it."""
        self._answering: list[str] = []
        """The ids of prompts that the next thing said answers."""
        self._thought = 0
        self._thought_told = 0
        self._decisions: dict[str, Frame] = {}
        """Who decided on calls that have no result yet."""
        self._tasks = TaskFrames()
        self._agents = AgentReport()
        self._times = TurnTimes()
        self._progressed: dict[str, float] = {}
        self._heartbeats = Heartbeats()

    def frames(self, event: Event) -> Iterator[Frame]:
        if self._unopened is not None and isinstance(event, _AFTER_INIT):
            yield from self._open_now()
        self._measure(event)
        yield from self._framed(event)

    def _framed(self, event: Event) -> Iterator[Frame]:
        match event:
            case TextDelta():
                if self._partial:
                    yield self._stream_event(event.wire)
            case ThinkingDelta() | Streamed():
                yield from self._streamed(event)
            case TurnStarted():
                yield from self._opened(event)
            case PromptFolded() | PromptMoved():
                yield from self._taken(event) if isinstance(event, PromptFolded) else self._moved(event)
            case StepStarted() | SideTaskFailed():
                # A failed side task is for logs alone.
                if self._partial and isinstance(event, StepStarted):
                    yield self._system("status", status="requesting")
            case AssistantReplied():
                yield from self._said(event)
            case UserTextAdded():
                yield user_frame(event, self._facts.session_id)
            case ToolStarted() | CallChanged() | Signalled() | Answered():
                # Answers hold the call and the text already, hosts know what they changed, and sequences are
                # meant for a terminal.
                self._note(event)
            case ToolProgressed():
                yield from self._progress(event)
            case ToolFinished():
                yield self._settled(event)
            case PermissionDenied():
                yield self._denied(event)
            case (
                RetryScheduled()
                | ModelSwitched()
                | Withdrawn()
                | CompactionStarted()
                | Noticed()
                | SessionRenamed()
            ):
                yield self._system(**notice(event))
            case HookStarted() | HookProgressed() | HookRun():
                if self._hooks or event.event in _ALWAYS_TOLD:
                    yield self._system(**hook_notice(event))
            case TaskStarted() | TaskEnded():
                yield from (self._system(**fields) for fields in self._tasks.of(event.task))
            case TaskProgressed():
                yield self._system(**progress(event.task, event.summary))
            case FromAgent():
                yield from self._from_agent(event)
            case ModeChanged():
                yield self.mode(event.mode)
            case PromptSuggested() | LimitChanged():
                yield self._news(event)
            case CompactionFinished():
                yield from self._compaction(event)
            case CommandReplied() | ConversationReset():
                yield self._commanded(event)
            case TurnFinished():
                yield self.result(event.outcome)
            case _:
                assert_never(event)

    def _measure(self, event: Event) -> None:
        """Keep what the result of the turn will say of its course."""
        match event:
            case TurnStarted():
                self._times.begin()
            case StepStarted():
                self._times.note("time_to_request_ms")
            case TextDelta() | ThinkingDelta():
                self._times.note("ttft_stream_ms")
            case AssistantReplied():
                self._times.note("first_content_frame_ms")
            case TaskStarted() | TaskEnded():
                self._agents.note(event.task)
            case _:
                pass  # Nothing that is counted.

    def decide(self, call_id: str, *, accepted: bool, source: str) -> None:
        """A call was approved or denied; its result will say so."""
        self._decisions[call_id] = {"decision": "accept" if accepted else "reject", "source": source}

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
        frame = turn_frame(outcome, session_id=self._facts.session_id)
        if self._compacts and outcome.subtype == "success" and not outcome.is_error:
            frame["result"] = ""
        frame["model_usage_since_last_result"] = usage_since(outcome.spend, self._spent)
        self._spent = outcome.spend
        frame["fast_mode_state"] = self._fast_mode or "off"
        if self._fast_mode is None:
            frame["fast_mode_disabled_reason"] = NO_FAST_MODE
        frame["subagent_stats"] = self._agents.stats()
        frame["safety_stops"] = 0
        frame |= self._times.fields()
        frame["result_index"] = self._results
        self._results += 1
        if self._waiting is not None:
            frame["queued_turn_count"] = self._waiting()
        return frame

    def heartbeats(self, now: float) -> Iterator[Frame]:
        """Calls that are still running and have said nothing for long."""
        return self._heartbeats.due(now, session_id=self._facts.session_id)

    def title(self, title: str) -> Frame:
        """The session has another name."""
        return self._system("session_title_changed", title=title)

    def progress(self, request_id: str) -> Frame:
        """A request of the host that takes a while has begun."""
        return self._system("control_request_progress", request_id=request_id, status="started")

    def commands(self, commands: Sequence[Frame]) -> Frame:
        """There are other slash commands now."""
        return self._system("commands_changed", commands=list(commands))

    def command_output(self, text: str) -> Frame:
        """What a request of the host did, as the output of a command would tell it."""
        return command_frame(text, self._facts.session_id)

    def _taken(self, event: TurnStarted | PromptFolded) -> Iterator[Frame]:
        """A prompt was taken up: echo it if that is wanted, and remember whom the answer is for."""
        if event.prompt_uuid:
            self._answering.append(event.prompt_uuid)
        if self._replay and not event.meta:
            yield {**prompt_frame(event, self._facts.session_id), "isReplay": True}

    def _commanded(self, event: CommandReplied | ConversationReset) -> Frame:
        """What a command has to say, or the last line under the id that the session had before it."""
        if isinstance(event, CommandReplied):
            return self.command_output(event.text)
        self._spent = {}
        frame: Frame = {
            "type": "conversation_reset",
            "new_conversation_id": event.session_id,
            "trigger": event.trigger,
            "session_id": event.before,
            "uuid": new_uuid(),
        }
        if event.prompt_uuid is not None:
            frame["user_message_uuid"] = event.prompt_uuid
        self._facts = msgspec.structs.replace(self._facts, session_id=event.session_id)
        return frame

    def _note(self, event: ToolStarted | CallChanged | Signalled | Answered) -> None:
        if isinstance(event, ToolStarted):
            self._heartbeats.begin(event.call_id, event.tool)

    def _moved(self, event: PromptMoved) -> Iterator[Frame]:
        yield {
            "type": "command_lifecycle",
            "command_uuid": event.prompt_uuid,
            "state": event.state,
            "session_id": self._facts.session_id,
            "uuid": new_uuid(),
        }

    def _denied(self, event: PermissionDenied) -> Frame:
        source = "hook" if event.reason_type == "hook" else "config"
        self.decide(event.call_id, accepted=False, source=source)
        return self._system(**notice(event))

    def _answer(self, frame: Frame) -> Frame:
        """Mark the first thing said in answer to prompts with the ids of these."""
        if self._answering:
            frame["user_message_uuid"] = self._answering[-1]
            frame["user_message_uuids"] = self._answering
            self._answering = []
        return frame

    def _streamed(self, event: ThinkingDelta | Streamed) -> Iterator[Frame]:
        if self._partial:
            yield self._stream_event(
                event.wire, ttft_ms=event.ttft_ms if isinstance(event, Streamed) else None
            )
        if isinstance(event, ThinkingDelta):
            self._thought += len(event.text)
            yield from self._thought_so_far(step=_THINKING_STEP)

    def _opened(self, event: TurnStarted) -> Iterator[Frame]:
        self._answering = []
        self._unopened, self._compacts = event, text_of(event.prompt).split(None, 1)[:1] == ["/compact"]
        if not self._compacts:
            yield from self._open_now()

    def _open_now(self) -> Iterator[Frame]:
        """The first lines of a turn; those of a requested compaction come when it succeeds."""
        if self._unopened is not None:
            event, self._unopened = self._unopened, None
            inventory = self._inventory()
            self._fast_mode = inventory.fast_mode
            yield self._system("init", **init_fields(event, self._facts, inventory))
            yield from self._taken(event)

    def _said(self, event: AssistantReplied) -> Iterator[Frame]:
        yield from self._thought_so_far(step=1)
        self._thought = self._thought_told = 0
        yield self._answer(assistant_frame(event, self._facts.session_id))

    def _thought_so_far(self, *, step: int) -> Iterator[Frame]:
        """The amount of thinking, when it grew by at least `step` tokens since the last report."""
        tokens = -(-self._thought // _CHARACTERS_PER_TOKEN)
        if tokens - self._thought_told >= step:
            more = tokens - self._thought_told
            self._thought_told = tokens
            yield self._system("thinking_tokens", estimated_tokens=tokens, estimated_tokens_delta=more)

    def _settled(self, event: ToolFinished) -> Frame:
        call_id = event.result["tool_use_id"]
        self._progressed.pop(call_id, None)
        self._heartbeats.end(call_id)
        return result_frame(event, self._facts.session_id, self._decisions.pop(call_id, None))

    def _from_agent(self, event: FromAgent) -> Iterator[Frame]:
        """An agent's prompt, calls and results; its text only on request."""
        inner = event.event
        of_agent = {"agent_id": event.agent_id, "subagent_type": event.agent_type}
        match inner:
            case TurnStarted():
                frames: Iterable[Frame] = (prompt_frame(inner, self._facts.session_id),)
            case AssistantReplied() if (
                inner.message["content"][0]["type"] == "tool_use" or self._agent_text()
            ):
                frames = (assistant_frame(inner, self._facts.session_id),)
            case ToolFinished():
                frames = (self._settled(inner),)
                frames[0].pop("tool_use_result")
            case ToolProgressed():
                frames = self._progress(inner)
            case PermissionDenied():
                yield {**self._denied(inner), "agent_id": event.agent_id}
                return
            case Noticed():
                yield self._system(**notice(inner))
                return
            case _:
                return
        for frame in frames:
            described = {"task_description": event.description} if frame["type"] != "tool_progress" else {}
            yield {**frame, "parent_tool_use_id": event.call_id, **of_agent, **described}

    def _progress(self, event: ToolProgressed) -> Iterator[Frame]:
        if event.seconds - self._progressed.get(event.call_id, 0.0) < _PROGRESS_SECONDS:
            return
        self._progressed[event.call_id] = event.seconds
        yield progress_frame(event.call_id, event.tool, event.seconds, session_id=self._facts.session_id)

    def _news(self, event: PromptSuggested | LimitChanged) -> Frame:
        frame: Frame = (
            {"type": "prompt_suggestion", "suggestion": event.text}
            if isinstance(event, PromptSuggested)
            else {"type": "rate_limit_event", "rate_limit_info": dict(event.info)}
        )
        return {**frame, "session_id": self._facts.session_id, "uuid": new_uuid()}

    def _compaction(self, event: CompactionFinished) -> Iterator[Frame]:
        if event.error is not None:
            yield self._system("status", status=None, compact_result="failed", compact_error=event.error)
            return
        yield self._system("status", status=None, compact_result="success")
        yield from self._open_now()
        yield self._system(
            "compact_boundary",
            compact_metadata={
                "trigger": event.trigger,
                "pre_tokens": event.tokens_before,
                "post_tokens": event.tokens_after,
                "duration_ms": event.duration_ms,
            },
        )

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
        return self._answer(frame)

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


_ENCODER = msgspec.json.Encoder()
