"""Delivers messages to an agent, the main thread, all agents, or another session."""

import asyncio
import time
from typing import TYPE_CHECKING

import msgspec

from bridle.engine.turn import Turn
from bridle.features.agents.mailbox import (
    MAIN,
    MOST_CHARS,
    Mailbox,
    MailboxFull,
    as_prompt,
    main_mailbox,
    recorded,
)
from bridle.features.agents.records import named_before
from bridle.features.teams.peers import live_sessions, send_to_session
from bridle.features.teams.remote import is_elsewhere, remote_contacts, send_elsewhere
from bridle.host.lock import Locked
from bridle.types.errors import ToolError
from bridle.types.ids import new_uuid
from bridle.types.services.messages import AgentMessage, Contact, Delivery
from bridle.types.services.remote import REMOTE
from bridle.types.services.tasks import Task

if TYPE_CHECKING:
    from bridle.features.agents.interfaces import Inbox
    from bridle.features.agents.registry import Agents
    from bridle.features.teams.feature import Team
    from bridle.features.teams.membership import Membership
    from bridle.features.teams.process import MemberProcess

LEADERS = (MAIN, "lead", "leader", "team-lead", "coordinator")
_EVERYBODY = "*"
_SOCKET = "uds:"
_MOST_NAMED = 20


