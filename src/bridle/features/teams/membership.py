"""This process as a member of a team: it listens to its leader, asks it, and usually ends with it."""

import asyncio
import os
import socket
import time
from collections.abc import Awaitable, Callable, Mapping
from itertools import count
from typing import Any

import msgspec

from bridle.features.agents.log import AgentLog
from bridle.features.agents.mailbox import MailboxFull, agent_mailbox, as_prompt, main_mailbox, recorded
from bridle.features.agents.records import named_before
from bridle.features.teams.message_router import LEADERS
from bridle.features.teams.protocol import (
    Continue,
    FilesChanged,
    Hello,
    Leaving,
    ListRequest,
    MemberEvent,
    MemberLaunch,
    MemberState,
    PermissionsGranted,
    RequestReply,
    RulesChanged,
    SendRequest,
    StateChanged,
    Stop,
    TeamConnection,
    ToLeader,
    ToMember,
    Welcome,
    dial,
    take_up,
)
from bridle.features.teams.questions import Questions
from bridle.features.teams.task_set import TaskSet
from bridle.host.first_answer import first_answer
from bridle.host.lock import Locked
from bridle.permissions.updates import changed_rules, read_update
from bridle.transcripts.session import Session
from bridle.types.block import text_of
from bridle.types.channel import Channel
from bridle.types.errors import ToolError
from bridle.types.event import (
    AssistantReplied,
    Event,
    Noticed,
    ToolFinished,
    ToolStarted,
    TurnFinished,
    TurnStarted,
)
from bridle.types.ids import new_uuid
from bridle.types.origin import AGENT, HOOK
from bridle.types.question import Answer, Permitted, Question
from bridle.types.services.messages import AgentMessage, Contact, Delivery
from bridle.types.turn import Outcome, Prompt
from bridle.types.usage import ModelSpend, Usage
from bridle.types.workspace import Workspace

_LOOK_FOR_LEADER = 0.3
_WAIT_FOR_ANSWER = 600.0
"""Seconds for which a question waits for a leader that was killed."""
_REPLY_SECONDS = 30.0
_MOST_REPORTED = 100_000


