"""What lets a session work beside others: claims, mail for the main thread, a door for other sessions."""

import asyncio
import os
from typing import TYPE_CHECKING, Protocol

from bridle.cli.ground import Ground
from bridle.cli.setup import Setup
from bridle.engine.agents import Agents
from bridle.engine.runtime import Claiming
from bridle.host.paths import bridle_dir
from bridle.sessions.session import Session

if TYPE_CHECKING:
    from bridle.engine.claims import Claims

_OFF = ("1", "true", "yes", "on")


def claims_of(setup: Setup, session: Session) -> Claiming | None:
    """What the main thread has for itself alone; None where that is turned off."""
    if setup.env.get("BRIDLE_DISABLE_BROKER", "").strip().lower() in _OFF:
        return None

    def make() -> "Claims":
        from bridle.engine.claims import Claims

        return Claims.of_session(os.path.join(bridle_dir(setup.env), "broker"), session.id)

    return Claiming(make)


class _Closing(Protocol):
    async def close(self) -> None: ...


class TeamDoor:
    """What must be closed when the session ends."""

    def __init__(self, claims: Claiming | None) -> None:
        self._claims = claims
        self._closing: list[_Closing] = []

    def keep(self, part: _Closing) -> None:
        self._closing.append(part)

    async def close(self) -> None:
        for part in self._closing:
            await part.close()
        if self._claims is not None and self._claims.made is not None:
            await asyncio.to_thread(self._claims.made.close)


async def open_team(ground: Ground, agents: Agents, claims: Claiming | None) -> TeamDoor:
    """Let messages reach the main thread: from its agents, left over from before, and from other sessions."""
    door = TeamDoor(claims)
    agents.staff.deliver = ground.wake
    if os.path.isdir(os.path.join(ground.storage, "mail", "main")):
        _take_up(ground)
    if ground.setup.env.get("CLAUDE_CODE_MESSAGING_SOCKET") or _has_team(ground.setup):
        await _open_socket(ground, agents, door)
    return door


def _take_up(ground: Ground) -> None:
    from bridle.engine.teams.mailbox import as_prompt, recorded
    from bridle.engine.teams.post import main_mailbox

    box = main_mailbox(ground.storage)
    letters = box.waiting()
    known = recorded(ground.session, letters)
    box.remove(known)
    for letter in letters:
        if letter.id not in known:
            ground.wake(as_prompt(letter))


async def _open_socket(ground: Ground, agents: Agents, door: TeamDoor) -> None:
    from bridle.engine.teams.peers import PeerDoor

    setup = ground.setup
    peers = PeerDoor(
        ground.session.id,
        env=setup.env,
        cwd=setup.cwd,
        deliver=ground.wake,
        inbound=setup.config.settings.cross_session_inbound or "accept",
    )
    try:
        await peers.open()
    except OSError as error:
        ground.warn(f"other sessions cannot write to this one: {error}")
        return
    agents.staff.door = peers.path
    door.keep(peers)


def _has_team(setup: Setup) -> bool:
    names = ("CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS", "CLAUDE_CODE_COORDINATOR_MODE")
    return any(setup.env.get(name, "").strip().lower() in _OFF for name in names)
