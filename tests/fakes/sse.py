"""Server-sent events as the Messages API sends them, written with the standard library alone."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any


def message(*content: str | Mapping[str, Any], **fields: Any) -> dict[str, Any]:
    """An answer as the API returns it whole; a string is a text block."""
    blocks = [{"type": "text", "text": each} if isinstance(each, str) else dict(each) for each in content]
    called = any(block["type"] == "tool_use" for block in blocks)
    return {
        "id": "msg_fake",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-4-5",
        "content": blocks,
        "stop_reason": "tool_use" if called else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 12, "output_tokens": 7},
        **fields,
    }


def tool_use(name: str, /, id: str = "toolu_1", **input: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": name, "input": input}


def thinking(text: str, signature: str = "c2lnbmVk") -> dict[str, Any]:
    return {"type": "thinking", "thinking": text, "signature": signature}


def events_of(answer: Mapping[str, Any], *, piece: int = 8) -> Iterator[dict[str, Any]]:
    """The events that carry `answer`, text and input in pieces of `piece` characters."""
    opening = {**answer, "content": [], "stop_reason": None, "usage": {**answer["usage"], "output_tokens": 1}}
    yield {"type": "message_start", "message": opening}
    yield {"type": "ping"}
    for index, block in enumerate(answer["content"]):
        opened, deltas = _taken_apart(block, piece)
        yield {"type": "content_block_start", "index": index, "content_block": opened}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    ending = {"stop_reason": answer["stop_reason"], "stop_sequence": answer["stop_sequence"]}
    usage = {"output_tokens": answer["usage"]["output_tokens"]}
    yield {"type": "message_delta", "delta": ending, "usage": usage}
    yield {"type": "message_stop"}


def wire(events: Iterable[Mapping[str, Any]]) -> bytes:
    return b"".join(frame(event) for event in events)


def frame(event: Mapping[str, Any]) -> bytes:
    data = json.dumps(event, ensure_ascii=False, separators=(",", ":"))
    return f"event: {event['type']}\ndata: {data}\n\n".encode()


def error_event(type: str = "overloaded_error", message: str = "Overloaded") -> dict[str, Any]:
    return {"type": "error", "error": {"type": type, "message": message}}


def _taken_apart(block: Mapping[str, Any], piece: int) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    match block["type"]:
        case "text":
            pieces = [{"type": "text_delta", "text": part} for part in _cut(block["text"], piece)]
            return {**block, "text": ""}, pieces
        case "thinking":
            pieces = [{"type": "thinking_delta", "thinking": part} for part in _cut(block["thinking"], piece)]
            pieces.append({"type": "signature_delta", "signature": block["signature"]})
            return {**block, "thinking": "", "signature": ""}, pieces
        case "tool_use" | "server_tool_use":
            text = json.dumps(block["input"], ensure_ascii=False)
            pieces = [{"type": "input_json_delta", "partial_json": part} for part in ["", *_cut(text, piece)]]
            return {**block, "input": {}}, pieces
        case _:
            return dict(block), []


def _cut(text: str, size: int) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)]
