"""The members of a team with processes of their own, started and stopped by the leader."""

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from bridle.engine.assignment import Assignment
from bridle.engine.null_parts import ANY_SHAPE
from bridle.engine.turn import Turn
from bridle.engine.worktrees import AgentWorktree, close_agent_worktree
from bridle.features.agents.mailbox import agent_mailbox
from bridle.features.teams.leader_socket import START_SECONDS, LeaderSocket
from bridle.features.teams.pane_run import PaneRun
from bridle.features.teams.process import MemberProcess
from bridle.features.teams.protocol import MemberLaunch, RulesChanged, listen, socket_of
from bridle.features.teams.questions import Questions
from bridle.features.teams.roster import Card, Roster
from bridle.features.teams.task_set import TaskSet
from bridle.host.files import make_folders
from bridle.host.owners import birth, is_alive
from bridle.host.panes.pane import PaneFault, Panes
from bridle.host.socket_server import SocketServer
from bridle.types.event import Noticed
from bridle.types.ids import new_uuid
from bridle.types.services.messages import AgentMessage

if TYPE_CHECKING:
    from bridle.features.agents.registry import Agents
    from bridle.features.teams.feature import Team

_LOOK_AGAIN = 0.2
_RETURN_SECONDS = 10.0
_PALETTE = ("blue", "green", "orange", "purple", "cyan", "pink", "yellow", "red")
_PARK_MS = (1_000, 10_000, 60_000)
"""The least, the default and the most time that members have to stop, in milliseconds."""