class MessageRouter:
    """Delivers the messages of one thread; `turn` is the turn that sends them."""

    def __init__(self, agents: "Agents", team: "Team", turn: Turn, *, call_id: str) -> None:
        self._agents = agents
        self._team = team
        self._turn = turn
        self._call_id = call_id

    async def send(self, *, to: str, text: str, summary: str, notify_when_idle: bool) -> tuple[Delivery, ...]:
        """Deliver a message.

        Raises:
            ToolError: there is no such recipient, or it cannot take the message.
        """
        to = to.strip()
        letter = self._letter(text, summary)
        if is_elsewhere(to):
            remote = self._turn.runtime.features.find(REMOTE)
            reply = None if remote is None else remote.reply
            await send_elsewhere(to, letter, self._turn, reply=reply)
            return (Delivery(to=to, how="sent"),)
        if to.startswith(_SOCKET):
            token = self._turn.runtime.env.get("CLAUDE_CODE_MESSAGING_TOKEN", "")
            own = self._team.socket
            letter = msgspec.structs.replace(letter, sender="" if own is None else f"{_SOCKET}{own}")
            path, env = to.removeprefix(_SOCKET), self._turn.runtime.env
            await send_to_session(path, letter, env=env, token=token)
            return (Delivery(to=to, how="sent"),)
        if (membership := self._membership()) is not None:
            return await membership.send(letter, to=to, notify=notify_when_idle)
        if to == _EVERYBODY:
            return self._broadcast(letter)
        if to in LEADERS:
            return (self._to_main(letter),)
        return (await self._to_agent(to, letter, notify=notify_when_idle),)

    async def contacts(self) -> tuple[Contact, ...]:
        """All recipients that can get messages."""
        if (membership := self._membership()) is not None:
            return await membership.contacts()
        me = self._turn.session.agent_id
        found = [] if me is None else [Contact(address=MAIN, kind="main", status="leads this session")]
        found += (_contact(task) for task in self._tasks() if task.id != me)
        own = self._team.socket
        found += (
            Contact(address=f"{_SOCKET}{each.socket}", kind="session", status="running", about=each.about)
            for each in await asyncio.to_thread(live_sessions, self._turn.runtime.env)
            if own is None or each.socket != own
        )
        found += await remote_contacts(self._turn.runtime.env)
        return tuple(found)

    def _membership(self) -> "Membership | None":
        """The team that the main thread of this process is a member of, and not the leader."""
        return self._team.membership if self._turn.session.agent_id is None else None

    def _letter(self, text: str, summary: str) -> AgentMessage:
        if not text.strip():
            raise ToolError("The message is empty.")
        if len(text) > MOST_CHARS:
            raise ToolError(
                f"The message has {len(text):,} characters; the limit is {MOST_CHARS:,}. Put the rest "
                "in a file and refer to it."
            )
        summary = " ".join(summary.split())[:200]
        return AgentMessage(
            id=new_uuid(), sender=self._own_name(), text=text, summary=summary, sent=time.time()
        )

    def _own_name(self) -> str:
        me = self._turn.session.agent_id
        if me is None:
            return MAIN
        task = self._turn.runtime.workspace.tasks.find(me)
        return me if task is None or task.name is None else task.name

    def _tasks(self) -> list[Task]:
        """The agents of the session, of each name the newest."""
        tasks = self._turn.runtime.workspace.tasks
        every = [task for task in tasks.all() if task.kind == "local_agent"]
        return [task for task in every if task.name is None or tasks.find(task.name) == task]

    def _broadcast(self, letter: AgentMessage) -> tuple[Delivery, ...]:
        me = self._turn.session.agent_id
        done = [] if me is None else [self._to_main(letter)]
        full: list[str] = []
        for agent_id, run in tuple(self._agents.registry.running.items()):
            if agent_id == me or run.mail is None:
                continue
            name = run.work.name or agent_id
            try:
                self._put(run.mail, letter, name)
            except ToolError:
                full.append(name)
                continue
            done.append(Delivery(to=name, how="delivered"))
        if full:
            there = ", ".join(each.to for each in done) or "no one"
            raise ToolError(f"The mailboxes of {', '.join(full)} are full; it was delivered to {there}.")
        if not done:
            raise ToolError("No running agents: start one, or message an agent by name.")
        return tuple(done)

    def _to_main(self, letter: AgentMessage) -> Delivery:
        if self._turn.session.agent_id is None:
            raise ToolError("You are main: message an agent, or tell the user.")
        deliver = self._team.deliver
        if deliver is None:
            raise ToolError("The main agent accepts no messages here: put it in your report.")
        box, lead = main_mailbox(self._turn.runtime.records.storage), self._agents.registry.lead
        if lead is not None:
            box.remove(recorded(lead.session, box.waiting()))
        self._keep(box, letter, MAIN)
        deliver(as_prompt(letter))
        return Delivery(to=MAIN, how="delivered")

    async def _to_agent(self, to: str, letter: AgentMessage, *, notify: bool) -> Delivery:
        task = self._turn.runtime.workspace.tasks.find(to)
        agent_id = to if task is None else task.id
        if task is None:
            agent_id = await asyncio.to_thread(named_before, self._turn.runtime.records.storage, to) or to
        if agent_id == self._turn.session.agent_id:
            raise ToolError("You cannot message yourself.")
        if task is not None and task.kind != "local_agent":
            raise ToolError(f"{to} is a {task.kind.replace('_', ' ')}, which cannot receive messages.")
        registry = self._agents.registry
        if notify and self._turn.session.agent_id is not None:
            registry.watchers.setdefault(agent_id, set()).add(self._turn.session.agent_id)
        run = registry.running.get(agent_id)
        if run is not None and run.mail is not None:
            self._put(run.mail, letter, to)
            return Delivery(to=to, how="delivered")
        if run is not None:
            # It is putting its things away; a message resumes it when that is done.
            await run.over.wait()
        if self._team.processes is not None and (member := self._team.processes.find(agent_id)) is not None:
            self._wake(member, letter, to)
            return Delivery(to=to, how="resumed")
        try:
            prompt = as_prompt(letter).content
            assert isinstance(prompt, str)
            await self._agents.resume(self._turn, agent_id, prompt, call_id=self._call_id)
        except ToolError as fault:
            if task is None:
                raise ToolError(f"Unknown agent {to!r}. {self._who_there_is()}") from fault
            raise
        return Delivery(to=to, how="resumed")

    def _who_there_is(self) -> str:
        names = [task.name or task.id for task in self._tasks()][-_MOST_NAMED:]
        return f"Agents: {', '.join(names)}." if names else "No agents yet: start one with Agent."

    def _wake(self, member: "MemberProcess", letter: AgentMessage, to: str) -> None:
        processes = self._team.processes
        assert processes is not None
        try:
            processes.wake(member, letter)
        except (MailboxFull, OSError, Locked) as fault:
            raise _undelivered(to, fault) from fault

    def _put(self, mail: "Inbox", letter: AgentMessage, to: str) -> None:
        try:
            mail.put(letter)
        except (MailboxFull, OSError, Locked) as fault:
            raise _undelivered(to, fault) from fault

    def _keep(self, box: Mailbox, letter: AgentMessage, to: str) -> None:
        try:
            box.put(letter)
        except (MailboxFull, OSError, Locked) as fault:
            raise _undelivered(to, fault) from fault


def _undelivered(to: str, fault: Exception) -> ToolError:
    return ToolError(
        f"The message to {to} was not delivered: {fault}. Try again when it has read some of them."
    )


def _contact(task: Task) -> Contact:
    seconds = round((task.ended or time.time()) - task.started)
    rests = "idle in its pane" if task.resident else task.status
    status = f"working for {seconds} s" if task.status == "running" else f"{rests}; a message resumes it"
    return Contact(
        address=task.name or task.id,
        kind="agent",
        status=status,
        about=task.description,
        agent_id=task.id,
        agent_type=task.agent_type,
    )