class Membership:
    """Made with the leader's start message; opened and closed with the session."""

    def __init__(
        self,
        launch: MemberLaunch,
        connection: socket.socket,
        *,
        path: str,
        leave: Callable[[], None],
        is_watched: Callable[[], Awaitable[bool]],
    ) -> None:
        self.launch = launch
        self._connection = connection
        self._line: TeamConnection | None = None
        self._path = path
        self._leave = leave
        """Ends the process in good order."""
        self._is_watched = is_watched
        """Whether the pane is visible to the user."""
        self._box = agent_mailbox(launch.storage, launch.agent_id)
        self._questions = Questions(launch.storage, launch.agent_id)
        self._log = AgentLog(launch.output_file)
        self._state = MemberState()
        self._before: Mapping[str, ModelSpend] = {}
        self._taken: set[str] = set()
        """Letters that the model has been given."""
        self._rung = asyncio.Event()
        self._asking = 0
        self._answered_here = False
        """The user at the pane answered in this turn, so it may finish without a leader."""
        self._calls: dict[int, asyncio.Future[RequestReply]] = {}
        self._numbers = count(1)
        self._tasks = TaskSet()
        self._is_closing = False

    def join(self, session: Session, channel: Channel, wake: Callable[[Prompt], None]) -> Channel:
        """Take the leader's mode and rules on; the channel through which the session works from now on."""
        launch = self.launch
        session.team = (launch.team, launch.name)
        session.swap(mode=launch.mode, rules=launch.rules)
        self._session, self._inner, self._wake = session, channel, wake
        self._before = dict(session.spend)
        return _MemberChannel(channel, self)

    async def open(self, workspace: Workspace) -> None:
        """Begin to work and to receive messages."""
        workspace.cwd, workspace.origins = self.launch.at, self.launch.origins
        self._line = await take_up(self._connection)
        self._report_state(status="working")
        self._taken = recorded(self._session, self._box.waiting())
        self._box.remove(self._taken)
        if self.launch.prompt:
            self._wake(Prompt(content=self.launch.prompt, origin=AGENT, verbatim=True))
        self._collect()
        self._tasks.begin(self._listen())

    def begin_leaving(self) -> None:
        """This process is about to end: a turn that is cut off by that is no report."""
        self._is_closing = True

    async def close(self) -> None:
        """Say goodbye."""
        self.begin_leaving()
        self._say(Leaving())
        await self._tasks.close()
        if self._line is not None:
            await self._line.close()
        self._log.close()

    def note(self, event: Event) -> None:
        """Report an event to the leader."""
        match event:
            case TurnStarted():
                self._report_state(status="working", model=event.model)
            case ToolStarted():
                self._pass_on(event)
                self._log.take(event)
                self._report_state(tool_uses=self._state.tool_uses + 1, last_tool=event.tool)
            case ToolFinished():
                self._pass_on(event)
            case AssistantReplied():
                self._pass_on(event)
                self._log.take(event)
                usage = event.message["usage"]
                used = Usage.from_api(usage)
                self._state = msgspec.structs.replace(
                    self._state, usage=usage, tokens=used.context + used.output
                )
            case TurnFinished(outcome=outcome) if not self._is_closing:
                self._tasks.begin(self._rest(outcome))
            case _:
                pass

    async def ask(self, question: Question, here: Callable[[Question], Awaitable[Answer]]) -> Answer:
        """The first answer, from the leader or from the user at the pane."""
        try:
            key = await asyncio.to_thread(self._questions.put, question)
        except OSError:
            return await here(question)
        self._asking += 1
        self._say(FilesChanged())
        try:
            answer = await first_answer(self._answer(key), here(question))
            if not await asyncio.to_thread(self._questions.settle, key, answer):
                return await self._answer(key)  # The leader was first.
            self._answered_here = True
            if isinstance(answer, Permitted) and answer.updates:
                self._say(PermissionsGranted(answer.updates))
            return answer
        finally:
            self._asking -= 1
            self._questions.remove(key)
            self._say(FilesChanged())

    async def send(self, letter: AgentMessage, *, to: str, notify: bool) -> tuple[Delivery, ...]:
        """Deliver a message in the team.

        Raises:
            ToolError: there is no such recipient, or it cannot take the message.
        """
        if self._line is None:
            return (await asyncio.to_thread(self._leave_letter, letter, to),)
        reply = await self._call(
            lambda number: SendRequest(number, to, letter.text, letter.summary, notify),
        )
        return reply.deliveries

    async def contacts(self) -> tuple[Contact, ...]:
        """All members of the team that can get messages.

        Raises:
            ToolError: the leader does not say.
        """
        if self._line is None:
            return (
                Contact(
                    address="main", kind="main", status=("not running; it reads the message when it resumes")
                ),
            )
        return (await self._call(ListRequest)).contacts

    async def _call(self, make: Callable[[int], ToLeader]) -> RequestReply:
        number = next(self._numbers)
        future: asyncio.Future[RequestReply] = asyncio.get_running_loop().create_future()
        self._calls[number] = future
        try:
            self._say(make(number))
            async with asyncio.timeout(_REPLY_SECONDS):
                reply = await future
        except TimeoutError:
            raise ToolError("The team leader does not answer. Try again later.") from None
        finally:
            del self._calls[number]
        if reply.error is not None:
            raise ToolError(reply.error)
        return reply

    def _leave_letter(self, letter: AgentMessage, to: str) -> Delivery:
        """Put a letter into a mailbox on disk, because the leader is not running."""
        storage = self.launch.storage
        agent_id = None if to in LEADERS else named_before(storage, to)
        if agent_id is None and to not in LEADERS:
            raise ToolError(f"The team leader is not running, and the team has no member {to!r}.")
        box = main_mailbox(storage) if agent_id is None else agent_mailbox(storage, agent_id)
        try:
            box.put(letter)
        except (MailboxFull, OSError, Locked) as fault:
            raise ToolError(f"The message to {to} was not delivered: {fault}.") from fault
        return Delivery(to=to, how="delivered")

    async def _listen(self) -> None:
        while not self._is_closing:
            line = self._line
            said = None if line is None else await line.from_leader()
            if said is not None:
                self._take_message(said)
            elif not await self._find_leader():
                self._is_closing = True
                self._leave()

    def _take_message(self, said: ToMember) -> None:
        match said:
            case FilesChanged():
                self._rung.set()
                self._collect()
            case RequestReply():
                if (future := self._calls.get(said.id)) is not None and not future.done():
                    future.set_result(said)
            case RulesChanged(update=given):
                try:
                    update = read_update(given)
                except ValueError:
                    return  # Reported where it was granted.
                self._session.swap(rules=changed_rules(self._session.state.rules, update))
            case Continue(why=why):
                self._wake(Prompt(content=why, origin=HOOK, meta=True, verbatim=True))
            case Stop():
                self._is_closing = True
                self._leave()
            case Welcome():
                pass  # Said to those who come.

    async def _find_leader(self) -> bool:
        """Wait for a leader that was killed and may come back; False when there is no reason to."""
        if self._line is not None:
            await self._line.close()
            self._line = None
            for future in self._calls.values():
                if not future.done():
                    future.set_result(
                        RequestReply(0, error="The team leader exited: send the message again.")
                    )
        began = time.monotonic()
        while not await self._reconnect():
            if self._state.status == "idle":
                return False
            late = time.monotonic() - began > _WAIT_FOR_ANSWER
            waits = self._answered_here or (self._asking and not late)
            if not waits and not await self._is_watched():
                return False
            await asyncio.sleep(_LOOK_FOR_LEADER)
        return True

    async def _reconnect(self) -> bool:
        try:
            line = await dial(self._path)
        except OSError:
            return False
        line.say(Hello(self.launch.agent_id, os.getpid(), self._state))
        if not isinstance(await line.from_leader(), Welcome):
            await line.close()
            return False
        self._line = line
        return True

    async def _answer(self, key: str) -> Answer:
        while (answer := await asyncio.to_thread(self._questions.answer_to, key)) is None:
            self._rung.clear()
            await self._rung.wait()
        return answer

    def _collect(self) -> bool:
        """Give the model the new letters. Returns whether there were any."""
        new = [letter for letter in self._box.waiting() if letter.id not in self._taken]
        for letter in new:
            self._taken.add(letter.id)
            self._wake(as_prompt(letter))
        return bool(new)

    async def _rest(self, outcome: Outcome) -> None:
        """A turn has ended: remove the letters that were read, and become idle unless there are more."""
        await self._session.sync()
        self._box.remove(recorded(self._session, self._box.waiting()))
        failed = outcome.is_error and outcome.reason not in ("max_turns", "budget_exhausted")
        text = outcome.text if outcome.subtype == "success" else ""
        changes: dict[str, Any] = {
            "round": self._state.round + 1,
            "text": (text or _last_words(self._session))[:_MOST_REPORTED],
            "error": ("; ".join(outcome.errors) or outcome.text) if failed else None,
        }
        if self._collect():
            self._report_state(**changes)
            return
        self._report_state(status="idle", **changes)
        self._answered_here = False
        if self._line is None:
            self._report_later()

    def _report_later(self) -> None:
        """Leave the report for a leader that was killed."""
        state = self._state
        said = state.error or state.text or "I am done."
        letter = AgentMessage(id=new_uuid(), sender=self.launch.name, text=said[:50_000], sent=time.time())
        try:
            main_mailbox(self.launch.storage).put(letter)
        except (MailboxFull, OSError, Locked) as fault:
            self._inner.emit(Noticed(f"Could not save the report for the leader: {fault}", "warning"))

    def _report_state(self, **changes: Any) -> None:
        spend = {model: _since(now, self._before.get(model)) for model, now in self._session.spend.items()}
        self._state = msgspec.structs.replace(self._state, spend=spend, **changes)
        self._say(StateChanged(self._state))

    def _pass_on(self, event: ToolStarted | ToolFinished | AssistantReplied) -> None:
        fields = msgspec.to_builtins(event)
        kind = fields.pop("type")
        # What a tool keeps for the transcript may be large, and is in the member's own.
        self._say(MemberEvent(kind, {**fields, "data": None} if "data" in fields else fields))

    def _say(self, message: ToLeader) -> None:
        if self._line is not None:
            self._line.say(message)


class _MemberChannel:
    """The channel of a member: its leader gets the events and questions too."""

    def __init__(self, inner: Channel, membership: Membership) -> None:
        self._inner = inner
        self._membership = membership

    def emit(self, event: Event) -> None:
        self._inner.emit(event)
        self._membership.note(event)

    async def ask(self, question: Question) -> Answer:
        return await self._membership.ask(question, self._inner.ask)


def _last_words(session: Session) -> str:
    for entry in reversed(session.entries):
        if entry["type"] != "assistant" or entry.get("isApiErrorMessage"):
            continue
        if text := text_of(entry["message"]["content"]).strip():
            return text
    return ""


def _since(now: ModelSpend, before: ModelSpend | None) -> ModelSpend:
    """What has been spent since this process began."""
    return now if before is None else now.less(before)
