"""The channel to an editor: events become updates of the session, questions become requests."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from bridle.frontends.acp.calls import call_finished, call_started
from bridle.frontends.acp.content import Json, fenced, text_content
from bridle.frontends.acp.editor import EditorCapabilities
from bridle.frontends.acp.peer import EditorPeer
from bridle.frontends.acp.questions import Questioner
from bridle.frontends.tui.chat.task_list import TASK_TOOLS, TaskList
from bridle.types.event import (
    ApiFault,
    AssistantReplied,
    CallChanged,
    CommandReplied,
    CompactionFinished,
    CompactionStarted,
    Event,
    FromAgent,
    ModeChanged,
    ModelSwitched,
    Noticed,
    PermissionDenied,
    PromptMoved,
    SessionRenamed,
    StepStarted,
    TextDelta,
    ThinkingDelta,
    ToolFinished,
    ToolProgressed,
    ToolStarted,
    TurnFinished,
)
from bridle.types.ids import new_uuid
from bridle.types.question import (
    Answer,
    ChoiceQuestion,
    ElicitationQuestion,
    NetworkQuestion,
    PermissionQuestion,
    Permitted,
    Question,
)
from bridle.types.turn import Outcome
from bridle.types.workspace import Workspace

_SEVERITIES = {"warning": "warning"}


class EditorChannel:
    """Reports one session to the editor."""

    def __init__(
        self,
        peer: EditorPeer,
        abilities: EditorCapabilities,
        session_id: str,
        *,
        workspace: Callable[[], Workspace],
        usage: Callable[[], Json | None],
        changed: Callable[[], None],
        settled: Callable[[str, bool], None],
    ) -> None:
        """`changed` is called when what can be chosen has another value; `settled` when a prompt is done."""
        self._peer = peer
        self._abilities = abilities
        self._session_id = session_id
        self._workspace = workspace
        self._usage = usage
        self._changed = changed
        self._settled = settled
        self._message_id = new_uuid()
        self._streamed = False
        """Some of the block that is being answered was shown already."""
        self._terminals: dict[str, str] = {}
        self._tasks = TaskList()
        self._compaction = ""
        self.outcome: Outcome | None = None
        self.fault: ApiFault | None = None
        """Why the model could not answer in the newest turn."""

    def emit(self, event: Event) -> None:
        match event:
            case TextDelta(text=text):
                self._streamed = True
                self._say("agent_message_chunk", text)
            case ThinkingDelta(text=text):
                self._streamed = True
                self._say("agent_thought_chunk", text)
            case StepStarted(number=number):
                self._message_id, self._streamed = new_uuid(), False
                if number > 1:
                    self._tell_usage()
            case AssistantReplied():
                self._reply(event)
            case TurnFinished(outcome):
                self.outcome = outcome
                self._tell_usage()
            case PromptMoved(uuid, state) if state in ("completed", "cancelled"):
                self._settled(uuid, state == "completed")
            case _:
                self._emit_rest(event)

    async def ask(self, question: Question) -> Answer:
        questioner = Questioner(
            peer=self._peer,
            session_id=self._session_id,
            workspace=self._workspace(),
            elicits=self._abilities.elicits,
        )
        match question:
            case PermissionQuestion():
                answer = await questioner.permission(question)
                if isinstance(answer, Permitted):
                    self._update({"toolCallId": question.call_id, "status": "in_progress"})
                return answer
            case ChoiceQuestion():
                return await questioner.choice(question)
            case NetworkQuestion():
                return await questioner.network(question)
            case ElicitationQuestion():
                return await questioner.elicitation(question)

    def show_terminal(self, call_id: str, terminal: str) -> None:
        """A call runs in a terminal of the editor."""
        self._terminals[call_id] = terminal
        content = [{"type": "terminal", "terminalId": terminal}]
        self._update({"toolCallId": call_id, "content": content})

    def notice(self, text: str, level: str = "info") -> None:
        """Something that the user should know."""
        if self._abilities.notices:
            severity = _SEVERITIES.get(level, "info")
            self._send({"sessionUpdate": "notice", "severity": severity, "title": text})
        else:
            self._say("agent_thought_chunk", f"{text}\n")

    def _emit_rest(self, event: Event) -> None:
        match event:
            case ToolStarted() | CallChanged() | ToolProgressed() | ToolFinished():
                self._call(event, {})
            case FromAgent(event=ToolStarted() | ToolProgressed() | ToolFinished() as inner):
                about = {"parentToolCallId": event.call_id, "agentId": event.agent_id}
                self._call(inner, {"_meta": {"bridle": about}})
            case CommandReplied(text=text):
                self._say("agent_message_chunk", f"{text}\n")
            case Noticed(text=text, level=level):
                self.notice(text, level)
            case PermissionDenied(message=message):
                self.notice(message, "warning")
            case ModelSwitched():
                self.notice(f"Switched from {event.original} to {event.fallback}: {event.reason}", "warning")
            case ModeChanged(mode):
                self._send({"sessionUpdate": "current_mode_update", "currentModeId": mode})
                self._changed()
            case SessionRenamed(title):
                moment = datetime.now(UTC).isoformat()
                self._send({"sessionUpdate": "session_info_update", "title": title, "updatedAt": moment})
            case CompactionStarted() | CompactionFinished():
                self._tell_compaction(event)
            case _:
                pass  # Nothing that an editor shows.

    def _reply(self, event: AssistantReplied) -> None:
        """A whole block: shown where it did not stream; a fault is the answer to the prompt instead."""
        streamed, self._streamed = self._streamed, False
        if event.fault is not None:
            self.fault = event.fault
            return
        for block in event.message["content"]:
            if block["type"] == "text" and (event.display is not None or not streamed):
                self._say("agent_message_chunk", event.display or block["text"])
            elif block["type"] == "thinking" and not streamed:
                self._say("agent_thought_chunk", block["thinking"])

    def _call(
        self, event: "ToolStarted | CallChanged | ToolProgressed | ToolFinished", more: Mapping[str, Any]
    ) -> None:
        workspace = self._workspace()
        match event:
            case ToolStarted():
                if not more:
                    self._tasks.started(event.call_id, event.tool, event.input)
                self._send({**call_started(event.call_id, event.tool, event.input, workspace), **more})
            case CallChanged():
                begun = call_started(event.call_id, event.tool, event.input, workspace)
                self._send({**begun, "sessionUpdate": "tool_call_update"})
            case ToolProgressed():
                if event.call_id not in self._terminals and event.text.strip():
                    self._update({"toolCallId": event.call_id, "content": [fenced(event.text)], **more})
            case ToolFinished():
                call_id = event.result["tool_use_id"]
                terminal = self._terminals.pop(call_id, None)
                self._send({**call_finished(event, workspace, terminal=terminal), **more})
                if not more and event.tool in TASK_TOOLS and not event.result.get("is_error"):
                    self._tasks.finished(call_id, event.tool, event.data)
                    self._send({"sessionUpdate": "plan", "entries": _entries(self._tasks)})

    def _tell_compaction(self, event: "CompactionStarted | CompactionFinished") -> None:
        if not self._abilities.compactions:
            begun = isinstance(event, CompactionStarted)
            words = "Compacting the conversation…" if begun else event.error or "Conversation compacted."
            self.notice(words)
            return
        if isinstance(event, CompactionStarted):
            self._compaction = new_uuid()
        update: Json = {"sessionUpdate": "compaction_update", "compactionId": self._compaction or new_uuid()}
        if isinstance(event, CompactionStarted):
            update["status"] = "in_progress"
        else:
            update |= (
                {"status": "completed"} if event.error is None else {"status": "failed", "error": event.error}
            )
        self._send(update)

    def _tell_usage(self) -> None:
        if (usage := self._usage()) is not None:
            self._send({"sessionUpdate": "usage_update", **usage})

    def _say(self, kind: str, text: str) -> None:
        if text:
            self._send({"sessionUpdate": kind, "content": text_content(text), "messageId": self._message_id})

    def _update(self, fields: Mapping[str, Any]) -> None:
        self._send({"sessionUpdate": "tool_call_update", **fields})

    def _send(self, update: Mapping[str, Any]) -> None:
        self._peer.update(self._session_id, update)


def _entries(tasks: TaskList) -> list[Json]:
    return [
        {
            "content": str(each.get("subject") or each.get("content") or ""),
            "priority": "medium",
            "status": str(each.get("status") or "pending"),
        }
        for each in tasks.items
    ]
