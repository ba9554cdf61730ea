"""What every provider owes its caller, whoever answers."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from bridle.providers.connect import home_provider
from bridle.providers.offline import OfflineProvider
from bridle.providers.retry import Retrying
from bridle.providers.scripted import ScriptedProvider, calls, says
from bridle.types.history import History
from bridle.types.model import (
    BlockClosed,
    BlockOpened,
    Completed,
    ModelEvent,
    ModelRequest,
    PieceArrived,
    Provider,
    Started,
    TextArrived,
    ThinkingArrived,
    ToolDefinition,
)
from tests.fakes.messages_server import MessagesServer, step

_TOOLS: tuple[ToolDefinition, ...] = tuple(
    {"name": name, "description": name, "input_schema": {"type": "object"}}
    for name in ("Glob", "Read", "Bash")
)
_CALL = {"type": "tool_use", "id": "toolu_1", "name": "Glob", "input": {"pattern": "*.py"}}


@asynccontextmanager
async def _scripted(streamed: bool) -> AsyncGenerator[Provider, None]:
    yield ScriptedProvider([says("Looking around.", calls("Glob", pattern="*.py"), thinking="Hm.")])


@asynccontextmanager
async def _offline(streamed: bool) -> AsyncGenerator[Provider, None]:
    yield OfflineProvider()


@asynccontextmanager
async def _anthropic(streamed: bool) -> AsyncGenerator[Provider, None]:
    thinking = {"type": "thinking", "thinking": "Hm.", "signature": "abc="}
    async with MessagesServer([step(thinking, "Looking around.", _CALL)]) as server:
        yield home_provider({"ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": "k"})


@asynccontextmanager
async def _retrying(streamed: bool) -> AsyncGenerator[Provider, None]:
    async with _anthropic(streamed) as provider:
        yield Retrying(provider)


_PROVIDERS = {"scripted": _scripted, "offline": _offline, "anthropic": _anthropic, "retrying": _retrying}


@pytest.fixture(params=[(name, streamed) for name in _PROVIDERS for streamed in (True, False)], ids=str)
async def events(request: pytest.FixtureRequest, tmp_path: Path) -> list[ModelEvent]:
    name, streamed = request.param
    asked = ModelRequest(
        model="offline" if name == "offline" else "claude-sonnet-4-5",
        history=History.of({"role": "user", "content": "list the python files"}),
        tools=_TOOLS,
        max_tokens=1000,
        stream=streamed,
    )
    async with _PROVIDERS[name](streamed) as provider:
        found = [event async for event in provider.stream(asked)]
        await provider.close()
        await provider.close()
    return found


def test_stream_begins_with_one_start_and_ends_with_one_completion(events: list[ModelEvent]):
    assert isinstance(events[0], Started) and isinstance(events[-1], Completed)
    assert [type(event) for event in events].count(Started) == 1
    assert [type(event) for event in events].count(Completed) == 1


def test_closed_blocks_are_the_content_of_the_answer(events: list[ModelEvent]):
    message = _completed(events).message
    assert [event.block for event in events if isinstance(event, BlockClosed)] == message["content"]
    assert [event.index for event in events if isinstance(event, BlockClosed)] == list(
        range(len(message["content"]))
    )


def test_blocks_open_before_they_grow_and_grow_before_they_close(events: list[ModelEvent]):
    order = {BlockOpened: 0, TextArrived: 1, ThinkingArrived: 1, PieceArrived: 1, BlockClosed: 2}
    steps = [(event.index, order[type(event)]) for event in events if isinstance(event, tuple(order))]
    assert steps == sorted(steps) and all(later[1] - earlier[1] <= 2 for earlier, later in pairwise(steps))


def test_text_that_arrived_is_the_text_of_the_answer(events: list[ModelEvent]):
    arrived = "".join(event.text for event in events if isinstance(event, TextArrived))
    said = "".join(
        block["text"] for block in _completed(events).message["content"] if block["type"] == "text"
    )
    assert arrived == said and said


def test_every_event_can_be_shown_as_a_messages_api_event(events: list[ModelEvent]):
    kinds: list[Any] = [json.loads(getattr(event, "wire", b"{}")).get("type") for event in events]
    assert kinds[0] == "message_start" and kinds[-1] == "message_stop"
    assert kinds.count("content_block_start") == kinds.count("content_block_stop")


def test_answer_says_who_it_is_from_why_it_ended_and_what_it_used(events: list[ModelEvent]):
    message = _completed(events).message
    assert message["role"] == "assistant" and message["id"] and message["model"]
    assert message["stop_reason"] == "tool_use"
    assert message["usage"]["output_tokens"] > 0


def _completed(events: list[ModelEvent]) -> Completed:
    last = events[-1]
    assert isinstance(last, Completed)
    return last
