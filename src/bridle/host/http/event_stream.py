"""Decodes server-sent events: the answers of models and the messages of MCP servers."""

from msgspec import Struct

_ENDS = (b"\n", b"\r")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class ServerEvent(Struct, frozen=True):
    data: bytes
    name: str = "message"


class EventSizeError(ValueError):
    """One event is larger than any real one."""


class EventDecoder:
    """Takes bytes as they arrive and returns the events that became whole."""

    __slots__ = (
        "_after_return", "_begun", "_begun_size", "_data", "_data_size", "_id", "_is_first", "_limit",
        "_name", "last_id", "retry",
    )  # fmt: skip

    def __init__(self, limit: int) -> None:
        self.last_id: str | None = None
        """The id of the newest event that had one: where a broken stream can be resumed."""
        self.retry: float | None = None
        """Seconds to wait before a stream that ended is requested again."""
        self._limit = limit
        """Bytes of one event, or of one line."""
        self.reset()

    def reset(self) -> None:
        """Forget the event that has begun, as at the start of another stream; `last_id` and `retry` stay."""
        self._begun: list[bytes] = []
        """The pieces of a line whose end has not come yet."""
        self._begun_size = 0
        self._data: list[bytes] = []
        self._data_size = 0
        self._name = b""
        self._id: bytes | None = None
        self._is_first = True
        self._after_return = False

    def feed(self, chunk: bytes) -> list[ServerEvent]:
        """Every event that `chunk` completes.

        Raises:
            EventSizeError: one event, or one line, is larger than the limit.
        """
        events: list[ServerEvent] = []
        for line in self._lines(chunk):
            if line.startswith(b"data:"):
                self._data.append(line[6:] if line.startswith(b" ", 5) else line[5:])
                self._data_size += len(line)
            elif line:
                self._take_field(line)
            else:
                self._end_event(events)
        if self._data_size + self._begun_size > self._limit:
            raise EventSizeError
        return events

    def finish(self) -> list[ServerEvent]:
        """The last event, where the stream ended without the blank line that should follow it.

        It may have been cut off. A reader that must have whole events does not call this.
        """
        events = self.feed(b"\n")
        self._end_event(events)
        self.reset()
        return events

    def _lines(self, chunk: bytes) -> list[bytes]:
        """The lines that `chunk` completes; CR, LF and CRLF end one, also CRLF in two chunks."""
        if self._after_return and chunk:
            self._after_return = False
            chunk = chunk.removeprefix(b"\n")
        # Bytes are split at these three ends and nowhere else.
        lines = chunk.splitlines()
        rest = b"" if chunk.endswith(_ENDS) or not lines else lines.pop()
        if lines:
            self._after_return = not rest and chunk.endswith(b"\r")
            self._complete(lines)
        if rest:
            self._begun.append(rest)
            self._begun_size += len(rest)
        return lines

    def _complete(self, lines: list[bytes]) -> None:
        """Put what earlier chunks had of the first line in front of it."""
        if self._begun:
            lines[0] = b"".join((*self._begun, lines[0]))
            self._begun = []
            self._begun_size = 0
        if self._is_first:
            self._is_first = False
            lines[0] = lines[0].removeprefix(_BYTE_ORDER_MARK)

    def _take_field(self, line: bytes) -> None:
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        match field:
            case b"event":
                self._name = value
            case b"data":
                self._data.append(value)
                self._data_size += len(line)
            case b"id" if b"\0" not in value:
                self._id = value
            case b"retry" if value.isdigit():
                self.retry = int(value[:9]) / 1000
            case _:
                pass  # Comments keep a connection alive; other fields mean nothing.

    def _end_event(self, events: list[ServerEvent]) -> None:
        if self._id is not None:
            self.last_id = self._id.decode("utf-8", "replace") or None
            self._id = None
        if self._data:
            data = self._data[0] if len(self._data) == 1 else b"\n".join(self._data)
            if self._name:
                events.append(ServerEvent(data, self._name.decode("utf-8", "replace")))
            else:
                events.append(ServerEvent(data))
        self._data = []
        self._data_size = 0
        self._name = b""
