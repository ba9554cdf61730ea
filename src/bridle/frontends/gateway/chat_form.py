"""OpenAI's chat form at the entrance: requests become ours, and answers become chunks or a completion."""

import time
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from bridle.types.block import AssistantMessage
from bridle.types.model import BlockClosed, ModelEvent, TextArrived, ThinkingArrived
from bridle.types.usage import Usage

_FINISH = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "tool_use": "tool_calls",
    "refusal": "content_filter",
}


class BadRequest(ValueError):
    """The body is not what the dialect says."""


def to_messages(body: dict[str, Any]) -> dict[str, Any]:
    """A chat request in the form of the Messages API.

    Raises:
        BadRequest: something in it is not what it should be.
    """
    system: list[dict[str, Any]] = []
    messages: list[dict[str, Any]] = []
    for message in listed(body, "messages"):
        role = message.get("role")
        if role in ("system", "developer"):
            system += _text_blocks(message.get("content"))
        elif role == "user":
            _add(messages, "user", _parts(message.get("content")))
        elif role == "assistant":
            calls = [_call(each) for each in listed(message, "tool_calls")]
            content = _parts(message.get("content")) if message.get("content") else []
            _add(messages, "assistant", [*content, *calls])
        elif role == "tool":
            _add(messages, "user", [_result(message)])
        else:
            raise BadRequest(f"messages: unknown role {role!r}")
    limit = body.get("max_completion_tokens") or body.get("max_tokens")
    made: dict[str, Any] = {
        "model": body.get("model"),
        "messages": messages,
        "stream": bool(body.get("stream")),
    }
    if limit is not None:
        made["max_tokens"] = limit
    if system:
        made["system"] = system
    if tools := [_tool(each) for each in listed(body, "tools")]:
        made["tools"] = tools
    for name in ("temperature", "top_p"):
        if isinstance(body.get(name), int | float):
            made[name] = body[name]
    return made


def listed(body: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    """The objects of a field; nothing where it is not there.

    Raises:
        BadRequest: it is something else.
    """
    found = body.get(name) or []
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
        raise BadRequest(f"{name} must be a list of objects")
    return found


def _add(messages: list[dict[str, Any]], role: str, blocks: list[dict[str, Any]]) -> None:
    """Results of several calls belong into one message."""
    if messages and messages[-1]["role"] == role:
        messages[-1]["content"] += blocks
    elif blocks:
        messages.append({"role": role, "content": blocks})


def _text_blocks(content: Any) -> list[dict[str, Any]]:
    return [block for block in _parts(content) if block["type"] == "text"]


def _parts(content: Any) -> list[dict[str, Any]]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    if not isinstance(content, list):
        raise BadRequest("content must be text or a list of parts")
    return [_part(each) for each in content]


def _part(part: Any) -> dict[str, Any]:
    match part:
        case {"type": "text", "text": str() as text}:
            return {"type": "text", "text": text}
        case {"type": "image_url", "image_url": {"url": str() as url}}:
            if url.startswith("data:"):
                head, _, data = url.removeprefix("data:").partition(",")
                source = {"type": "base64", "media_type": head.partition(";")[0], "data": data}
            else:
                source = {"type": "url", "url": url}
            return {"type": "image", "source": source}
        case _:
            raise BadRequest("a part of content must be text or image_url")


def _call(call: Any) -> dict[str, Any]:
    match call:
        case {"id": str() as id, "function": {"name": str() as name, "arguments": str() as arguments}}:
            try:
                input = msgspec.json.decode(arguments or "{}")
            except (msgspec.MsgspecError, RecursionError) as error:
                raise BadRequest("tool_calls: arguments must be JSON") from error
            if isinstance(input, dict):
                return {"type": "tool_use", "id": id, "name": name, "input": input}
        case _:
            pass
    raise BadRequest("tool_calls: each needs id and function with name and arguments")


def _result(message: dict[str, Any]) -> dict[str, Any]:
    id = message.get("tool_call_id")
    if not isinstance(id, str):
        raise BadRequest("a tool message needs tool_call_id")
    return {"type": "tool_result", "tool_use_id": id, "content": _parts(message.get("content") or "")}


def _tool(tool: Any) -> dict[str, Any]:
    match tool:
        case {"type": "function", "function": {"name": str() as name} as function}:
            schema = function.get("parameters") or {"type": "object", "properties": {}}
            return {
                "name": name,
                "description": str(function.get("description") or ""),
                "input_schema": schema,
            }
        case _:
            raise BadRequest("tools: only functions are supported")


class ChatChunks:
    """Turns the events of an answer into chunks."""

    def __init__(self, id: str, model: str) -> None:
        self._head = {
            "id": f"chatcmpl-{id}",
            "object": "chat.completion.chunk",
            "created": int(time.time()),
            "model": model,
        }
        self._calls = 0
        self._opened = False

    def feed(self, event: ModelEvent) -> Iterator[bytes]:
        if not self._opened:
            self._opened = True
            yield self._chunk({"role": "assistant", "content": ""})
        match event:
            case TextArrived():
                yield self._chunk({"content": event.text})
            case ThinkingArrived():
                yield self._chunk({"reasoning_content": event.text})
            case BlockClosed() if event.block["type"] == "tool_use":
                yield self._chunk({"tool_calls": [{"index": self._calls, **_chat_call(event.block)}]})
                self._calls += 1
            case _:
                pass  # Nothing else has a place in a chunk.

    def finish(self, message: AssistantMessage, *, usage: bool) -> Iterator[bytes]:
        yield self._chunk({}, finish=_FINISH.get(message["stop_reason"] or "", "stop"))
        if usage:
            yield _sse({**self._head, "choices": [], "usage": _chat_usage(Usage.from_api(message["usage"]))})
        yield b"data: [DONE]\n\n"

    def _chunk(self, delta: dict[str, Any], finish: str | None = None) -> bytes:
        return _sse({**self._head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})


def completion(message: AssistantMessage, model: str) -> dict[str, Any]:
    """A whole answer in the chat form."""
    text = "".join(block["text"] for block in message["content"] if block["type"] == "text")
    calls = [_chat_call(block) for block in message["content"] if block["type"] == "tool_use"]
    said: dict[str, Any] = {"role": "assistant", "content": text or None}
    if calls:
        said["tool_calls"] = calls
    return {
        "id": f"chatcmpl-{message['id']}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": model,
        "choices": [
            {"index": 0, "message": said, "finish_reason": _FINISH.get(message["stop_reason"] or "", "stop")}
        ],
        "usage": _chat_usage(Usage.from_api(message["usage"])),
    }


def _chat_call(block: Any) -> dict[str, Any]:
    arguments = msgspec.json.encode(block["input"]).decode()
    return {
        "id": block["id"],
        "type": "function",
        "function": {"name": block["name"], "arguments": arguments},
    }


def _chat_usage(usage: Usage) -> dict[str, Any]:
    return {
        "prompt_tokens": usage.context,
        "completion_tokens": usage.output,
        "total_tokens": usage.context + usage.output,
        "prompt_tokens_details": {"cached_tokens": usage.cache_read},
    }


def _sse(value: dict[str, Any]) -> bytes:
    return b"data: " + msgspec.json.encode(value) + b"\n\n"
