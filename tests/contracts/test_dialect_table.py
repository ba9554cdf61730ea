"""The table of dialects and behaviors: each has each, or the table says why not."""

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any

import pytest

from bridle.providers import catalog
from bridle.providers.connect import Providers
from bridle.providers.http_provider import HttpProvider, Reading
from bridle.providers.routes import vendor_of
from bridle.types.errors import ProviderError, StreamBroken
from bridle.types.history import History
from bridle.types.model import BlockClosed, Completed, ModelRequest, TextArrived, Thinking, ThinkingArrived
from tests.fakes.dialects import CASES, TOOLS, Bench, blocks_of, plain
from tests.fakes.model_server import ModelServer, Said, answer, call, refusal, text, thought

_PIXEL = "aGVsbG8gcGl4ZWw="


async def _text(bench: Bench) -> None:
    events = await bench.ask(answer("Grüße, 世界 🙂", piece=3))
    assert "".join(event.text for event in events if isinstance(event, TextArrived)) == "Grüße, 世界 🙂"
    assert blocks_of(events) == [{"type": "text", "text": "Grüße, 世界 🙂"}]


async def _tools(bench: Bench) -> None:
    events = await bench.ask(answer("Reading.", call("Read", "c1", file_path="/ä")))
    assert blocks_of(events)[1] == _call("c1", "Read", file_path="/ä")
    assert _completed(events)["stop_reason"] == "tool_use"
    await _send_back(bench, events, {"c1": "found"})
    assert "found" in bench.server.requests[-1].raw.decode()


async def _parallel_tools(bench: Bench) -> None:
    calls = (call("Read", "c1", file_path="/a"), call("Read", "c2", file_path="/b"), call("Stop", "c3"))
    events = await bench.ask(answer(*calls))
    assert blocks_of(events) == [
        _call("c1", "Read", file_path="/a"),
        _call("c2", "Read", file_path="/b"),
        _call("c3", "Stop"),
    ]
    await _send_back(bench, events, {"c1": "one", "c2": "two", "c3": "three"})
    sent = bench.server.requests[-1].raw.decode()
    assert sent.index("one") < sent.index("two") < sent.index("three")


async def _images(bench: Bench) -> None:
    source = {"type": "base64", "media_type": "image/png", "data": _PIXEL}
    content = [{"type": "text", "text": "look"}, {"type": "image", "source": source}]
    await bench.ask(answer("A pixel."), bench.request({"role": "user", "content": content}))
    sent = bench.server.requests[-1].raw.decode()
    if "images" in WITHOUT.get(bench.name, {}):
        assert _PIXEL not in sent and "was omitted" in sent
    else:
        assert _PIXEL in sent


async def _thinking(bench: Bench) -> None:
    asked = bench.request(thinking=Thinking("enabled", 1024))
    events = await bench.ask(answer(thought("Let me look."), "Ok.", call("Stop", "c1")), asked)
    assert "".join(event.text for event in events if isinstance(event, ThinkingArrived)) == "Let me look."
    assert blocks_of(events)[0] == {"type": "thinking", "thinking": "Let me look."}
    await _send_back(bench, events, {"c1": "done"})
    kept = any(mark in bench.server.requests[-1].raw.decode() for mark in _SEALS)
    assert kept is ("thinking replayed" not in WITHOUT.get(bench.name, {}))


_SEALS = ("Let me look.", "c2ln")
"""What stands for a thought in a request: itself, or its signature in whatever field."""


async def _errors(bench: Bench) -> None:
    for status, kind in {403: "authentication_failed", 404: "model_not_found", 500: "server_error"}.items():
        error = await bench.fail(refusal(status, "No."))
        assert (error.kind, error.retryable) == (kind, status >= 500)
        assert "\n" not in str(error)
    provider = Providers(bench.case.variables("http://127.0.0.1:9"), bench.case.entries("http://127.0.0.1:9"))
    with pytest.raises(ProviderError, match=r"127\.0\.0\.1:9"):
        _ = [event async for event in provider.stream(bench.request())]
    await provider.close()


async def _cuts_at_every_byte(bench: Bench) -> None:
    said = Said((thought("Hm, ö."), text("Two → 🙂."), call("Read", "c1", path="/ä")), "calls", 4, ())
    body = b"".join(bench.server.api.frames(said))
    whole, ended = _read(_reading(bench), body)
    assert ended and [block["type"] for block in whole] == ["thinking", "text", "tool_use"]
    for cut in range(len(body)):
        found, ended = _read(_reading(bench), body[:cut])
        assert found == (whole if ended else whole[: len(found)])


