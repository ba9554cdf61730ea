"""The offline planner behind the interface of a model service."""

import asyncio
import re
import zlib
from collections.abc import AsyncIterator, Iterator
from typing import Any

from msgspec.json import encode

from bridle.providers.offline.conversation import read_conversation
from bridle.providers.offline.planner import plan
from bridle.providers.offline.procedure import Plan
from bridle.types.block import AssistantBlock, AssistantMessage, TextBlock, ToolUseBlock
from bridle.types.model import (
    BlockClosed,
    BlockOpened,
    Completed,
    ModelEvent,
    ModelRequest,
    Noted,
    PieceArrived,
    Started,
    TextArrived,
)

_CHARACTERS_PER_TOKEN = 4


class OfflineProvider:
    """Plans each answer from the conversation alone: nothing is remembered between two requests."""

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        answer = _answer(request, plan(read_conversation(request)))
        for event in _events(answer):
            yield event
            # After every word the answer can be shown, and an interrupt is seen.
            await asyncio.sleep(0)

    async def close(self) -> None:
        pass


def _answer(request: ModelRequest, chosen: Plan) -> AssistantMessage:
    history = request.history.messages
    newest = encode(history[-1:])
    # The ids depend on the conversation alone, so that the same conversation gives the same bytes.
    mark = f"{len(history)}_{zlib.crc32(newest):08x}"
    content: list[AssistantBlock] = []
    if chosen.text:
        content.append({"type": "text", "text": chosen.text})
    for number, call in enumerate(chosen.calls):
        block: ToolUseBlock = {
            "type": "tool_use",
            "id": f"toolu_offline_{mark}_{number}",
            "name": call.name,
            "input": call.input,
        }
        content.append(block)
    return {
        "id": f"msg_offline_{mark}",
        "type": "message",
        "role": "assistant",
        "model": request.model,
        "content": content,
        "stop_reason": "tool_use" if chosen.calls else "end_turn",
        "stop_sequence": None,
        "usage": {
            "input_tokens": _tokens(request.system) + _tokens(request.tools) + _tokens(history),
            "output_tokens": _tokens(content),
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
        },
    }


def _tokens(value: Any) -> int:
    return len(encode(value)) // _CHARACTERS_PER_TOKEN


def _events(answer: AssistantMessage) -> Iterator[ModelEvent]:
    opening: AssistantMessage = {
        **answer,
        "content": [],
        "stop_reason": None,
        "usage": {**answer["usage"], "output_tokens": 0},
    }
    yield Started(opening, encode({"type": "message_start", "message": opening}))
    for index, block in enumerate(answer["content"]):
        match block:
            case {"type": "text"}:
                yield from _text_events(index, block)
            case {"type": "tool_use"}:
                yield from _call_events(index, block)
            case _:
                raise AssertionError(f"a plan contains only text and calls, not {block['type']}")
    ending = {
        "type": "message_delta",
        "delta": {"stop_reason": answer["stop_reason"], "stop_sequence": None},
        "usage": {"output_tokens": answer["usage"]["output_tokens"]},
    }
    yield Noted(encode(ending))
    yield Completed(answer, encode({"type": "message_stop"}))


def _text_events(index: int, block: TextBlock) -> Iterator[ModelEvent]:
    empty: TextBlock = {"type": "text", "text": ""}
    yield BlockOpened(index, empty, _start(index, empty))
    for word in re.findall(r"\S+\s*|\s+", block["text"]):
        yield TextArrived(index, word, _delta(index, {"type": "text_delta", "text": word}))
    yield BlockClosed(index, block, _stop(index))


def _call_events(index: int, block: ToolUseBlock) -> Iterator[ModelEvent]:
    empty: ToolUseBlock = {**block, "input": {}}
    yield BlockOpened(index, empty, _start(index, empty))
    written = encode(block["input"]).decode()
    yield PieceArrived(index, _delta(index, {"type": "input_json_delta", "partial_json": written}))
    yield BlockClosed(index, block, _stop(index))


def _start(index: int, block: AssistantBlock) -> bytes:
    return encode({"type": "content_block_start", "index": index, "content_block": block})


def _delta(index: int, delta: dict[str, str]) -> bytes:
    return encode({"type": "content_block_delta", "index": index, "delta": delta})


def _stop(index: int) -> bytes:
    return encode({"type": "content_block_stop", "index": index})
