"""Reads the event streams of servers: data, names, ids to resume from, and pauses to keep."""

from msgspec import Struct

from bridle.mcp.errors import ConnectionLost
from bridle.mcp.transports.base import LONGEST_MESSAGE


class Event(Struct, frozen=True):
    data: bytes
    name: str = "message"


class EventReader:
    """Takes bytes as they arrive and gives back the events that became whole."""

    def __init__(self) -> None:
        self.last_id: str | None = None
        """The id of the newest event that had one: where a broken stream can be taken up again."""
        self.retry: float | None = None
        """Seconds to wait before a stream that ended is asked for again."""
        self._lines: list[bytes] = []
        self._rest = b""
        self._size = 0
        self._after_return = False

    def feed(self, chunk: bytes) -> list[Event]:
        """Every event that `chunk` completes.

        Raises:
            ConnectionLost: one event is larger than any real one.
        """
        if self._after_return and chunk.startswith(b"\n"):
            chunk = chunk[1:]
        if chunk:
            self._after_return = chunk.endswith(b"\r")
        self._size += len(chunk)
        if self._size > LONGEST_MESSAGE:
            raise ConnectionLost(f"the server sent an event of more than {LONGEST_MESSAGE >> 20} MiB")
        text = self._rest + chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        *lines, self._rest = text.split(b"\n")
        events: list[Event] = []
        for line in lines:
            if line:
                self._lines.append(line)
            elif (event := self._finish()) is not None:
                events.append(event)
        return events

    def _finish(self) -> Event | None:
        name, data = "message", list[bytes]()
        for line in self._lines:
            field, _, value = line.partition(b":")
            value = value.removeprefix(b" ")
            match field:
                case b"data":
                    data.append(value)
                case b"event":
                    name = value.decode("utf-8", "replace")
                case b"id" if b"\0" not in value:
                    self.last_id = value.decode("utf-8", "replace")
                case b"retry" if value.isdigit():
                    self.retry = int(value[:9]) / 1000
                case _:
                    pass  # Comments keep a connection alive; other fields mean nothing.
        self._lines = []
        self._size = len(self._rest)
        return Event(b"\n".join(data), name) if data else None
