"""The one object that changes: a conversation, its settings and its cost."""

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Literal, Unpack

import msgspec
from msgspec import UNSET

from bridle.transcripts.answers import AnswerIds, newest_answer, newest_call
from bridle.transcripts.attachments import to_row
from bridle.transcripts.conversation import Conversation
from bridle.transcripts.cost import Cost, Work, last_session, to_note
from bridle.transcripts.line import timestamp
from bridle.transcripts.note_lines import call_line, last_prompt_line, mode_lines, queue_lines
from bridle.transcripts.pending_rows import PendingRows
from bridle.transcripts.row_facts import PromptCounter, ToolsUsed, whole_usage
from bridle.transcripts.state import SessionState, StateChanges
from bridle.transcripts.transcript import NoTranscript, Writer
from bridle.transcripts.user_rows import prompt_text, user_entry
from bridle.types.block import (
    AssistantMessage,
    SentMessage,
    ToolUseBlock,
    UserBlock,
    text_block,
)
from bridle.types.entry import (
    AssistantEntry,
    ConversationEntry,
    LinkedEntry,
    NoteEntry,
    SystemEntry,
    UserEntry,
)
from bridle.types.history import History
from bridle.types.ids import new_uuid
from bridle.types.origin import Origin
from bridle.types.usage import ModelSpend, Usage
from bridle.version import COMPATIBLE_WITH