class MemberProcesses:
    """Opened with the first member; closed with the session."""

    def __init__(
        self,
        agents: "Agents",
        team: "Team",
        lead: Callable[[], Turn],
        *,
        bound: Callable[[], str | None],
        choose: Callable[[], Awaitable[Panes | None]],
        launch_for: Callable[[Turn, Assignment], MemberLaunch],
    ) -> None:
        self._agents = agents
        self._lead = lead
        """A turn of the main thread, in whose name things are asked and granted."""
        self._bound = bound
        """Why members must work in this process; None when they need not."""
        self._choose = choose
        self._launch_for = launch_for
        self._members: dict[str, MemberProcess] = {}
        self._server: SocketServer | None = None
        self._path = ""
        self._storage = ""
        """The storage folder of the session that started the first member."""
        self._panes: Panes | None = None
        self._opening = asyncio.Lock()
        self._is_chosen = self._is_hinted = False
        self._tasks = TaskSet()
        self._socket = LeaderSocket(
            agents, team, lead, self._members, follow=self._follow, forget=self.forget, keep=self._keep
        )

    async def hire(self, turn: Turn, work: Assignment, *, resumes: str | None = None) -> PaneRun | None:
        """Start a process for a member and list its task; None when it cannot have one."""
        member = await self._hire(turn, work, resumes=resumes)
        return None if member is None else PaneRun(turn, work, member, self, after=0)

    def _follow(self, member: MemberProcess, turn: Turn) -> None:
        """Add a member that has begun to work to the tasks of the session."""
        from bridle.features.agents.start import begin_beside

        work = msgspec.structs.replace(member.work, background=True)
        begin_beside(self._agents, PaneRun(turn, work, member, self, after=member.state.round))

    async def _hire(
        self, turn: Turn, work: Assignment, *, resumes: str | None = None
    ) -> MemberProcess | None:
        """Start a process for a member, or resume the conversation `resumes`; None when it cannot have one.

        A notice gives the reason, and the caller runs the member in this process.
        """
        if (reason := self._bound() or _bound_to_us(work)) is not None:
            return self._decline(turn, work, reason)
        if (panes := await self._open_panes(turn, work)) is None:
            return None
        self._storage = self._storage or turn.runtime.records.storage
        member = self._make(turn, work, resumes or new_uuid())
        launch = self._launch_for(turn, work)
        launch = msgspec.structs.replace(launch, session_id=member.session_id, resumes=resumes is not None)
        if (before := self._members.get(work.agent_id)) is not None:
            await asyncio.shield(self.forget(before))
        try:
            await self._listen(turn)
            self._replace(work)
            member.is_followed = True
            self._members[work.agent_id] = member
            await self._start(member, panes, launch)
        except (PaneFault, OSError) as fault:
            member.keeps_place = True
            await self.forget(member)
            return self._decline(turn, work, str(fault))
        except BaseException:
            self.forget(member)
            raise
        self._put_down(member)
        if (hint := panes.hint) is not None and not self._is_hinted:
            self._is_hinted = True
            turn.runtime.channel.emit(
                Noticed(f"Teammates work in their own panes. Show them with: {hint}", "info")
            )
        return member

    async def adopt(self) -> None:
        """Adopt the members of an earlier process of this session."""
        turn = self._lead()
        cards = await asyncio.to_thread(Roster(turn.runtime.records.storage).living)
        if not cards:
            return
        self._storage = turn.runtime.records.storage
        for card in cards:
            definition = self._agents.find(card.agent_type)
            if definition is None:
                continue  # Its process ends, because it gets no answer.
            work = Assignment(
                agent_id=card.agent_id,
                definition=definition,
                description=card.description,
                prompt=card.prompt,
                call_id=card.call_id,
                name=card.name,
                team=card.team,
                model=card.model,
                background=True,
                place=None if card.worktree is None else AgentWorktree(path=card.worktree),
            )
            member = self._make(turn, work, card.session_id)
            member.card, member.pid, member.birth = card, card.pid, card.birth
            member.expected.set()
            self._members[card.agent_id] = member
            self._tasks.begin(self._expect(member))
        await self._listen(turn)

    async def _expect(self, member: MemberProcess) -> None:
        """Wait for a member to connect again, and forget one that does not."""
        try:
            async with asyncio.timeout(_RETURN_SECONDS):
                await member.arrived.wait()
        except TimeoutError:
            self.forget(member)

    def find(self, agent_id: str) -> MemberProcess | None:
        """A member whose process runs."""
        member = self._members.get(agent_id)
        return None if member is None or member.gone.is_set() else member

    def has(self, name: str) -> bool:
        """Whether a member of this name is running or starting."""
        return any(each.is_followed and each.work.name == name for each in self._members.values())

    def wake(self, member: MemberProcess, letter: AgentMessage) -> None:
        """Give an idle member something to do.

        Raises:
            MailboxFull: too many letters wait already.
            OSError: it cannot be saved.
            Locked: another process keeps the mailbox for too long.
        """
        member.put(letter)
        self._follow(member, self._agents.registry.lead or self._lead())

    def share(self, update: Mapping[str, Any], *, without: str | None = None) -> None:
        """Tell members of a change of rules."""
        for member in self._members.values():
            if member.work.agent_id != without:
                member.say(RulesChanged(update))

    async def end(self, agent_id: str) -> None:
        """End a member's process and close its pane; harmless when it has ended."""
        if (member := self._members.get(agent_id)) is not None:
            await member.end(patience=park_seconds(self._agents.registry.env))
            await asyncio.shield(self.forget(member))

    def dismiss(self, member: MemberProcess) -> None:
        """Begin to end a member's process."""
        member.is_followed = False
        self._tasks.begin(self.end(member.work.agent_id))

    async def end_idle(self) -> int:
        """End all idle members. Returns how many there were."""
        idle = [member for member in self._members.values() if not member.is_followed]
        await asyncio.gather(*(self.end(each.work.agent_id) for each in idle))
        return len(idle)

    async def close(self) -> None:
        """End all members."""
        await asyncio.gather(*(self.end(agent_id) for agent_id in tuple(self._members)))
        if self._server is not None:
            self._server.stop()
            try:
                os.unlink(self._path)
            except FileNotFoundError:
                pass  # It was removed already.
        await self._socket.close()
        if self._server is not None:
            await self._server.close()
        await self._tasks.close()
        if self._panes is not None:
            await self._panes.finish()

    async def _open_panes(self, turn: Turn, work: Assignment) -> Panes | None:
        async with self._opening:
            if not self._is_chosen:
                try:
                    self._panes = await self._choose()
                    self._is_chosen = True
                except PaneFault as fault:
                    return self._decline(turn, work, str(fault))
        return self._panes

    def _decline(self, turn: Turn, work: Assignment, reason: str) -> None:
        text = f"{work.name} runs without a pane: {reason.rstrip('.')}."
        turn.runtime.channel.emit(Noticed(text, "notice"))

    def _make(self, turn: Turn, work: Assignment, session_id: str) -> MemberProcess:
        storage = turn.runtime.records.storage
        box = agent_mailbox(storage, work.agent_id)
        return MemberProcess(
            work, session_id=session_id, box=box, questions=Questions(storage, work.agent_id)
        )

    def _replace(self, work: Assignment) -> None:
        """End an idle member with the same name, because a name belongs to one member."""
        for other in tuple(self._members.values()):
            if other.work.name == work.name and not other.is_followed:
                self.dismiss(other)

    async def _start(self, member: MemberProcess, panes: Panes, launch: MemberLaunch) -> None:
        """Open the pane, and wait until its process is connected.

        Raises:
            PaneFault: it does not come.
        """
        work = member.work
        argv = [sys.executable, "-P", "-m", "bridle", "--teammate", self._path, work.agent_id]
        color = work.definition.color or _PALETTE[(len(self._members) - 1) % len(_PALETTE)]
        member.pane = await panes.open(argv, cwd=launch.cwd, title=member.name, color=color)
        member.launch = launch
        member.expected.set()
        pid = member.pane.pid
        born = "" if pid is None else birth(pid)
        try:
            async with asyncio.timeout(START_SECONDS):
                while not member.arrived.is_set():
                    if pid is not None and not is_alive(pid, born):
                        raise PaneFault("its pane closed immediately")
                    try:
                        async with asyncio.timeout(_LOOK_AGAIN):
                            await member.arrived.wait()
                    except TimeoutError:
                        continue  # A pane does not tell when it closes.
        except TimeoutError:
            raise PaneFault("its pane did not connect in time") from None
        if member.gone.is_set():
            raise PaneFault("its process exited immediately")

    async def _listen(self, turn: Turn) -> None:
        async with self._opening:
            if self._server is None:
                self._server = self._open_socket(turn)

    def _open_socket(self, turn: Turn) -> SocketServer:
        self._path = socket_of(turn.runtime.env, turn.session.id)
        make_folders(os.path.dirname(self._path), private=True)
        if os.stat(os.path.dirname(self._path)).st_uid != os.getuid():
            raise PermissionError(f"{os.path.dirname(self._path)} belongs to another user")
        try:
            os.unlink(self._path)
        except FileNotFoundError:
            pass  # The usual case; else an earlier process of this session was killed.
        return listen(self._path, self._socket.attend)

    def _put_down(self, member: MemberProcess) -> None:
        work = member.work
        member.card = Card(
            agent_id=work.agent_id,
            name=member.name,
            team=work.team or "",
            pid=member.pid or 0,
            birth=member.birth,
            session_id=member.session_id,
            agent_type=work.definition.name,
            description=work.description,
            prompt=work.prompt,
            call_id=work.call_id,
            model=work.model,
            worktree=None if work.place is None else work.place.path,
            counted=member.state.spend,
        )
        self._keep(member.card)

    def _keep(self, card: Card) -> None:
        turn = self._lead()
        try:
            Roster(self._storage).write(card)
        except OSError as error:
            text = f"{card.name} is lost if this process is killed: {error.strerror} ({error.filename})"
            turn.runtime.channel.emit(Noticed(text, "warning"))

    def forget(self, member: MemberProcess) -> asyncio.Task[None]:
        """Clean up after a member whose process has ended or must end."""
        if member.forgetting is None:
            member.forgetting = self._tasks.begin(self._put_away(member))
        return member.forgetting

    async def _put_away(self, member: MemberProcess) -> None:
        await member.end(patience=0)
        if not member.gone.is_set():
            member.lose()
        if self._panes is not None and member.pane is not None:
            await self._panes.close(member.pane)
        if self._members.get(member.work.agent_id) is member:
            del self._members[member.work.agent_id]
        turn = self._lead()
        if (task := turn.runtime.workspace.tasks.find(member.work.agent_id)) is not None and task.resident:
            turn.runtime.workspace.tasks.change(msgspec.structs.replace(task, resident=False))
        await asyncio.to_thread(Roster(self._storage).remove, member.work.agent_id)
        await asyncio.to_thread(member.questions.clear)
        if member.work.place is not None and not member.keeps_place:
            await close_agent_worktree(turn.runtime, member.work.place)


def park_seconds(env: Mapping[str, str]) -> float:
    """How long members have to stop at the end."""
    least, usual, most = _PARK_MS
    text = env.get("CLAUDE_CODE_TEAM_TEARDOWN_PARK_TIMEOUT_MS", "")
    return min(max(int(text), least), most) / 1000 if text.isdecimal() else usual / 1000


def _bound_to_us(work: Assignment) -> str | None:
    """Why only this process can run an agent."""
    definition = work.definition
    bound = {"hooks": definition.hooks, "MCP servers": definition.mcp_servers, "skills": definition.skills}
    if work.fork or work.shape is not ANY_SHAPE:
        return "it depends on the conversation that started it"
    named = [what for what, there in bound.items() if there]
    return f"its definition has its own {' and '.join(named)}" if named else None
