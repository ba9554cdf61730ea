"""What lets a session work beside others: mail for the main thread, a door for other sessions."""

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

import msgspec

from bridle.engine.agents import Agents
from bridle.engine.runtime import Runtime
from bridle.session.base import SessionBase
from bridle.session.setup import Setup
from bridle.transcripts.session import Session
from bridle.types.agent import AgentDefinition
from bridle.types.channel import Channel
from bridle.types.origin import PROGRAM
from bridle.types.tool import Toolbox
from bridle.types.turn import Prompt
from bridle.types.variables import is_on

if TYPE_CHECKING:
    from bridle.engine.teams.membership import Membership
    from bridle.host.panes.selection import TeammateMode


class _Closing(Protocol):
    async def close(self) -> None: ...


class Team:
    """What must be closed when the session ends."""

    def __init__(self) -> None:
        self._closing: list[_Closing] = []

    def keep(self, part: _Closing) -> None:
        self._closing.append(part)

    async def close(self) -> None:
        for part in self._closing:
            await part.close()


def joined(setup: Setup, session: Session, channel: Channel, wake: Callable[[Prompt], None]) -> Channel:
    """The channel of a session, which in a teammate's process its leader shares."""
    return channel if setup.member is None else setup.member.join(session, channel, wake)


def member_tools(toolbox: Toolbox, definition: AgentDefinition, membership: "Membership") -> Toolbox:
    """The tools of a teammate, the same as those that it would have in its leader's process."""
    from bridle.engine.agents.tools import AgentToolbox, Standing, select

    planning = membership.summons.mode == "plan"
    standing = Standing(background=True, teammate=True, planning=planning, may_start=False)
    return AgentToolbox(toolbox, select(definition, standing).takes)


async def open_team(base: SessionBase, agents: Agents, runtime: Runtime, *, is_whole: bool = False) -> Team:
    """Let messages reach the main thread: from its agents, left over from before, and from other sessions.

    `is_whole`: whoever answers is in this process, so that everybody must be.
    """
    setup = base.setup
    door = Team()
    agents.staff.deliver = base.wake
    if setup.member is not None:
        agents.staff.membership = setup.member
        await setup.member.open(base.workspace)
        door.keep(setup.member)
        return door
    if os.path.isdir(os.path.join(base.storage, "mail", "main")):
        _take_up(base)
    if setup.env.get("CLAUDE_CODE_MESSAGING_SOCKET") or _has_team(setup):
        await _open_socket(base, agents, door)
    if _has_team(setup) and _teammate_mode(setup) != "in-process" and not is_whole:
        await _open_crew(base, agents, runtime, door)
    return door


async def _open_crew(base: SessionBase, agents: Agents, runtime: Runtime, door: Team) -> None:
    """Let teammates have processes of their own."""
    from bridle.engine.agents.start import follow
    from bridle.engine.teams.crew import Crew
    from bridle.engine.teams.team import team_name
    from bridle.engine.turn import Turn
    from bridle.host.panes.selection import choose_panes
    from bridle.session.parts.summons import summons_for

    setup, session = base.setup, base.session
    name = team_name(setup.env, session.id) or session.id
    quiet = msgspec.structs.replace(runtime, shape=None)
    crew = Crew(
        agents,
        lambda: agents.staff.lead or Turn(session, Prompt(content="", origin=PROGRAM, meta=True), quiet),
        bound=lambda: _bound(base),
        choose=lambda: choose_panes(_teammate_mode(setup), setup.env, name=name),
        summon=lambda turn, work: summons_for(setup, agents.staff.means, turn, work),
        follow=lambda member, turn: follow(agents, turn, member, crew),
    )
    agents.staff.crew = crew
    door.keep(crew)
    await crew.adopt()


def _bound(base: SessionBase) -> str | None:
    """A hook of the program around the session guards every agent: none may work where it does not reach."""
    return "the program around the session brings hooks of its own" if base.hooks.has_host_hooks else None


def _teammate_mode(setup: Setup) -> "TeammateMode":
    match setup.options.teammate_mode or setup.config.settings.teammate_mode:
        case "auto" | "tmux" | "iterm2" as mode:
            return mode
        case _:
            return "in-process"


def _take_up(base: SessionBase) -> None:
    from bridle.engine.teams.mailbox import as_prompt, recorded
    from bridle.engine.teams.post import main_mailbox

    box = main_mailbox(base.storage)
    letters = box.waiting()
    known = recorded(base.session, letters)
    box.remove(known)
    for letter in letters:
        if letter.id not in known:
            base.wake(as_prompt(letter))


async def _open_socket(base: SessionBase, agents: Agents, door: Team) -> None:
    from bridle.engine.teams.peers import PeerDoor

    setup = base.setup
    peers = PeerDoor(
        base.session.id,
        env=setup.env,
        cwd=setup.cwd,
        deliver=base.wake,
        inbound=setup.config.settings.cross_session_inbound or "accept",
    )
    try:
        await peers.open()
    except OSError as error:
        base.warn(f"other sessions cannot write to this one: {error}")
        return
    agents.staff.door = peers.path
    door.keep(peers)


def _has_team(setup: Setup) -> bool:
    names = ("CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS", "CLAUDE_CODE_COORDINATOR_MODE")
    return any(is_on(setup.env, name) for name in names)
