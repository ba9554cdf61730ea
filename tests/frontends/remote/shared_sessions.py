"""A room for tests: a list for what is done in it, and a server in front of it."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from bridle.features.teams.inbound import Inbound
from bridle.frontends.remote.access import new_token
from bridle.frontends.remote.http import Timeouts
from bridle.frontends.remote.server import RemoteServer
from bridle.frontends.remote.shared_session import SharedSession, SingleSession
from tests.fakes.remote import RemoteClient


class FakeActions:
    """Remembers what was wanted."""

    def __init__(self) -> None:
        self.done: list[tuple[str, ...]] = []
        self.refusal: Exception | None = None
        self.inbound: Inbound | None = None
        """Takes letters in, where that matters."""

    def prompt(self, text: str, *, id: str, who: str) -> Mapping[str, Any]:
        return self._do("prompt", text, id, who)

    def interrupt(self, *, who: str) -> Mapping[str, Any]:
        return self._do("interrupt", who)

    def set_mode(self, mode: str, *, who: str) -> Mapping[str, Any]:
        return self._do("mode", mode, who)

    async def letter(self, letter: Mapping[str, Any]) -> Mapping[str, Any]:
        if self.inbound is not None:
            return {"taken": True, "new": self.inbound.take(letter)}
        return self._do("letter", str(letter.get("text")))

    def _do(self, *words: str) -> Mapping[str, Any]:
        if self.refusal is not None:
            raise self.refusal
        self.done.append(words)
        return {"taken": True}


class Served:
    """A room that is served, and somebody with the key."""

    def __init__(
        self, shared_session: SharedSession, actions: FakeActions, server: RemoteServer, token: str
    ) -> None:
        self.shared_session = shared_session
        self.performed = actions
        self.server = server
        self.client = RemoteClient(server.port, token)

    @property
    def events(self) -> str:
        return f"/api/sessions/{self.shared_session.id}/events"

    @property
    def actions(self) -> str:
        return f"/api/sessions/{self.shared_session.id}/act"


@asynccontextmanager
async def served(timeouts: Timeouts | None = None) -> AsyncGenerator[Served]:
    """A server in front of a room in which nothing happens by itself."""
    actions, token = FakeActions(), new_token()
    shared_session = SharedSession("room-1", actions, name=lambda: "desk", state=lambda: {"mode": "default"})
    server = RemoteServer(SingleSession(shared_session), token, timeouts=timeouts)
    await server.open()
    try:
        yield Served(shared_session, actions, server, token)
    finally:
        await server.close()
