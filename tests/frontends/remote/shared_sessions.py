"""A room for tests: a list for what is done in it, and a server in front of it."""

from collections.abc import AsyncGenerator, Mapping, Sequence
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

    def end(self, *, who: str) -> Mapping[str, Any]:
        return self._do("end", who)

    def request(self, subtype: str, fields: Mapping[str, Any], *, who: str) -> Mapping[str, Any]:
        return self._do(subtype, *(str(each) for each in fields.values()), who)

    def archive(self, *, who: str) -> Mapping[str, Any]:
        return self._do("archive", who)

    async def letter(self, letter: Mapping[str, Any]) -> Mapping[str, Any]:
        if self.inbound is not None:
            return {"taken": True, "new": self.inbound.take(letter)}
        return self._do("letter", str(letter.get("text")))

    def _do(self, *words: str) -> Mapping[str, Any]:
        if self.refusal is not None:
            raise self.refusal
        self.done.append(words)
        return {"taken": True}


class _Several(SingleSession):
    def __init__(self, sessions: Sequence[SharedSession]) -> None:
        super().__init__(sessions[0])
        self._sessions = sessions

    def all(self) -> Sequence[SharedSession]:
        return self._sessions

    def find(self, id: str) -> SharedSession | None:
        return next((each for each in self._sessions if each.id == id), None)


class Served:
    """A room that is served, and somebody with the key."""

    def __init__(
        self, sessions: Sequence[SharedSession], actions: FakeActions, server: RemoteServer, token: str
    ) -> None:
        self.sessions = sessions
        self.shared_session = sessions[0]
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
async def served(timeouts: Timeouts | None = None, *, sessions: int = 1) -> AsyncGenerator[Served]:
    """A server in front of sessions in which nothing happens unasked."""
    actions, token = FakeActions(), new_token()
    shared = [
        SharedSession(f"room-{number}", actions, name=lambda: "desk", state=lambda: {"mode": "default"})
        for number in range(1, sessions + 1)
    ]
    server = RemoteServer(
        SingleSession(shared[0]) if sessions == 1 else _Several(shared), token, timeouts=timeouts
    )
    await server.open()
    try:
        yield Served(shared, actions, server, token)
    finally:
        await server.close()
