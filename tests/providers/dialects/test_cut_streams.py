"""A real answer over a real connection that ends after any number of its bytes."""

import asyncio
from typing import Any

import pytest

from bridle.providers.connect import home_provider
from bridle.providers.retry import Retrying
from bridle.types.errors import StreamBroken
from bridle.types.history import History
from bridle.types.model import BlockClosed, Completed, ModelRequest, Restarted
from tests.fakes import sse
from tests.fakes.messages_server import MessagesServer, Step, step

ANSWER = [
    sse.thinking("Look.", "c2ln"),
    "Two files.",
    sse.tool_use("Read", "toolu_1", file_path="/a"),
    sse.tool_use("Glob", "toolu_2", pattern="*"),
]
BLOCKS: list[Any] = sse.message(*ANSWER)["content"]
FIXED = {"id": "msg_1", "model": "claude-sonnet-4-5"}
EVENTS = list(sse.events_of(sse.message(*ANSWER, **FIXED), piece=12))
FRAMES = [sse.frame(event) for event in EVENTS]


ENDS = [sum(map(len, FRAMES[:number])) for number in range(len(FRAMES) + 1)]
"""After how many bytes an event is whole: there, and a few bytes before and after, something changes."""


@pytest.mark.parametrize("every", [19, pytest.param(1, marks=pytest.mark.soak)])
async def test_wherever_a_stream_is_cut_it_is_taken_up_again_or_reported_with_what_was_whole(every: int):
    near = {end + shift for end in ENDS for shift in range(-4, 3)}
    cuts = sorted({*near, *range(0, ENDS[-1], every)} & {*range(ENDS[-1] + 1)})
    async with MessagesServer() as server:
        for cut in cuts:
            made = step(*ANSWER, message=FIXED, piece=12, framing="close", close_after=cut)
            await check(server, made, cut)
        assert server.left == 0


async def test_a_stream_cut_within_its_chunks_is_no_different():
    wire = b"".join(b"%x\r\n%s\r\n" % (len(frame), frame) for frame in FRAMES) + b"0\r\n\r\n"
    async with MessagesServer() as server:
        for cut in range(0, len(wire), 17):
            made = step(*ANSWER, message=FIXED, piece=12, close_after=cut)
            arrived = wire[:cut]
            whole = [sum(map(len, FRAMES[:n])) for n, frame in enumerate(FRAMES, 1) if frame[:-2] in arrived]
            await check(server, made, max(whole, default=0))


async def check(server: MessagesServer, made: Step, cut: int) -> None:
    server.script([made, step("Again.")])
    provider = home_provider({"ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": "key"})
    kept: list[Any] = []
    completed: Any = None
    broken = False
    try:
        async with asyncio.timeout(50):
            async for event in Retrying(provider, sleep=skip).stream(request()):
                match event:
                    case BlockClosed():
                        assert event.flaw is None
                        kept.append(event.block)
                    case Restarted():
                        kept.clear()
                    case Completed():
                        completed = event.message["content"]
                    case _:
                        pass
    except StreamBroken:
        broken = True
    await provider.close()
    whole = closed_within(cut)
    if cut >= sum(map(len, FRAMES)) - 2:
        assert (completed, kept) == (BLOCKS, BLOCKS)
        server.script([])
    elif whole <= 1:
        assert completed == kept == [{"type": "text", "text": "Again."}]
    else:
        assert (broken, completed, kept) == (True, None, BLOCKS[:whole])
        server.script([])


def closed_within(cut: int) -> int:
    """How many blocks are whole after this many bytes; the blank line after an event adds nothing to it."""
    closed = end = 0
    for event, frame in zip(EVENTS, FRAMES, strict=True):
        end += len(frame)
        closed += event["type"] == "content_block_stop" and cut >= end - 2
    return closed


def request() -> ModelRequest:
    history = History.of({"role": "user", "content": "x"})
    return ModelRequest(model="claude-sonnet-4-5", history=history, max_tokens=100)


async def skip(_: float) -> None:
    pass
