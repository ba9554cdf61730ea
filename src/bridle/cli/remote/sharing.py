"""Shares a session by remote control, from the start or on request."""

import os.path
import socket
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from bridle.engine.server import Server
from bridle.features.teams.feature import TEAM
from bridle.frontends.remote.channel import SharedChannel
from bridle.session.setup import Setup
from bridle.transcripts.session import Session
from bridle.types.channel import Channel
from bridle.types.errors import UsageError
from bridle.types.event import Noticed
from bridle.types.origin import TYPED, Origin
from bridle.types.question import Answer, Question

if TYPE_CHECKING:
    from bridle.frontends.remote.local_session import LocalSession
    from bridle.frontends.remote.server import RemoteServer
    from bridle.protocol.frames import Framer

_ID = "CLAUDE_CODE_BRIDGE_SESSION_ID"
_PREFIX = "CLAUDE_REMOTE_CONTROL_SESSION_NAME_PREFIX"
_LONGEST_NAME = 80
_MOST_NAMES = 50


class SessionSharing:
    """Implements `commands.context.Sharing` for one session; closed with it."""

    def __init__(
        self,
        setup: Setup,
        session: Session,
        local: Channel,
        *,
        here: str,
        origin: Origin = TYPED,
        show: Callable[[str], None],
        answered: Callable[[Question, Answer], None] = lambda _, __: None,
        on_change: Callable[[], None] = lambda: None,
    ) -> None:
        self._setup = setup
        self._session = session
        self._show = show
        """Tells the user something that no transcript and no log may keep."""
        self._on_change = on_change
        self._attended: Server | None = None
        self._listening: RemoteServer | None = None
        self._shared: LocalSession | None = None
        self._token = ""
        self._name = ""
        self._seen: set[str] = set()
        self.channel = SharedChannel(local, here=here, origin=origin, answered=answered)
        """What the session must report to and ask through."""

    def attend(self, server: Server) -> None:
        """From now on there is a session to share."""
        self._attended = server

    async def begin(self) -> None:
        """Share from the start, if the command line or the settings of the user say so."""
        options, settings = self._setup.options, self._setup.config.settings
        if options.remote_control is None and not settings.remote_control_at_startup:
            return
        try:
            await self.share(options.remote_control if isinstance(options.remote_control, str) else "")
        except UsageError as error:
            if options.remote_control is not None:
                self._show(str(error))
            return
        self._show(self.describe())

    async def share(self, name: str) -> None:
        """Begin to listen, with a new key; harmless when that has begun.

        Raises:
            UsageError: it may not be, or cannot.
        """
        if self._setup.config.settings.disable_remote_control:
            raise UsageError("Sharing is turned off by the setting disableRemoteControl.")
        if self._attended is None:
            raise UsageError("The session has not begun yet: try again in a moment.")
        if self._listening is not None:
            self._name = name[:_LONGEST_NAME] or self._name
            return
        from bridle.frontends.remote.access import new_token
        from bridle.frontends.remote.server import RemoteServer
        from bridle.frontends.remote.shared_session import SingleSession

        self._name, self._token = name[:_LONGEST_NAME] or usual_name(self._setup), new_token()
        shared = self._make_shared(self._attended)
        host, port = place_in(self._setup.env)
        names = self._setup.env.get("BRIDLE_REMOTE_HOSTS", "")
        listening = RemoteServer(
            SingleSession(shared.shared_session), self._token, listen=host, port=port, names=names
        )
        try:
            await listening.open()
        except OSError as error:
            raise UsageError(f"Nothing can listen on {host}:{port}: {error.strerror or error}.") from error
        self._shared, self._listening = shared, listening
        self._setup.env[_ID] = shared.shared_session.id
        self.channel.share(shared)
        self._let_answer((listening.address, self._name))
        self._on_change()

    async def stop(self) -> bool:
        """Stop sharing: disconnect clients and drop the key; False when nothing was shared."""
        if self._listening is None:
            return False
        self.channel.share(None)
        listening, self._listening, self._shared = self._listening, None, None
        self._token = ""
        self._setup.env.pop(_ID, None)
        self._let_answer(None)
        await listening.close()
        self._on_change()
        return True

    async def close(self) -> None:
        await self.stop()

    def show(self) -> None:
        """Tell the user where the session is reached and who is there."""
        self._show(self.describe())

    @property
    def address(self) -> str | None:
        """Where this session takes messages, without a key; None while it is not shared."""
        return None if self._listening is None else self._listening.address

    @property
    def name(self) -> str:
        return self._name

    @property
    def sign(self) -> str:
        """A few words for the footer; empty while nothing is shared."""
        if self._shared is None:
            return ""
        people = len(self._shared.shared_session.people)
        return f"shared, {people} connected" if people else "shared"

    def describe(self) -> str:
        """The address with the key, and who is connected."""
        if self._listening is None or self._shared is None:
            return "This session is not shared. Share it with /remote-control."
        from bridle.frontends.remote.local_session import names_of

        there = names_of(self._shared.shared_session.people)
        return (
            f"Shared as {self._name}. Anyone with this address can see and control the session:\n"
            f"{self._listening.address}#{self._token}\n"
            f"{f'Connected: {there}.' if there else 'No one is connected.'} "
            "Stop sharing with /remote-control off."
        )

    def _let_answer(self, reply: tuple[str, str] | None) -> None:
        """Let sessions to which this one writes know where answers reach it."""
        team = None if self._attended is None else self._attended.runtime.features.find(TEAM)
        if team is not None:
            team.reply = reply

    def _make_shared(self, server: Server) -> "LocalSession":
        from bridle.features.teams.inbound import Inbound
        from bridle.frontends.remote.local_session import LocalSession, LocalSessionParts

        setup = self._setup
        inbound = Inbound(
            self._session,
            storage=lambda: server.runtime.records.storage,
            inbound=lambda: setup.config.settings.cross_session_inbound or "accept",
            deliver=server.submit,
            env=setup.env,
        )
        parts = LocalSessionParts(
            framer=lambda: self._framer(server), inbound=inbound, name=lambda: self._name
        )
        shared = LocalSession(self._session, server, parts)
        shared.shared_session.on_people = self._note_people
        return shared

    def _framer(self, server: Server) -> "Framer":
        from bridle.frontends.session_facts import facts_of, inventory_of, tells_agent_text
        from bridle.protocol.frames import Framer

        return Framer(
            facts_of(self._setup, self._session),
            partial=True,
            replay=True,
            inventory=lambda: inventory_of(server.runtime),
            agent_text=lambda: tells_agent_text(self._setup, server.runtime),
        )

    def _note_people(self, who: str | None) -> None:
        """Announce each client once: connections break and come back."""
        if who is not None and who not in self._seen and len(self._seen) < _MOST_NAMES and self._attended:
            self._seen.add(who)
            self._attended.runtime.channel.emit(Noticed(f"{who} is connected, by remote control.", "notice"))
        self._on_change()


def place_in(env: Mapping[str, str]) -> tuple[str, int]:
    """Where to listen: this machine alone and any free port, unless the user's environment says otherwise.

    Raises:
        UsageError: what it says is no place.
    """
    said = env.get("BRIDLE_REMOTE_LISTEN", "").strip()
    host, colon, port = said.rpartition(":")
    if not said:
        return "127.0.0.1", 0
    if not colon or not port.isdecimal() or int(port) > 65_535 or not host:
        raise UsageError("BRIDLE_REMOTE_LISTEN must be host:port, such as 127.0.0.1:8765.")
    return host.strip("[]"), int(port)


def usual_name(setup: Setup) -> str:
    """The default name of a shared session."""
    prefix = setup.options.remote_control_session_name_prefix or setup.env.get(_PREFIX)
    folder = os.path.basename(setup.cwd.rstrip("/")) or "session"
    return f"{(prefix or socket.gethostname())[:40]}-{folder}"[:_LONGEST_NAME]