async def _limits(bench: Bench) -> None:
    error = await bench.fail(refusal(429, "slow down", headers={"retry-after": "7"}))
    assert (error.kind, error.retryable, error.retry_after) == ("rate_limit", True, 7.0)
    words = "prompt is too long: maximum context length is 8192 tokens"
    error = await bench.fail(refusal(400, words, "context_length_exceeded"))
    assert error.is_prompt_too_long and not error.retryable
    events = await bench.ask(answer("Hi", stop="length"))
    assert _completed(events)["stop_reason"] == "max_tokens"


async def _cancellation(bench: Bench) -> None:
    frames = bench.server.api.frames(Said((text("Hello, this is long."),), "end", 2, ()))
    half = sum(map(len, frames[: len(frames) // 2]))
    bench.server.script(answer("Hello, this is long.", piece=2, silent_after=half))
    heard = asyncio.Event()

    async def listen() -> None:
        async for event in bench.provider.stream(bench.request()):
            if isinstance(event, TextArrived):
                heard.set()

    async with asyncio.timeout(50):
        task = asyncio.create_task(listen())
        await heard.wait()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await bench.server.hung_up.wait()
    assert task.cancelled()
    assert blocks_of(await bench.ask(answer("Again."))) == [{"type": "text", "text": "Again."}]


BEHAVIORS: Mapping[str, Callable[[Bench], Awaitable[None]]] = {
    "text": _text,
    "tools": _tools,
    "parallel tools": _parallel_tools,
    "images": _images,
    "thinking": _thinking,
    "errors": _errors,
    "cuts at every byte": _cuts_at_every_byte,
    "limits": _limits,
    "cancellation": _cancellation,
}
_NO_REPLAY = "Chat Completions at OpenAI and Azure takes no reasoning back"
WITHOUT: Mapping[str, Mapping[str, str]] = {
    "chat": {"thinking replayed": _NO_REPLAY},
    "azure": {"thinking replayed": _NO_REPLAY},
    "messages": {"images": "MiniMax takes no images: a note stands in their place"},
}
"""What a vendor does not have, and why; its behavior is then checked to be the way out."""


@pytest.fixture(params=CASES)
async def bench(request: pytest.FixtureRequest) -> AsyncGenerator[Bench, None]:
    async with ModelServer(CASES[request.param].api()) as server:
        made = Bench(request.param, server)
        yield made
        await made.made.close()


@pytest.mark.parametrize("behavior", BEHAVIORS)
async def test_each_dialect_has_each_behavior(bench: Bench, behavior: str):
    await BEHAVIORS[behavior](bench)


def test_the_table_has_every_dialect_that_there_is():
    spoken: set[str] = set()
    for case in CASES.values():
        model = catalog.find(case.model, case.entries("http://x"))
        spoken.add(vendor_of(model, model.vendor, case.variables("http://x")).dialect)
    assert spoken == set(catalog.DIALECTS) - {"offline"}
    assert set(WITHOUT) <= set(CASES)


async def _send_back(bench: Bench, events: list[Any], results: Mapping[str, str]) -> None:
    """Answer the calls and ask on; the server checks that all of it is well formed."""
    message = _completed(events)
    history = History.of({"role": "user", "content": "look"})
    history.add({"role": "assistant", "content": message["content"]}, origin=bench.case.model)
    blocks: Any = [
        {"type": "tool_result", "tool_use_id": identity, "content": said}
        for identity, said in results.items()
    ]
    history.add({"role": "user", "content": blocks})
    asked = ModelRequest(
        model=bench.case.model,
        history=history,
        tools=TOOLS,
        max_tokens=2000,
        thinking=Thinking("enabled", 1024),
        session_id="s1",
    )
    assert blocks_of(await bench.ask(answer("Done."), asked)) == [{"type": "text", "text": "Done."}]


def _reading(bench: Bench) -> Reading:
    provider = bench.made.of(bench.case.model)
    assert isinstance(provider, HttpProvider)
    return provider._dialect.reading(bench.request(), provider._place, None)


def _read(reading: Reading, body: bytes) -> tuple[list[Any], bool]:
    """The whole blocks of a body, and whether it came to its end."""
    events = list(reading.feed(body))
    if not events or not isinstance(events[-1], Completed):
        # Half an event at the end is told as a broken stream.
        with suppress(StreamBroken):
            events += reading.finish()
    closed = [event for event in events if isinstance(event, BlockClosed)]
    assert all(event.flaw is None for event in closed)
    return [plain(event.block) for event in closed], bool(events) and isinstance(events[-1], Completed)


def _call(identity: str, name: str, **given: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": identity, "name": name, "input": json.loads(json.dumps(given))}


def _completed(events: list[Any]) -> Any:
    last = events[-1]
    assert isinstance(last, Completed)
    return last.message
