"""The one session that a session shares: itself."""

from collections.abc import Mapping, Sequence
from typing import Any

from bridle.frontends.remote.faults import Declined
from bridle.frontends.remote.room import Room


class OneRoom:
    """Implements `server.Rooms`."""

    opens = False

    def __init__(self, room: Room) -> None:
        self._room = room

    def all(self) -> Sequence[Room]:
        return (self._room,)

    def find(self, id: str) -> Room | None:
        return self._room if id == self._room.id else None

    async def open(self, wish: Mapping[str, Any], who: str) -> Room:
        del wish, who
        raise Declined(405, "This is one session: bridle remote-control starts others.")
