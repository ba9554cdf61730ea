"""Measures what each dialect takes to decode 20,000 deltas, against the first one in the same run."""

import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from bridle.host.http.event_stream import EventDecoder
from bridle.providers import vendors
from bridle.providers.dialects.bedrock import EventStreamReading
from bridle.providers.dialects.chat_stream import Decoder as ChatDecoder
from bridle.providers.dialects.gemini_stream import Decoder as GeminiDecoder
from bridle.providers.dialects.messages import MessagesDecoder
from bridle.providers.dialects.messages_stream import Decoder as FirstDecoder
from bridle.providers.dialects.responses_stream import Decoder as ResponsesDecoder
from bridle.providers.dialects.sse import SseReading
from bridle.providers.http_provider import Reading
from bridle.providers.vendor import Vendor
from bridle.types.model import Completed, TextArrived
from tests.fakes.bedrock_server import BedrockApi, MessagesApi
from tests.fakes.converse_server import ConverseApi
from tests.fakes.gemini_server import GeminiApi
from tests.fakes.model_server import Api, Said, text
from tests.fakes.openai_server import ChatApi, ResponsesApi

_DELTAS = 20_000
_AIM = 1.3
_FRAMES_IN_A_READ = 8
_SAID = Said((text("some words " * _DELTAS),), "end", 11, ())


def main() -> None:
    vendor = vendors.find("openai")
    assert vendor is not None
    streams = {name: _reads(api) for name, api in _APIS.items()}
    for name, decode in _decoders(vendor).items():
        decode(streams[name])
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 7
    seconds: dict[str, list[float]] = {name: [] for name in _APIS}
    for _ in range(rounds):
        # Interleaved, so that the noise of the machine hits all.
        for name, decode in _decoders(vendor).items():
            began = time.process_time()
            count = decode(streams[name])
            seconds[name].append(time.process_time() - began)
            assert count == _DELTAS, f"{name} gave {count} deltas"
    first = min(seconds["anthropic"])
    missed = False
    for name, taken in seconds.items():
        ratio = min(taken) / first
        missed = missed or ratio > _AIM
        shown = f"{statistics.median(taken) * 1000:8.1f} ms median {min(taken) * 1000:8.1f} ms best"
        print(f"{name:<12}{shown}  ratio {ratio:5.2f}  aim {_AIM:g} {'met' if ratio <= _AIM else 'MISSED'}")
    sys.exit(missed)


_APIS: dict[str, Api] = {
    "anthropic": MessagesApi(),
    "messages": MessagesApi(),
    "chat": ChatApi(),
    "responses": ResponsesApi(),
    "gemini": GeminiApi(),
    "bedrock": BedrockApi(),
    "converse": ConverseApi(),
}


def _decoders(vendor: Vendor) -> dict[str, Callable[[list[bytes]], int]]:
    return {
        "anthropic": _first,
        "messages": lambda reads: _read(SseReading(MessagesDecoder("m", None)), reads),
        "chat": lambda reads: _read(SseReading(ChatDecoder("m", vendor)), reads),
        "responses": lambda reads: _read(SseReading(ResponsesDecoder("m", vendor)), reads),
        "gemini": lambda reads: _read(SseReading(GeminiDecoder("m", vendor)), reads),
        "bedrock": lambda reads: _read(EventStreamReading("m", vendor, None), reads),
        "converse": lambda reads: _read(EventStreamReading("m", vendor, None), reads),
    }


def _first(reads: list[bytes]) -> int:
    events, decoder = EventDecoder(1 << 26), FirstDecoder()
    count = 0
    for chunk in reads:
        for event in events.feed(chunk):
            count += isinstance(decoder.feed(event.data), TextArrived)
    assert decoder.completed
    return count


def _read(reading: Reading, reads: list[bytes]) -> int:
    count = 0
    last = None
    for chunk in reads:
        for last in reading.feed(chunk):
            count += isinstance(last, TextArrived)
    ended = [last, *reading.finish()]
    assert isinstance(ended[-1], Completed)
    return count


def _reads(api: Api) -> list[bytes]:
    frames = api.frames(_SAID)
    return [
        b"".join(frames[start : start + _FRAMES_IN_A_READ])
        for start in range(0, len(frames), _FRAMES_IN_A_READ)
    ]


if __name__ == "__main__":
    main()
