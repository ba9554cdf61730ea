"""Teams as a feature: messages between threads and sessions, and teammates in processes of their own."""

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from bridle.engine.feature import Feature
from bridle.features.agents.feature import AGENTS
from bridle.features.context import FeatureContext
from bridle.permissions.tool_names import MESSAGE
from bridle.types.event import Noticed
from bridle.types.origin import PROGRAM
from bridle.types.services.service import Service
from bridle.types.turn import Prompt
from bridle.types.variables import is_on

if TYPE_CHECKING:
    from bridle.engine.assignment import Assignment
    from bridle.engine.calls.call import Call
    from bridle.engine.turn import Turn
    from bridle.features.agents.registry import Agents
    from bridle.features.teams.membership import Membership
    from bridle.features.teams.processes import MemberProcesses
    from bridle.host.panes.selection import TeammateMode

TEAM: "Service[Team]" = Service("team", missing="This session has no team.")
_SWITCHES = ("CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS", "CLAUDE_CODE_COORDINATOR_MODE")


class Team:
    """Filled in as the session begins to take messages."""

    def __init__(self) -> None:
        self.deliver: Callable[[Prompt], None] | None = None
        """Puts a message before the main thread, where it takes any."""
        self.socket: str | None = None
        """The socket at which other sessions reach this one."""
        self.processes: MemberProcesses | None = None
        """Teammates that have processes of their own, where they may."""
        self.membership: Membership | None = None
        """The team that this whole process is a member of, where it is one."""


class _Closing(Protocol):
    async def close(self) -> None: ...


class TeamsFeature(Feature):
    """The main thread and its agents share it: each writes in its own name."""

    name = "teams"

    def __init__(self, context: FeatureContext | None = None) -> None:
        self.team = Team()
        self._context = context
        """None where no one is reached but the agents of the session."""
        self._closing: list[_Closing] = []

    def part(self, key: Service[Any]) -> Any:
        return self.team if key is TEAM else None

    def offer(self, key: Service[Any], call: "Call", turn: "Turn") -> Any:
        from bridle.types.services.messages import MESSAGES

        if key is not MESSAGES or (agents := turn.runtime.features.find(AGENTS)) is None:
            return None
        from bridle.features.teams.message_router import MessageRouter

        return MessageRouter(agents, self.team, turn, call_id=call.id)

    def complete_call(self, tool: str, call: "Call", input: Any, turn: "Turn") -> "Call":
        """A message has the whole address of its receiver: one on another machine is asked about."""
        if tool != MESSAGE:
            return call
        from bridle.features.teams.remote import named_fully

        return msgspec.structs.replace(call, input={**call.input, "to": named_fully(input.to, turn)})

    async def open(self) -> None:
        """Let messages reach the main thread: from agents, left over from before, and from other sessions."""
        context = self._context
        if context is None:
            return
        self.team.deliver = context.wake
        if (member := context.member) is not None:
            self.team.membership = member
            await member.open(context.workspace)
            self._closing.append(member)
            return
        if os.path.isdir(os.path.join(context.storage, "mail", "main")):
            _take_up(context)
        has_team = any(is_on(context.env, name) for name in _SWITCHES)
        if context.env.get("CLAUDE_CODE_MESSAGING_SOCKET") or has_team:
            await self._open_socket(context)
        agents = context.runtime().features.find(AGENTS)
        if has_team and agents is not None and _mode(context) != "in-process" and not context.answers:
            await self._open_processes(context, agents)

    def for_agent(self, work: "Assignment") -> Feature:
        return self

    async def close(self) -> None:
        for part in self._closing:
            await part.close()

    async def _open_socket(self, context: FeatureContext) -> None:
        from bridle.features.teams.peers import PeerSocket

        def emit(notice: Noticed) -> None:
            context.runtime().channel.emit(notice)

        peers = PeerSocket(
            context.session.id,
            env=context.env,
            cwd=context.project,
            deliver=context.wake,
            emit=emit,
            inbound=context.config.settings.cross_session_inbound or "accept",
        )
        try:
            await peers.open()
        except OSError as error:
            context.warn(f"other sessions cannot reach this one: {error}")
            return
        self.team.socket = peers.path
        self._closing.append(peers)

    async def _open_processes(self, context: FeatureContext, agents: "Agents") -> None:
        """Let teammates have processes of their own."""
        from bridle.engine.turn import Turn
        from bridle.features.teams.launch import launch_for
        from bridle.features.teams.processes import MemberProcesses
        from bridle.host.panes.selection import choose_panes
        from bridle.types.services.teams import team_name

        session, env = context.session, context.env
        name = team_name(env, session.id) or session.id
        quiet = context.runtime().without_shape()
        nothing = Prompt(content="", origin=PROGRAM, meta=True)
        processes = MemberProcesses(
            agents,
            self.team,
            lambda: agents.registry.lead or Turn(session, nothing, quiet),
            bound=lambda: _bound(context),
            choose=lambda: choose_panes(_mode(context), env, name=name),
            launch_for=lambda turn, work: launch_for(context.options, agents.registry.setup, turn, work),
        )
        self.team.processes = agents.registry.processes = processes
        self._closing.append(processes)
        await processes.adopt()


def _bound(context: FeatureContext) -> str | None:
    """A hook of the program around the session guards every agent: none may work where it does not reach."""
    has_host_hooks = context.hooks is not None and context.hooks.has_host_hooks
    return "the host program has its own hooks" if has_host_hooks else None


def _mode(context: FeatureContext) -> "TeammateMode":
    match context.options.teammate_mode or context.config.settings.teammate_mode:
        case "auto" | "tmux" | "iterm2" as mode:
            return mode
        case _:
            return "in-process"


def _take_up(context: FeatureContext) -> None:
    from bridle.features.agents.mailbox import as_prompt, main_mailbox, recorded

    box = main_mailbox(context.storage)
    letters = box.waiting()
    known = recorded(context.session, letters)
    box.remove(known)
    for letter in letters:
        if letter.id not in known:
            context.wake(as_prompt(letter))
