"""The numbered events of a session: a client that reconnects gets exactly what it missed, in order."""

import asyncio
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from msgspec import Raw

from bridle.protocol.frames import encode
from bridle.types.entry import ConversationEntry
from bridle.types.ids import new_uuid

Frame = dict[str, Any]

_MOST_BYTES = 4_000_000
_MOST_LINES = 20_000
_MOST_KEPT_BYTES = 2_000_000
_MOST_KEPT = 500
_LARGEST_FRAME = 500_000
_KEPT = ("user", "assistant", "result")
_KEPT_NEWS = ("compact_boundary", "informational", "model_fallback", "permission_denied", "task_notification")
"""System frames that belong to the conversation; others say how things stood for a moment."""


class EventLog:
    """The newest frames as numbered lines, and the conversation so far for those who begin."""

    def __init__(self, *, most_bytes: int = _MOST_BYTES, most_lines: int = _MOST_LINES) -> None:
        self.epoch = new_uuid()
        """Numbers mean something only together with it."""
        self.last = 0
        self._most_bytes = most_bytes
        self._most_lines = most_lines
        self._lines: deque[bytes] = deque()
        self._size = 0
        self._kept: dict[str, bytes] = {}
        self._kept_size = 0
        self._dropped = False
        """Whether the conversation had more than is kept."""
        self._news = asyncio.Event()
        self.is_over = False
        """No line will follow."""

    def end(self) -> None:
        """No line will follow."""
        self.is_over = True
        self._wake()

    def restart(self, frames: Iterable[Frame]) -> None:
        """Restart with an existing conversation; clients that follow restart too."""
        self.epoch = new_uuid()
        self._lines.clear()
        self._kept.clear()
        self._size, self._kept_size, self._dropped = 0, 0, False
        for frame in frames:
            self._keep(frame, _encoded(frame))
        self._wake()

    def append(self, frame: Frame) -> None:
        """Add a frame, unless the conversation began with it."""
        uuid = frame.get("uuid")
        if isinstance(uuid, str) and uuid in self._kept and frame["type"] in ("user", "assistant"):
            return
        data = _encoded(frame)
        self.last += 1
        line = b'{"n":%d,"frame":%b}\n' % (self.last, data)
        self._lines.append(line)
        self._size += len(line)
        while self._size > self._most_bytes or len(self._lines) > self._most_lines:
            self._size -= len(self._lines.popleft())
        self._keep(frame, data)
        self._wake()

    def withdraw(self, uuids: tuple[str, ...]) -> None:
        """Forget frames of the conversation that were withdrawn."""
        for uuid in uuids:
            self._kept_size -= len(self._kept.pop(uuid, b""))

    def since(self, epoch: str, after: int, *, most: int) -> list[bytes] | None:
        """The lines behind a number, about `most` bytes of them; None when they are not all there."""
        first = self.last - len(self._lines) + 1
        if epoch != self.epoch or after > self.last or after + 1 < first:
            return None
        found: list[bytes] = []
        size = 0
        for index in range(after + 1 - first, len(self._lines)):
            if size >= most:
                break
            found.append(self._lines[index])
            size += len(self._lines[index])
        return found

    def snapshot(self, **beside: Any) -> bytes:
        """One line with the conversation so far; the next number continues from it."""
        frames = [Raw(data) for data in self._kept.values()]
        snapshot = {"frames": frames, "earlier": self._dropped, **beside}
        return encode({"n": self.last, "epoch": self.epoch, "snapshot": snapshot})

    async def changed(self, after: int) -> None:
        """Return as soon as there is a line behind this number, everything starts over, or ends."""
        epoch = self.epoch
        while self.last <= after and self.epoch == epoch and not self.is_over:
            await self._news.wait()

    def _wake(self) -> None:
        news, self._news = self._news, asyncio.Event()
        news.set()

    def _keep(self, frame: Frame, data: bytes) -> None:
        uuid = frame.get("uuid")
        lasting = frame["type"] in _KEPT or frame.get("subtype") in _KEPT_NEWS
        if not isinstance(uuid, str) or not lasting:
            return
        self._kept_size += len(data) - len(self._kept.pop(uuid, b""))
        self._kept[uuid] = data
        while len(self._kept) > _MOST_KEPT or self._kept_size > _MOST_KEPT_BYTES:
            self._kept_size -= len(self._kept.pop(next(iter(self._kept))))
            self._dropped = True


def conversation_frames(entries: Sequence[ConversationEntry], session_id: str) -> Iterator[Frame]:
    """The newest part of a conversation as frames."""
    for entry in entries[-_MOST_KEPT:]:
        if entry["type"] == "system" or (entry["type"] == "user" and entry.get("isMeta")):
            continue
        yield {
            "type": entry["type"],
            "message": entry["message"],
            "parent_tool_use_id": None,
            "session_id": session_id,
            "uuid": entry["uuid"],
            "timestamp": entry["timestamp"],
        }


def _encoded(frame: Frame) -> bytes:
    """A frame as JSON; content too large for a phone is replaced by a note."""
    data = encode(frame)[:-1]
    if len(data) <= _LARGEST_FRAME:
        return data
    data = encode({key: value for key, value in frame.items() if key != "tool_use_result"})[:-1]
    if len(data) <= _LARGEST_FRAME:
        return data
    kept = {key: frame[key] for key in ("type", "uuid", "session_id", "parent_tool_use_id") if key in frame}
    note = f"({len(data):,} bytes omitted; see the transcript)"
    message: Frame = {"role": frame["type"], "content": [_stub(block, note) for block in _blocks(frame)]}
    return encode({**kept, "message": message})[:-1]


def _blocks(frame: Frame) -> list[Any]:
    message = frame.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    return content[:20] if isinstance(content, list) else [{"type": "text"}]


def _stub(block: Any, note: str) -> Frame:
    """What is left of a block: enough to know which call it belongs to."""
    match block:
        case {"type": "tool_result", "tool_use_id": str(call_id)}:
            return {"type": "tool_result", "tool_use_id": call_id, "content": note}
        case {"type": "tool_use", "id": str(call_id), "name": str(name)}:
            return {"type": "tool_use", "id": call_id, "name": name, "input": {"": note}}
        case _:
            return {"type": "text", "text": note}


def digest(value: Any) -> str:
    """A name for exactly this value."""
    from hashlib import sha256

    return sha256(encode({"": value})).hexdigest()