class Session:
    """Entries are appended to memory and to the transcript at once, with one exception.

    Rows of an answer that is still streaming wait until `finish_message` knows their stop reason and usage,
    and whatever is said meanwhile waits behind them. `secure` makes them survive the death of this process;
    call it before a tool starts. `flush` and `close` write them as they are.
    """

    def __init__(
        self,
        id: str | None = None,
        *,
        writer: Writer | None = None,
        cwd: str = ".",
        git_branch: str = "",
        entrypoint: str = "cli",
        clock: Callable[[], float] = time.time,
        agent_id: str | None = None,
        payer: "Session | None" = None,
        purpose: str | None = None,
    ) -> None:
        self.id = id or new_uuid()
        self.agent_id = agent_id
        """The agent whose conversation this is; None on the main thread."""
        self._payer = payer
        """Whose costs are ours too."""
        self._purpose = purpose
        """What a conversation without a transcript is for; its calls are noted in that of its payer."""
        self.cwd = cwd
        self.git_branch = git_branch
        self.entrypoint = entrypoint
        self.title: str | None = None
        """The name that the user gave it during this process."""
        self.color: str | None = None
        """The color that marks it, given during this process."""
        self.team: tuple[str, str] | None = None
        """The team that this whole conversation is a member's of, and the member's name."""
        self.worktree: str | None = None
        self.stripped_media: frozenset[str] = frozenset()
        """Entries whose images and documents a service has rejected."""
        """The work tree in which it ended before, if it was resumed."""
        self.entries: list[ConversationEntry] = []
        self.state = SessionState()
        self._cost = Cost()
        self._saved_cost = self._cost
        self._clock = clock
        self._opened_at = clock()
        self._writer: Writer = writer or NoTranscript()
        self._conversation = Conversation()
        self._held = PendingRows()
        self._prompts = PromptCounter() if payer is None else payer._prompts
        self._tools_used = ToolsUsed()
        self._mode_is_told = entrypoint != "cli" or agent_id is not None
        self._early: list[NoteEntry] = []
        """Lines that stand before the next row."""
        self._asked = ""
        """The newest prompt of this process."""
        self._ids = AnswerIds(self.entries)

    @property
    def history(self) -> History:
        """What the next request carries; the same object for the whole life of the session."""
        return self._conversation.history

    @property
    def settled(self) -> Sequence[SentMessage]:
        """What the newest request carried, as far as it still stands; the answer is not part of it."""
        return self._conversation.settled

    @property
    def spend(self) -> Mapping[str, ModelSpend]:
        return self._cost.spend

    @property
    def total_cost_usd(self) -> float:
        return self._cost.usd

    @property
    def work(self) -> Work:
        """Time and changed lines until now, also of earlier processes in this conversation."""
        opened = round(self._opened_at * 1000)
        open_ms = max(0, round(self._clock() * 1000) - opened)
        return self._cost.work + Work(open_ms=open_ms, started_at=opened)

    @property
    def billed_usd(self) -> float:
        """What the session in which this one works has cost in all."""
        return self._cost.usd if self._payer is None else self._payer.billed_usd

    @property
    def root(self) -> "Session":
        """The conversation with the user in which this one works; itself for one that is."""
        return self if self._payer is None else self._payer.root

    def child(self, agent_id: str, path: str, *, cwd: str) -> "Session":
        """A conversation beside this one, for an agent of it, kept in a file of its own."""
        return Session(
            self.id,
            writer=self._writer.sibling(path),
            cwd=cwd,
            git_branch=self.git_branch,
            entrypoint=self.entrypoint,
            clock=self._clock,
            agent_id=agent_id,
            payer=self,
        )

    def aside(self, purpose: str, *, cwd: str) -> "Session":
        """A conversation beside this one that is not kept; what it costs is ours."""
        return Session(cwd=cwd, clock=self._clock, payer=self, purpose=purpose)

    def go_on_from(self, other: "Session") -> None:
        """Begin where another conversation stands; what it has said is shared and not written again.

        Results of calls that are still being answered there are left out.
        """
        answered = not other.open_calls()
        answer = None if answered else newest_answer(other.entries)
        at = next((i for i, entry in enumerate(other.entries) if entry["uuid"] == answer), 0)
        self.entries[:] = [
            entry
            for index, entry in enumerate(other.entries)
            if answered or index < at or entry["type"] == "assistant"
        ]
        self._conversation = other.branched()
        self._ids.forget()

    def free_id(self, wanted: str) -> str:
        """An id for an answer or a call that this conversation does not have yet; from now on it is taken."""
        return self._ids.free(wanted)

    def branched(self) -> Conversation:
        """The conversation as it is sent, in a copy."""
        return self._conversation.branched()

    def swap(self, **changes: Unpack[StateChanges]) -> None:
        """Change the state; the mode before plan mode is remembered."""
        if changes.get("mode") == "plan" and self.state.mode != "plan":
            changes.setdefault("pre_plan_mode", self.state.mode)
        if "mode" in changes and changes["mode"] != self.state.mode and self.entrypoint == "cli":
            # The next row is written behind the new mode.
            self._mode_is_told = self.agent_id is not None
        self.state = msgspec.structs.replace(self.state, **changes)

    def restore(self, entries: Sequence[ConversationEntry], cost: Cost) -> None:
        """Take over a conversation that is on disk already."""
        self.entries.extend(entries)
        self._conversation.extend(entries)
        if self._payer is None:
            self._mode_is_told = False
            self._prompts.restore(entries)
            self._tools_used.restore(entries)
        self._ids.forget()
        self._cost = self._saved_cost = cost

    def say_user(
        self,
        content: str | list[UserBlock],
        *,
        uuid: str | None = None,
        meta: bool = False,
        summary: bool = False,
        data: Any = UNSET,
        source: str | None = None,
        ran: Mapping[str, Any] | None = None,
        origin: Origin | None = None,
        attachment: Mapping[str, Any] | None = None,
        decision: Mapping[str, str] | None = None,
        facts: Any = None,
    ) -> UserEntry:
        """Record something from the user's side.

        `data` is the structured output of the tool whose result this is, `source` the entry with its call,
        `ran` the input that it ran with where that was changed, `decision` what the gate said to it, `facts`
        more fields of the row; `summary` marks the text that stands for all before a compaction; `origin` is
        who a prompt is from.
        A uuid that is taken is replaced.
        """
        if uuid is not None and any(entry["uuid"] == uuid for entry in self.entries):
            uuid = None
        words = prompt_text(content, data=data, meta=meta, summary=summary)
        known: dict[str, Any] = {}
        if words is not None and self._payer is None:
            known = {"permissionMode": self.state.mode, **self._prompts.begin(origin)}
        elif attachment is None:
            known = {**self._prompts.current()}
        entry = user_entry(
            self._link(uuid),
            content,
            meta=meta,
            summary=summary,
            data=data,
            source=source,
            ran=ran,
            origin=origin,
            attachment=attachment,
            decision=decision,
            facts={**known, **(facts or {}), **(self._prompts.place() if summary else {})},
        )
        self._say(entry)
        self._asked = words or self._asked
        return entry

    def attach(self, kind: str, blocks: Sequence[UserBlock], **facts: Any) -> None:
        """Put text of bridle's own beside what the user says; one row each in the file."""
        for block in blocks:
            self.say_user([block], meta=True, attachment={"type": kind, **facts})

    def attach_hook_context(self, event: str, texts: Sequence[str]) -> None:
        """Attach what hooks say to the model."""
        for text in texts:
            self.attach(
                "hook_additional_context", [text_block(text)], content=[text], hookName=event, hookEvent=event
            )

    def say_assistant(
        self,
        message: AssistantMessage,
        *,
        request_id: str | None = None,
        error: str | None = None,
        status: int | None = None,
        api_error: bool = False,
        facts: Mapping[str, Any] | None = None,
        aborted: bool = False,
    ) -> AssistantEntry:
        """Record one block of an answer; blocks of one answer share `message["id"]`.

        `facts` are the fields of `block_facts`; `aborted` says that the user interrupted it.
        """
        entry: Any = {**self._link(None), "type": "assistant", "message": message, **(facts or {})}
        for block in message["content"]:
            if block["type"] == "tool_use":
                self.root._note_tool(block["name"])
        if aborted:
            entry["isAbortedMidStream"] = True
        if request_id is not None:
            entry["requestId"] = request_id
        if error is not None:
            entry["error"] = error
        if api_error:
            entry["isApiErrorMessage"] = True
            entry["apiErrorStatus"] = status
        if api_error or message["stop_reason"] is not None:
            self._say(entry)
            return entry
        self._held.rows.append(entry)
        self._keep(entry)
        return entry

    def finish_message(
        self, message_id: str, *, stop_reason: str | None, usage: dict[str, Any], usd: float = 0.0
    ) -> bool:
        """Write the rows that waited for the end of their answer; whether there were any."""
        found = False
        whole = whole_usage(usage) if stop_reason is not None else usage
        for entry in self._held.rows:
            if entry["type"] == "assistant" and entry["message"]["id"] == message_id:
                # A new object, because the old one may be on its way to a front end.
                message: Any = {**entry["message"], "stop_reason": stop_reason, "usage": whole}
                if stop_reason is not None:
                    message.setdefault("stop_details", None)
                entry["message"] = message
                if usd:
                    entry["costUSD"] = usd
                found = True
        self.flush()
        return found and self._purpose is None

    def say_system(
        self, subtype: str, *, content: str | None = None, fields: Mapping[str, Any] | None = None
    ) -> SystemEntry:
        """Record something that the model does not see; a `compact_boundary` begins a new chain."""
        entry: SystemEntry = {**self._link(None), "type": "system", "subtype": subtype}
        if content is not None:
            entry["content"] = content
        if subtype == "compact_boundary" and (parent := entry["parentUuid"]) is not None:
            entry["parentUuid"] = None
            entry["logicalParentUuid"] = parent
        whole: Any = {**entry, **(fields or {})}
        self._say(whole)
        return whole

    def begin_anew(self, metadata: Mapping[str, Any]) -> SystemEntry:
        """Draw a line: what was said so far stays in the file and is no longer sent."""
        boundary = self.say_system(
            "compact_boundary",
            content="Conversation compacted",
            fields={"isMeta": False, "compactMetadata": metadata, "level": "info"},
        )
        del self.entries[:-1]
        return boundary

    def repeat(self, entry: ConversationEntry) -> None:
        """Say once more what stands before the line, because it is still needed word for word."""
        copy: Any = {**entry, **self._link(None), "timestamp": entry["timestamp"], "copyOf": entry["uuid"]}
        self._say(copy)

    def rewrite(self, entries: Sequence[ConversationEntry]) -> None:
        """Replace the entries by shorter ones; the file keeps them as they were."""
        self.flush()
        self.entries[:] = entries
        self._conversation.replace(entries)

    def go_back(self, entries: Sequence[ConversationEntry]) -> None:
        """Take up an earlier state of the conversation again; the next entry chains to its last one."""
        self.flush()
        self.entries[:] = entries
        self._conversation.replace(entries)
        self.note({"type": "bridle-leaf", "leafUuid": self._leaf(), "sessionId": self.id})

    def relocate(self, path: str) -> bool:
        """Keep the conversation in another file from now on; False when it stays in its own."""
        self.flush()
        if not self._writer.relocate(path):
            return False
        self.note({"type": "relocated", "sessionId": self.id, "relocatedCwd": self.cwd})
        return True

    def become(self, other: "Session") -> None:
        """Switch to another conversation in its own file; model, mode and rules stay as they are."""
        self.close()
        self.id, self.git_branch, self._writer = other.id, other.git_branch, other._writer
        self.title, self.worktree, self.color = other.title, other.worktree, other.color
        self.stripped_media = other.stripped_media
        self.entries[:] = other.entries
        self._conversation.replace(other.entries)
        self._prompts, self._tools_used, self._early = other._prompts, other._tools_used, other._early
        self._ids.forget()
        self._cost = self._saved_cost = other._cost
        self._opened_at = other._opened_at
        theirs = other.state
        self.swap(
            denials=theirs.denials,
            measured=theirs.measured,
            ledger=theirs.ledger,
            pinned_items=theirs.pinned_items,
            skills=theirs.skills,
            failed_compactions=0,
            scheduled=theirs.scheduled,
            deferred=theirs.deferred,
            kept_prompt=theirs.kept_prompt,
        )

    def withdraw(self, uuids: Collection[str]) -> None:
        """Forget entries: the next one chains to what came before them.

        Their lines stay in the file. Entries behind them that are kept are written once more with their new
        parent; readers take the last line of a uuid.
        """
        uuids = frozenset(uuids)
        first = next((i for i, entry in enumerate(self.entries) if entry["uuid"] in uuids), None)
        if first is None:
            return
        kept = [entry for entry in self.entries[first:] if entry["uuid"] not in uuids]
        del self.entries[first:]
        was_noted = self._held.drop(uuids)
        self._conversation.forget(uuids)
        for entry in kept:
            if entry["parentUuid"] is not None:
                entry["parentUuid"] = self._leaf()
            self.entries.append(entry)
        waiting = {entry["uuid"] for entry in self._held.rows}
        self._write([entry for entry in kept if entry["uuid"] not in waiting])
        if was_noted:
            self._writer.append(self._held.line(self.id, anew=True))

    def note(self, entry: NoteEntry) -> None:
        """Write a line that is not part of the conversation."""
        if entry["type"] == "custom-title":
            self.title = entry["customTitle"]
        elif entry["type"] == "agent-color":
            self.color = entry["agentColor"]
        self._writer.append([entry])

    def note_taken(self, how: Literal["dequeue", "remove"], content: Any) -> None:
        """Write that a prompt waited, and was taken for a turn of its own or into the one that runs.

        Both lines are written only then: the conversation may have changed while it waited.
        """
        lines = queue_lines(how, content, session=self.id, now=self._clock())
        if self.entries:
            self._writer.append(lines)
        else:
            self._early += lines

    def _note_tool(self, name: str) -> None:
        if (line := self._tools_used.line(name, self.id)) is not None:
            self._early.append(line)

    def record_cost(
        self,
        model: str,
        usage: Usage,
        usd: float,
        *,
        context_window: int,
        max_output: int,
        is_priced: bool = True,
    ) -> None:
        """Add a model call to what the session has cost."""
        spent = self._cost.plus(model, ModelSpend(usage, usd, context_window, max_output))
        self._cost = spent if is_priced else msgspec.structs.replace(spent, has_unknown_price=True)
        if self._payer is not None:
            self._payer.record_cost(
                model,
                usage,
                usd,
                context_window=context_window,
                max_output=max_output,
                is_priced=is_priced,
            )

    def record_work(self, more: Work) -> None:
        """Add time and changed lines; tools of an agent run within a call of the conversation above it."""
        self._cost = msgspec.structs.replace(self._cost, work=self._cost.work + more)
        if self._payer is not None:
            self._payer.record_work(msgspec.structs.replace(more, tool_ms=0))

    def note_call(
        self, message: AssistantMessage, *, purpose: str, request_id: str | None = None, usd: float = 0.0
    ) -> None:
        """Write down a model call that no row of the conversation tells of, so that all sums have it."""
        if self._purpose is not None and self._payer is not None:
            self._payer.note_call(message, purpose=self._purpose, request_id=request_id, usd=usd)
            return
        self.note(
            call_line(
                message,
                purpose=purpose,
                request_id=request_id,
                usd=usd,
                session=self.id,
                agent=self.agent_id,
                cwd=self.cwd,
                now=self._clock(),
            )
        )

    def last_facts(self) -> dict[str, Any]:
        """What the list of folders says of a session that has ended."""
        return last_session(msgspec.structs.replace(self._cost, work=self.work), self.id)

    def save_cost(self) -> None:
        """Write down the cost so far, if it has changed."""
        if self._cost is not self._saved_cost:
            self._saved_cost = self._cost
            self.note(to_note(msgspec.structs.replace(self._cost, work=self.work), self.id))

    def newest_call(self) -> str | None:
        """The newest entry of an answer, in which the call that runs stands."""
        return newest_call(self.entries)

    def open_calls(self) -> list[ToolUseBlock]:
        """Calls of the newest answer that have no result yet."""
        return self._conversation.open_calls()

    def flush(self) -> None:
        """Write rows that wait for the end of their message, as they are."""
        self._write(self._held.take())

    def secure(self) -> None:
        """Make rows that wait for the end of their message survive the death of this process."""
        self._writer.append(self._held.line(self.id))

    async def sync(self) -> None:
        """Make everything said so far survive a power cut."""
        self.secure()
        await self._writer.sync()

    def close(self) -> None:
        """Write what waits and let another process continue the session."""
        self.flush()
        if self.agent_id is None and (asked := " ".join(self._asked.split())):
            self._asked = ""
            self.note(last_prompt_line(asked, self._leaf(), session=self.id))
        self.save_cost()
        self._writer.close()

    def _say(self, entry: ConversationEntry) -> None:
        self._keep(entry)
        if self._held.rows:
            self._held.rows.append(entry)
            self.secure()
        else:
            self._write([entry])

    def _write(self, entries: Sequence[ConversationEntry]) -> None:
        if not entries:
            return
        before, self._early = self._early, []
        if not self._mode_is_told:
            self._mode_is_told = True
            mode = self.state.mode if self.entrypoint == "cli" else None
            before = [*mode_lines(mode, session=self.id), *before]
        self._writer.append([*before, *map(to_row, entries)])

    def _keep(self, entry: ConversationEntry) -> None:
        self.entries.append(entry)
        self._conversation.append(entry)

    def _leaf(self) -> str | None:
        return self.entries[-1]["uuid"] if self.entries else None

    def _link(self, uuid: str | None) -> LinkedEntry:
        link: LinkedEntry = {
            "parentUuid": self._leaf(),
            "isSidechain": self.agent_id is not None,
            "uuid": uuid or new_uuid(),
            "timestamp": timestamp(self._clock()),
            "sessionId": self.id,
            "cwd": self.cwd,
            "version": COMPATIBLE_WITH,
            "gitBranch": self.git_branch,
            "userType": "external",
            "entrypoint": self.entrypoint,
        }
        if self.agent_id is not None:
            link["agentId"] = self.agent_id
        if self.team is not None:
            link["teamName"], link["agentName"] = self.team
        return link
