"""Lets remote clients reach the session of this process: its channel, and the server while it is shared."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal

from bridle.engine.server import Server
from bridle.frontends.remote.channel import SharedChannel
from bridle.session.setup import Setup
from bridle.transcripts.session import Session
from bridle.types.channel import Channel
from bridle.types.errors import UsageError
from bridle.types.origin import TYPED, Origin
from bridle.types.question import Answer, Question

if TYPE_CHECKING:
    from bridle.frontends.remote.joining import HubConnection
    from bridle.frontends.remote.local_session import LocalSession
    from bridle.frontends.remote.server import RemoteServer
    from bridle.protocol.frames import Framer

_ID = "CLAUDE_CODE_BRIDGE_SESSION_ID"


class SessionListener:
    """Implements `types.services.remote.RemoteListener`."""

    def __init__(
        self,
        setup: Setup,
        session: Session,
        local: Channel,
        *,
        here: str,
        origin: Origin = TYPED,
        show: Callable[[str], None],
        hand_over: Callable[[str], str] | None = None,
        answered: Callable[[Question, Answer], None] = lambda _, __: None,
        on_change: Callable[[], None] = lambda: None,
    ) -> None:
        self._setup = setup
        self._session = session
        self._show = show
        self._hand_over = hand_over
        """Takes the address with its key where the screen is recorded, and returns how to see it."""
        self._shown_address = ""
        self._on_change = on_change
        self._attended: Server | None = None
        self._listening: tuple[RemoteServer, LocalSession] | None = None
        self._key = ""
        self._joined: HubConnection | None = None
        self.channel = SharedChannel(local, here=here, origin=origin, answered=answered)
        """What the session must report to and ask through."""

    def attend(self, server: Server) -> None:
        """From now on there is a session to share."""
        self._attended = server

    async def open(self, name: Callable[[], str], on_people: Callable[[str | None], None]) -> None:
        if self._attended is None:
            raise UsageError("The session has not started yet: try again in a moment.")
        from bridle.frontends.remote.access import listen_address, new_token
        from bridle.frontends.remote.server import RemoteServer
        from bridle.frontends.remote.shared_session import SingleSession

        env, self._key = self._setup.env, new_token()
        local = self._local_session(self._attended, name)
        local.shared_session.on_people = on_people
        host, port = listen_address(env)
        names = env.get("BRIDLE_REMOTE_HOSTS", "")
        server = RemoteServer(
            SingleSession(local.shared_session), self._key, listen=host, port=port, names=names
        )
        try:
            await server.open()
        except OSError as error:
            raise UsageError(f"Can't listen on {host}:{port}: {error.strerror or error}.") from error
        self._listening = server, local
        whole = f"{server.address or ''}#{self._key}"
        self._shown_address = whole if self._hand_over is None else self._hand_over(whole)
        env[_ID] = local.shared_session.id
        self.channel.share(local)

    async def close(self) -> None:
        if self._listening is None:
            return
        (server, local), self._listening, self._key = self._listening, None, ""
        self.channel.unshare(local)
        if self._hand_over is not None:
            self._hand_over("")
        local.shared_session.finish("The session is no longer shared.")
        self._setup.env.pop(_ID, None)
        await server.close()

    def join(self, name: Callable[[], str], *, waits: bool) -> None:
        if self._joined is not None:
            return
        if self._attended is None:
            raise UsageError("The session has not started yet: try again in a moment.")
        from bridle.frontends.remote.joining import HubConnection

        local = self._local_session(self._attended, name, waits=waits)
        self._joined = HubConnection(local, self._session.id, self._setup.env, on_change=self._on_change)
        self.channel.share(local)

    async def leave(self) -> None:
        joined, self._joined = self._joined, None
        if joined is not None:
            self.channel.unshare(joined.local)
            await joined.close()

    @property
    def hub(self) -> Literal["", "joining", "joined"]:
        if self._joined is None:
            return ""
        return "joined" if self._joined.is_connected else "joining"

    @property
    def address(self) -> str | None:
        return None if self._listening is None else self._listening[0].address

    @property
    def address_with_key(self) -> str:
        return self._shown_address

    @property
    def people(self) -> Sequence[str]:
        return () if self._listening is None else tuple(self._listening[1].shared_session.people)

    def show(self, text: str) -> None:
        self._show(text)

    def changed(self) -> None:
        self._on_change()

    def _local_session(
        self, server: Server, name: Callable[[], str], *, waits: bool = True
    ) -> "LocalSession":
        from bridle.features.teams.inbound import Inbound
        from bridle.frontends.remote.local_session import LocalSession, LocalSessionParts

        setup = self._setup
        inbound = Inbound(
            self._session,
            storage=lambda: server.runtime.records.storage,
            inbound=lambda: setup.config.settings.cross_session_inbound or "accept",
            deliver=server.submit,
            emit=self.channel.emit,
            env=setup.env,
        )
        parts = LocalSessionParts(
            framer=lambda: self._framer(server), inbound=inbound, name=name, waits=waits
        )
        return LocalSession(self._session, server, parts)

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
