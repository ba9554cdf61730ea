"""The leader's end of the socket to teammate processes: their states, questions and messages."""

import asyncio
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from bridle.engine.turn import Turn
from bridle.features.agents.records import transcript_path
from bridle.features.teams.message_router import MessageRouter
from bridle.features.teams.process import MemberProcess
from bridle.features.teams.protocol import (
    FilesChanged,
    Hello,
    Leaving,
    ListRequest,
    MemberEvent,
    MemberState,
    PermissionsGranted,
    RequestReply,
    SendRequest,
    StateChanged,
    TeamConnection,
    ToLeader,
    Welcome,
)
from bridle.features.teams.questions import OpenQuestion
from bridle.features.teams.roster import Card
from bridle.features.teams.task_set import TaskSet
from bridle.tools.files.patches import changed_lines
from bridle.transcripts.cost import Work
from bridle.types.errors import ToolError
from bridle.types.event import ApiFault, AssistantReplied, FromAgent, Noticed, ToolFinished, ToolStarted
from bridle.types.question import NetworkQuestion, PermissionQuestion, Permitted, Question
from bridle.types.usage import ModelSpend, Usage

if TYPE_CHECKING:
    from bridle.features.agents.registry import Agents
    from bridle.features.teams.feature import Team

START_SECONDS = 60.0
"""How long to wait for a process to connect."""


