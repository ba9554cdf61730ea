"""Gives answers and calls ids of their own where a service uses one twice."""

from typing import Any

import msgspec

from bridle.transcripts.session import Session
from bridle.types.model import BlockClosed, BlockOpened, Completed, ModelEvent, Started

_NAMELESS_ANSWER = "msg"
_NAMELESS_CALL = "call"


class UniqueIds:
    """Everything that follows goes by ids: which rows are one answer, and which result belongs to which call.

    Services behind other dialects may give each answer the same id, or count the calls of each answer from
    one. Events of one answer pass through here in their order; they stay as they are unless an id is taken.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._answer: str | None = None
        self._calls: dict[int, str] = {}

    def renamed(self, event: ModelEvent) -> ModelEvent:
        match event:
            case Started():
                return self._started(event)
            case BlockOpened(block={"type": "tool_use"}):
                return self._opened(event)
            case BlockClosed(index=index) if index in self._calls:
                block: Any = {**event.block, "id": self._calls[index]}
                return msgspec.structs.replace(event, block=block)
            case Completed() if self._answer is not None:
                message: Any = {**event.message, "id": self._answer}
                return msgspec.structs.replace(event, message=message)
            case _:
                return event

    def _started(self, event: Started) -> Started:
        self._answer, self._calls = None, {}
        given = event.message["id"]
        if (fresh := self._session.free_id(given or _NAMELESS_ANSWER)) == given:
            return event
        self._answer = fresh
        message: Any = {**event.message, "id": fresh}
        wire = _changed(event.wire, "message", fresh)
        return msgspec.structs.replace(event, message=message, wire=wire)

    def _opened(self, event: BlockOpened) -> BlockOpened:
        opened: Any = event.block
        if (fresh := self._session.free_id(opened["id"] or _NAMELESS_CALL)) == opened["id"]:
            return event
        self._calls[event.index] = fresh
        block: Any = {**opened, "id": fresh}
        return msgspec.structs.replace(event, block=block, wire=_changed(event.wire, "content_block", fresh))


def _changed(wire: bytes, part: str, identity: str) -> bytes:
    """An event of the stream with another id, for those who follow it."""
    event: dict[str, Any] = msgspec.json.decode(wire)
    return msgspec.json.encode({**event, part: {**event[part], "id": identity}})
