"""A room for tests: a list for what is done in it, and a server in front of it."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from bridle.engine.teams.inbound import Inbound
from bridle.frontends.remote.guard import new_token
from bridle.frontends.remote.room import Room
from bridle.frontends.remote.rooms import OneRoom
from bridle.frontends.remote.server import RemoteServer
from bridle.frontends.remote.wire import Pace
from tests.fakes.remote import RemoteClient


class FakeDeeds:
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

    def __init__(self, room: Room, deeds: FakeDeeds, server: RemoteServer, token: str) -> None:
        self.room = room
        self.deeds = deeds
        self.server = server
        self.client = RemoteClient(server.port, token)

    @property
    def events(self) -> str:
        return f"/api/sessions/{self.room.id}/events"

    @property
    def actions(self) -> str:
        return f"/api/sessions/{self.room.id}/act"


@asynccontextmanager
async def served(pace: Pace | None = None) -> AsyncGenerator[Served]:
    """A server in front of a room in which nothing happens by itself."""
    deeds, token = FakeDeeds(), new_token()
    room = Room("room-1", deeds, name=lambda: "desk", state=lambda: {"mode": "default"})
    server = RemoteServer(OneRoom(room), token, pace=pace)
    await server.open()
    try:
        yield Served(room, deeds, server, token)
    finally:
        await server.close()
