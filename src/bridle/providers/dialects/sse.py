"""Reads server-sent events out of a byte stream, however it was cut."""

from collections.abc import Iterable, Sequence
from typing import Protocol

from bridle.types.errors import StreamBroken
from bridle.types.model import ModelEvent

_LIMIT = 64 * 1024 * 1024
"""Bytes of one event; a service that sends more is not sending events."""


class EventReader:
    """Takes bytes as they arrive and gives back the events that became whole, as (event, data)."""

    __slots__ = ("_after_return", "_fresh", "_parts", "_size")

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0
        self._after_return = False
        self._fresh = True

    def feed(self, chunk: bytes) -> list[tuple[str, bytes]]:
        """Every event that `chunk` completes.

        Raises:
            StreamBroken: one event is larger than any real one.
        """
        chunk = self._with_line_feeds(chunk)
        self._parts.append(chunk)
        self._size += len(chunk)
        if self._size > _LIMIT:
            raise StreamBroken(f"The service sent an event of more than {_LIMIT} bytes; check its address.")
        # An event ends with a blank line, so a chunk without a line feed cannot complete one.
        if b"\n" not in chunk:
            return []
        *whole, rest = self._joined().split(b"\n\n")
        self._parts = [rest]
        self._size = len(rest)
        return [event for block in whole if (event := _parse(block)) is not None]

    def finish(self) -> list[tuple[str, bytes]]:
        """The last event, when the stream ended without the blank line that should follow it."""
        event = _parse(self._joined())
        self._parts = []
        self._size = 0
        return [] if event is None else [event]

    def _joined(self) -> bytes:
        text = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
        if self._fresh and len(text) >= 3:
            self._fresh = False
            return text.removeprefix(b"\xef\xbb\xbf")
        return text

    def _with_line_feeds(self, chunk: bytes) -> bytes:
        """Line ends of any kind as line feeds, also when CR and LF come in two chunks."""
        if self._after_return and chunk:
            self._after_return = False
            chunk = chunk.removeprefix(b"\n")
        if b"\r" not in chunk:
            return chunk
        self._after_return = chunk.endswith(b"\r")
        return chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


def _parse(block: bytes) -> tuple[str, bytes] | None:
    event = "message"
    data: list[bytes] = []
    for line in block.split(b"\n"):
        field, _, value = line.partition(b":")
        if field == b"data":
            data.append(value.removeprefix(b" "))
        elif field == b"event":
            event = value.removeprefix(b" ").decode("utf-8", "replace")
    if not data:
        return None
    return event, data[0] if len(data) == 1 else b"\n".join(data)


class SseDecoder(Protocol):
    """Folds the data of server-sent events into model events."""

    def feed(self, data: bytes) -> Sequence[ModelEvent]: ...

    def finish(self) -> Sequence[ModelEvent]: ...

    def whole(self, body: bytes) -> Sequence[ModelEvent]: ...


class SseReading:
    """Reads a body of server-sent events."""

    __slots__ = ("_decoder", "_reader")

    def __init__(self, decoder: SseDecoder) -> None:
        self._decoder = decoder
        self._reader = EventReader()

    def feed(self, chunk: bytes) -> Iterable[ModelEvent]:
        for _, data in self._reader.feed(chunk):
            yield from self._decoder.feed(data)

    def finish(self) -> Iterable[ModelEvent]:
        for _, data in self._reader.finish():
            yield from self._decoder.feed(data)
        yield from self._decoder.finish()

    def whole(self, body: bytes) -> Iterable[ModelEvent]:
        return self._decoder.whole(body)
