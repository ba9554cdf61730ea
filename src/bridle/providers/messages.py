"""The dialect of Anthropic's Messages API as other services speak it."""

from collections.abc import Sequence
from typing import Any

from msgspec import DecodeError
from msgspec.json import decode as from_json

from bridle.host.http.client import Request
from bridle.providers.anthropic_request import betas, cache_life, encode
from bridle.providers.anthropic_stream import Decoder, stream_of
from bridle.providers.assembly import unreadable
from bridle.providers.exchange import Place, Reading, SseReading, admitted_by_key
from bridle.providers.facts import Model
from bridle.types.errors import StreamBroken
from bridle.types.model import ModelEvent, ModelRequest

VERSION = "2023-06-01"


class MessagesDialect:
    """Speaks to any service that has `/v1/messages`."""

    def request(self, asked: ModelRequest, model: Model, place: Place) -> Request:
        quirks = place.vendor.quirks
        body = encode(
            asked,
            cache=cache_life(place.env, asked.model),
            experimental=quirks.experimental,
            served={"model": model.wire_name, "stream": asked.stream},
            images=model.images and quirks.images,
        )
        headers = [("anthropic-version", VERSION)]
        if wanted := betas(asked) if quirks.experimental else list(asked.betas):
            headers.append(("anthropic-beta", ",".join(wanted)))
        return Request("POST", f"{place.base}/v1/messages", tuple(headers), body)

    async def admitted(self, request: Request, place: Place) -> Request:
        return admitted_by_key(request, place)

    def reading(self, asked: ModelRequest, place: Place, request_id: str | None) -> Reading:
        return SseReading(MessagesDecoder(asked.model, request_id))


class MessagesDecoder:
    """The events of a Messages API stream, signed with the name that we know the model by."""

    __slots__ = ("_decoder",)

    def __init__(self, model: str, request_id: str | None) -> None:
        self._decoder = Decoder(request_id, model=model)

    def feed(self, data: bytes) -> Sequence[ModelEvent]:
        event = self._decoder.feed(data)
        return () if event is None else (event,)

    def finish(self) -> Sequence[ModelEvent]:
        return ()

    def whole(self, body: bytes) -> Sequence[ModelEvent]:
        try:
            message: Any = from_json(body)
        except (DecodeError, UnicodeDecodeError) as error:
            raise unreadable(error) from error
        if not isinstance(message, dict) or not isinstance(message.get("content"), list):
            raise StreamBroken("The service sent something that is not an answer; check its address.")
        return [event for data in stream_of(message) for event in self.feed(data)]
