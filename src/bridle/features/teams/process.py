"""A member of the team in a process of its own, as its leader sees it."""

import asyncio
import os
import signal
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from bridle.features.agents.mailbox import Mailbox, MailboxFull
from bridle.features.teams.protocol import (
    FilesChanged,
    MemberLaunch,
    MemberState,
    Stop,
    TeamConnection,
    ToMember,
)
from bridle.features.teams.questions import Questions
from bridle.host.lock import Locked
from bridle.host.owners import birth, is_alive
from bridle.host.panes.pane import Pane
from bridle.types.ids import new_uuid
from bridle.types.services.messages import AgentMessage

if TYPE_CHECKING:
    from bridle.engine.assignment import Assignment
    from bridle.features.teams.roster import Card

_AFTER_KILL = 2.0
_LOOK_AGAIN = 0.02


class MemberProcess:
    """Its process, the connection to it, and its state."""

    def __init__(self, work: "Assignment", *, session_id: str, box: Mailbox, questions: Questions) -> None:
        self.work = work
        self.session_id = session_id
        self.box = box
        self.questions = questions
        self.launch: MemberLaunch | None = None
        """What its process gets when it connects."""
        self.pane: Pane | None = None
        self.pid: int | None = None
        self.birth = ""
        self.card: Card | None = None
        self.state = MemberState()
        self.expected = asyncio.Event()
        """Set when it is known which process may connect."""
        self.is_connected = False
        """Its process is connected."""
        self.arrived = asyncio.Event()
        """Set when its session has begun."""
        self.gone = asyncio.Event()
        """Its process is no more."""
        self.left = False
        """It has ended in good order."""
        self.is_followed = False
        """A task of the session shows what it does."""
        self.forgetting: asyncio.Task[None] | None = None
        """Cleans up after it."""
        self.keeps_place = False
        """Another agent continues in its work tree."""
        self.asked: dict[str, asyncio.Task[None]] = {}
        """Its questions that the user is being asked here."""
        self._line: TeamConnection | None = None
        self._stirred: set[asyncio.Event] = set()

    @property
    def name(self) -> str:
        return self.work.name or self.work.agent_id

    def connect(self, line: TeamConnection, pid: int | None) -> None:
        """Take the connection to it."""
        self._line = line
        if pid is not None:
            self.pid, self.birth = pid, birth(pid)
        self.is_connected = True

    def take(self, state: MemberState) -> None:
        """Take its new state."""
        self.state = state
        self.arrived.set()
        self._stir()

    def lose(self) -> None:
        """Its process is no more."""
        self._line = None
        self.gone.set()
        # End the wait for its arrival.
        self.arrived.set()
        self._stir()

    def say(self, message: ToMember) -> bool:
        """Send it a message. Returns whether it is connected."""
        return self._line is not None and self._line.say(message)

    def put(self, letter: AgentMessage) -> None:
        """Deliver a letter.

        Raises:
            MailboxFull: too many wait already.
            OSError: it cannot be saved.
            Locked: another process keeps the mailbox for too long.
        """
        self.box.put(letter)
        self.say(FilesChanged())

    def tell(self, text: str, *, sender: str) -> None:
        """Deliver a notice of the program, which may be lost."""
        try:
            self.put(AgentMessage(id=new_uuid(), sender=sender, text=text, sent=time.time()))
        except (MailboxFull, OSError, Locked):
            pass  # The mailbox is full or cannot be written: the notice is dropped.

    async def changed(self, holds: Callable[[], bool]) -> None:
        """Wait until `holds` is true or its process has ended."""
        event = asyncio.Event()
        self._stirred.add(event)
        try:
            while not self.gone.is_set() and not holds():
                event.clear()
                await event.wait()
        finally:
            self._stirred.discard(event)

    async def end(self, *, patience: float) -> None:
        """Ask it to stop, then make sure that its process has ended."""
        try:
            if not self.gone.is_set() and self.say(Stop()):
                async with asyncio.timeout(patience):
                    await self.gone.wait()
                    await self._until_dead()
        except TimeoutError:
            pass  # It had its time.
        finally:
            await asyncio.shield(self._kill())

    async def _kill(self) -> None:
        if self.pid is None or not self._lives():
            return
        try:
            os.kill(self.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            return
        try:
            async with asyncio.timeout(_AFTER_KILL):
                await self._until_dead()
        except TimeoutError:
            pass  # The system will see to it.

    async def _until_dead(self) -> None:
        # It is no child of ours, so nothing tells us.
        while self._lives():
            await asyncio.sleep(_LOOK_AGAIN)

    def _lives(self) -> bool:
        return self.pid is not None and bool(self.birth) and is_alive(self.pid, self.birth)

    def _stir(self) -> None:
        for event in self._stirred:
            event.set()
