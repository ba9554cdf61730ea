"""Events as the lines that programs read on standard output."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, assert_never

import msgspec
from msgspec import Raw, Struct

from bridle.protocol.notices import hook_notice, notice
from bridle.protocol.result import result_frame
from bridle.protocol.task_lines import TaskLines, progress
from bridle.types.event import (
    AssistantSaid,
    CommandSaid,
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
    SessionNamed,
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
    UserSaid,
    Withdrawn,
)
from bridle.types.hook_outcome import HookProgressed, HookRun, HookStarted
from bridle.types.ids import new_uuid
from bridle.types.text import encodable_value
from bridle.types.turn import Outcome
from bridle.version import COMPATIBLE_WITH, __version__

Frame = dict[str, Any]

StateReports = Literal["host", "everyone"]
"""Who may read that the session runs, waits or rests."""

_PROGRESS_SECONDS = 5.0
_CHARACTERS_PER_TOKEN = 4
_THINKING_STEP = 50
"""Tokens of thinking between two reports of it."""
_ALWAYS_TOLD = ("SessionStart", "Setup")
"""Events whose hooks are reported to everybody."""
_OLD_NAMES = {"Agent": "Task"}
"""Tools that hosts know by an older name than models do."""


class Facts(Struct, frozen=True, kw_only=True):
    """What the init message says that no event carries."""

    session_id: str
    api_key_source: str
    output_style: str = "default"
    betas: tuple[str, ...] = ()


class Inventory(Struct, frozen=True, kw_only=True):
    """What a session has besides its tools, as it stands when a turn begins."""

    servers: Sequence[Mapping[str, Any]] = ()
    commands: Sequence[str] = ()
    terminal_commands: Sequence[str] = ()
    """Those that need a screen."""
    agents: Sequence[str] = ()
    skills: Sequence[str] = ()
    plugins: Sequence[Mapping[str, Any]] = ()
    plugin_errors: Sequence[Mapping[str, Any]] = ()


CAPABILITIES = ("interrupt_receipt_v1", "interrupt_cancel_queued_v1")


class Framer:
    """Turns the events of one session into frames."""

    def __init__(
        self,
        facts: Facts,
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
        """Whether what agents say and think is told too."""
        self._state = "idle"
        self._results = 0
        self._answering: list[str] = []
        """The ids of prompts that the next thing said answers."""
        self._thought = 0
        self._thought_told = 0
        self._decisions: dict[str, Frame] = {}
        """Who decided on calls that have no result yet."""
        self._tasks = TaskLines()
        self._progressed: dict[str, float] = {}

    def frames(self, event: Event) -> Iterator[Frame]:
        match event:
            case TextDelta():
                if self._partial:
                    yield self._stream_event(event.wire)
            case ThinkingDelta() | Streamed():
                yield from self._streamed(event)
            case TurnStarted():
                yield from self._opened(event)
            case PromptFolded():
                yield from self._taken(event)
            case PromptMoved():
                yield self._moved(event)
            case StepStarted():
                if self._partial:
                    yield self._system("status", status="requesting")
            case AssistantSaid():
                yield from self._said(event)
            case UserSaid():
                yield self._user(event)
            case ToolStarted() | Signalled():
                pass  # The call stands in the answer already, and sequences are meant for a terminal.
            case ToolProgressed():
                yield from self._progress(event)
            case ToolFinished():
                yield self._result(event)
            case PermissionDenied():
                yield self._denied(event)
            case (
                RetryScheduled()
                | ModelSwitched()
                | Withdrawn()
                | CompactionStarted()
                | Noticed()
                | SessionNamed()
            ):
                yield self._system(**notice(event))
            case HookStarted() | HookProgressed() | HookRun():
                if self._hooks or event.event in _ALWAYS_TOLD:
                    yield self._system(**hook_notice(event))
            case TaskStarted() | TaskEnded():
                yield from (self._system(**fields) for fields in self._tasks.of(event.task))
            case TaskProgressed():
                yield self._system(**progress(event.task))
            case FromAgent():
                yield from self._from_agent(event)
            case ModeChanged():
                yield self.mode(event.mode)
            case PromptSuggested() | LimitChanged():
                yield self._news(event)
            case CompactionFinished():
                yield from self._compaction(event)
            case CommandSaid() | ConversationReset():
                yield self._commanded(event)
            case TurnFinished():
                yield self.result(event.outcome)
            case _:
                assert_never(event)

    def decide(self, call_id: str, *, accepted: bool, source: str) -> None:
        """Somebody has let a call through or turned it away; its result will say so."""
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
        frame = result_frame(outcome, session_id=self._facts.session_id)
        frame["result_index"] = self._results
        self._results += 1
        if self._waiting is not None:
            frame["queued_turn_count"] = self._waiting()
        return frame

    def title(self, title: str) -> Frame:
        """The session has another name."""
        return self._system("session_title_changed", title=title)

    def commands(self, commands: Sequence[Frame]) -> Frame:
        """There are other slash commands now."""
        return self._system("commands_changed", commands=list(commands))

    def command_output(self, text: str) -> Frame:
        """What a request of the host did, as the output of a command would tell it."""
        return {
            "type": "user",
            "message": {
                "role": "user",
                "content": f"<local-command-stdout>{text}</local-command-stdout>",
            },
            "parent_tool_use_id": None,
            "isReplay": True,
            "session_id": self._facts.session_id,
            "uuid": new_uuid(),
        }

    def _init(self, event: TurnStarted) -> Frame:
        facts, inventory = self._facts, self._inventory()
        frame = self._system(
            "init",
            cwd=event.cwd,
            tools=[_OLD_NAMES.get(name, name) for name in event.tools],
            mcp_servers=list(inventory.servers),
            model=event.model,
            permissionMode=event.mode,
            slash_commands=list(inventory.commands),
            terminal_slash_commands=list(inventory.terminal_commands),
            apiKeySource=facts.api_key_source,
            claude_code_version=COMPATIBLE_WITH,
            bridle_version=__version__,
            output_style=facts.output_style,
            agents=list(inventory.agents),
            skills=list(inventory.skills),
            plugins=list(inventory.plugins),
            capabilities=list(CAPABILITIES),
            fast_mode_state="off",
        )
        if inventory.plugin_errors:
            frame["plugin_errors"] = list(inventory.plugin_errors)
        if facts.betas:
            frame["betas"] = list(facts.betas)
        return frame

    def _taken(self, event: TurnStarted | PromptFolded) -> Iterator[Frame]:
        """A prompt was taken up: echo it if that is wanted, and remember whom the answer is for."""
        if event.prompt_uuid:
            self._answering.append(event.prompt_uuid)
        if self._replay and not event.meta:
            yield {
                "type": "user",
                "message": {"role": "user", "content": event.prompt},
                "parent_tool_use_id": None,
                "isReplay": True,
                "session_id": self._facts.session_id,
                "uuid": event.uuid,
            }

    def _commanded(self, event: CommandSaid | ConversationReset) -> Frame:
        """What a command has to say, or the last line under the id that the session had before it."""
        if isinstance(event, CommandSaid):
            return self.command_output(event.text)
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

    def _moved(self, event: PromptMoved) -> Frame:
        return {
            "type": "command_lifecycle",
            "command_uuid": event.prompt_uuid,
            "state": event.state,
            "session_id": self._facts.session_id,
            "uuid": new_uuid(),
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
        yield self._init(event)
        yield from self._taken(event)

    def _said(self, event: AssistantSaid) -> Iterator[Frame]:
        yield from self._thought_so_far(step=1)
        self._thought = self._thought_told = 0
        yield self._answer(self._assistant(event))

    def _thought_so_far(self, *, step: int) -> Iterator[Frame]:
        """How much has been thought, when it is at least `step` tokens more than was told."""
        tokens = self._thought // _CHARACTERS_PER_TOKEN
        if tokens - self._thought_told >= step:
            more = tokens - self._thought_told
            self._thought_told = tokens
            yield self._system("thinking_tokens", estimated_tokens=tokens, estimated_tokens_delta=more)

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
        call_id = event.result["tool_use_id"]
        self._progressed.pop(call_id, None)
        frame: Frame = {
            "type": "user",
            "message": {"role": "user", "content": [event.result]},
            "parent_tool_use_id": None,
            "tool_use_result": event.data,
            "session_id": self._facts.session_id,
            "uuid": event.uuid,
            "timestamp": event.timestamp,
        }
        if (decision := self._decisions.pop(call_id, None)) is not None:
            frame["tool_result_meta"] = [{"id": call_id, "permission_decision": decision}]
        return frame

    def _from_agent(self, event: FromAgent) -> Iterator[Frame]:
        """What an agent was asked, calls and hears back; what it says only where that is wanted."""
        inner = event.event
        of_agent = {"agent_id": event.agent_id, "subagent_type": event.agent_type}
        match inner:
            case TurnStarted():
                frames: Iterable[Frame] = (self._asked_of_agent(inner),)
            case AssistantSaid() if inner.message["content"][0]["type"] == "tool_use" or self._agent_text():
                frames = (self._assistant(inner),)
            case ToolFinished():
                frames = (self._result(inner),)
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

    def _asked_of_agent(self, event: TurnStarted) -> Frame:
        return {
            "type": "user",
            "message": {"role": "user", "content": event.prompt},
            "parent_tool_use_id": None,
            "session_id": self._facts.session_id,
            "uuid": event.uuid,
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

    def _news(self, event: PromptSuggested | LimitChanged) -> Frame:
        told: Frame = (
            {"type": "prompt_suggestion", "suggestion": event.text}
            if isinstance(event, PromptSuggested)
            else {"type": "rate_limit_event", "rate_limit_info": dict(event.info)}
        )
        return {**told, "session_id": self._facts.session_id, "uuid": new_uuid()}

    def _compaction(self, event: CompactionFinished) -> Iterator[Frame]:
        if event.error is not None:
            yield self._system("status", status=None, compact_result="failed", compact_error=event.error)
            return
        yield self._system("status", status=None, compact_result="success")
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
