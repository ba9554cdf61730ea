"""Reads an answer that comes as server-sent events, in any dialect."""

from collections.abc import Iterable, Sequence
from typing import Protocol

from bridle.host.http.event_stream import EventDecoder, EventSizeError
from bridle.types.errors import StreamBroken
from bridle.types.model import ModelEvent

_LIMIT = 64 * 1024 * 1024
"""Bytes of one event; a service that sends more is not sending events."""


class SseDecoder(Protocol):
    """Folds the data of server-sent events into model events."""

    def feed(self, data: bytes) -> Sequence[ModelEvent]: ...

    def finish(self) -> Sequence[ModelEvent]: ...

    def whole(self, body: bytes) -> Sequence[ModelEvent]: ...


class SseReading:
    """Reads a body of server-sent events.

    Raises:
        StreamBroken: one event is larger than any real one.
    """

    __slots__ = ("_decoder", "_events")

    def __init__(self, decoder: SseDecoder) -> None:
        self._decoder = decoder
        self._events = EventDecoder(_LIMIT)

    def feed(self, chunk: bytes) -> Iterable[ModelEvent]:
        try:
            events = self._events.feed(chunk)
        except EventSizeError as error:
            text = f"The service sent an event of more than {_LIMIT} bytes. Check its address."
            raise StreamBroken(text) from error
        for event in events:
            yield from self._decoder.feed(event.data)

    def finish(self) -> Iterable[ModelEvent]:
        for event in self._events.finish():
            yield from self._decoder.feed(event.data)
        yield from self._decoder.finish()

    def whole(self, body: bytes) -> Iterable[ModelEvent]:
        return self._decoder.whole(body)