class LeaderSocket:
    """The connections to all processes of the team; closed with the session."""

    def __init__(
        self,
        agents: "Agents",
        team: "Team",
        lead: Callable[[], Turn],
        members: Mapping[str, MemberProcess],
        *,
        follow: Callable[[MemberProcess, Turn], None],
        forget: Callable[[MemberProcess], object],
        keep: Callable[[Card], None],
    ) -> None:
        self._agents = agents
        self._team = team
        self._lead = lead
        self._members = members
        self._follow = follow
        self._forget = forget
        self._keep = keep
        self._tasks = TaskSet()

    async def close(self) -> None:
        """Close all connections."""
        await self._tasks.close()

    async def attend(self, line: TeamConnection) -> None:
        """Serve one connection until it is closed."""
        if (own := asyncio.current_task()) is not None:
            self._tasks.include(own)
        member: MemberProcess | None = None
        try:
            if (member := await self._greet(line)) is None:
                return
            while (said := await line.from_member()) is not None:
                self._take_message(member, line, said)
        finally:
            await line.close()
            if member is not None:
                self._lose(member)

    async def _greet(self, line: TeamConnection) -> MemberProcess | None:
        """The member at the other end; None for an unknown process."""
        hello = await line.from_member()
        member = self._members.get(hello.agent_id) if isinstance(hello, Hello) else None
        if member is None or not isinstance(hello, Hello) or member.gone.is_set():
            return None
        try:
            async with asyncio.timeout(START_SECONDS):
                await member.expected.wait()
        except TimeoutError:
            return None
        pid = line.peer()
        expected = member.pid if member.pane is None else member.pane.pid
        # What is said now is for the process in the pane alone: it holds the keys of the session.
        if member.is_connected or (None not in (pid, expected) and pid != expected):
            return None
        line.say(Welcome(None if hello.state is not None else member.launch))
        member.connect(line, hello.pid if pid is None else pid)
        if hello.state is not None:
            self._note(member, hello.state)
        self._look_at_questions(member)
        return member

    def _take_message(self, member: MemberProcess, line: TeamConnection, said: ToLeader) -> None:
        match said:
            case StateChanged(state=state):
                self._note(member, state)
            case MemberEvent():
                lead, retold = self._lead(), _retold(member, said)
                if isinstance(retold.event, ToolFinished):
                    added, removed = changed_lines(retold.event.data)
                    lead.session.record_work(Work(lines_added=added, lines_removed=removed))
                lead.runtime.channel.emit(retold)
            case FilesChanged():
                self._look_at_questions(member)
            case SendRequest() | ListRequest():
                self._tasks.begin(self._reply(member, line, said))
            case PermissionsGranted(updates=updates):
                self._tasks.begin(self.agree(member, updates))
            case Leaving():
                member.left = True
            case Hello():
                pass  # It is known already.

    def _note(self, member: MemberProcess, state: MemberState) -> None:
        """Take the state of a member, and charge its cost to the session."""
        member.take(state)
        self._charge(member, state.spend)
        if state.status == "working" and not member.is_followed:
            # The user at its pane, or another member, gave it something to do.
            self._follow(member, self._agents.registry.lead or self._lead())

    def _charge(self, member: MemberProcess, spend: Mapping[str, ModelSpend]) -> None:
        before: Mapping[str, ModelSpend] = {} if member.card is None else member.card.counted
        if spend == before:
            return
        session = self._lead().session
        for model, now in spend.items():
            new = now.less(before.get(model, ModelSpend()))
            if new.usd or new.usage != Usage():
                session.record_cost(
                    model,
                    new.usage,
                    new.usd,
                    context_window=new.context_window,
                    max_output=new.max_output,
                )
        session.save_cost()
        if member.card is not None:
            member.card = msgspec.structs.replace(member.card, counted=spend)
            self._keep(member.card)

    def _look_at_questions(self, member: MemberProcess) -> None:
        """Ask the user the questions of a member, and cancel those that are answered."""
        waiting = {each.id: each for each in member.questions.waiting()}
        for key in [each for each in member.asked if each not in waiting]:
            member.asked.pop(key).cancel()
        for key, each in waiting.items():
            if key not in member.asked:
                member.asked[key] = self._tasks.begin(self._ask(member, each))

    async def _ask(self, member: MemberProcess, asked: OpenQuestion) -> None:
        turn = self._lead()
        answer = await turn.runtime.channel.ask(_named(asked.question, member))
        # From here on it is settled and must not be removed by the member's own news of it.
        member.asked.pop(asked.id, None)
        try:
            counts = member.questions.settle(asked.id, answer)
        except OSError as error:
            text = f"Could not answer {member.name}: {error.strerror}. Answer in its pane."
            turn.runtime.channel.emit(Noticed(text, "warning"))
            return
        if counts:
            member.say(FilesChanged())
            if isinstance(answer, Permitted) and answer.updates:
                await self.agree(member, answer.updates)

    async def agree(self, member: MemberProcess, updates: tuple[Mapping[str, Any], ...]) -> None:
        """What the user allows for a member applies to the session and to its other members."""
        from bridle.features.agents.start import agree

        await agree(self._agents, self._lead(), updates, without=member.work.agent_id)

    async def _reply(
        self, member: MemberProcess, line: TeamConnection, said: SendRequest | ListRequest
    ) -> None:
        lead = self._agents.registry.lead or self._lead()
        path = transcript_path(lead.runtime, member.work.agent_id)
        session = lead.session.child(member.work.agent_id, path, cwd=lead.session.cwd)
        turn = Turn(session, lead.prompt, _quiet(lead))
        router = MessageRouter(self._agents, self._team, turn, call_id=member.work.call_id)
        try:
            match said:
                case SendRequest():
                    done = await router.send(
                        to=said.to, text=said.text, summary=said.summary, notify_when_idle=said.notify
                    )
                    line.say(RequestReply(said.id, deliveries=done))
                case ListRequest():
                    line.say(RequestReply(said.id, contacts=await router.contacts()))
        except ToolError as fault:
            line.say(RequestReply(said.id, error=str(fault)))

    def _lose(self, member: MemberProcess) -> None:
        for task in member.asked.values():
            task.cancel()
        member.asked.clear()
        member.lose()
        if not member.is_followed:
            self._forget(member)


def _retold(member: MemberProcess, said: MemberEvent) -> FromAgent:
    """An event of a member as that of an agent."""
    fields = dict(said.fields)
    match said.kind:
        case "tool_started":
            event = ToolStarted(**fields)
        case "tool_finished":
            event = ToolFinished(**fields)
        case "assistant_said":
            fault: Any = fields.pop("fault")
            event = AssistantReplied(
                **fields, fault=None if fault is None else msgspec.convert(fault, ApiFault)
            )
    work = member.work
    return FromAgent(
        call_id=work.call_id,
        agent_id=work.agent_id,
        agent_type=work.definition.name,
        description=work.description,
        event=event,
    )


def _named(question: Question, member: MemberProcess) -> Question:
    match question:
        case PermissionQuestion():
            return msgspec.structs.replace(question, agent_id=member.work.agent_id, asker=member.name)
        case NetworkQuestion():
            return msgspec.structs.replace(question, asker=member.name)
        case _:
            return question


def _quiet(turn: Turn) -> Any:
    """The runtime of a turn for work that belongs to no prompt."""
    return turn.runtime.without_shape()
