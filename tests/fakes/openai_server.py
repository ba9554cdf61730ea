"""OpenAI's two APIs as their public schema has them."""

import json
from typing import Any

from tests.fakes.model_server import Received, Said, Script, checked, cut, need, only, refusal

KEY = "test-key"
_CHAT_STOPS = {"end": "stop", "calls": "tool_calls", "length": "length", "filter": "content_filter"}


def _unauthorized(request: Received) -> Script | None:
    given = request.headers.get("authorization") or f"Bearer {request.headers.get('api-key')}"
    if given != f"Bearer {KEY}":
        return refusal(401, "Incorrect API key provided.", "invalid_api_key")
    return None


def _sse(value: Any) -> bytes:
    return b"data: " + json.dumps(value, ensure_ascii=False).encode() + b"\n\n"


class ChatApi:
    """`POST /chat/completions`."""

    stream_type = "text/event-stream; charset=utf-8"

    def problem(self, request: Received) -> Script | None:
        if request.method != "POST" or not request.path.endswith("/chat/completions"):
            return refusal(404, "Invalid URL", "invalid_request_error")
        return _unauthorized(request) or checked(lambda: _check_chat(request.body))

    def streams(self, request: Received) -> bool:
        return request.body.get("stream", False)

    def frames(self, said: Said) -> list[bytes]:
        deltas: list[Any] = [{"role": "assistant", "content": ""}]
        calls = 0
        for block in said.blocks:
            match block["type"]:
                case "text":
                    deltas += ({"content": part} for part in cut(block["text"], said.piece))
                case "thinking":
                    deltas += ({"reasoning_content": part} for part in cut(block["thinking"], said.piece))
                case _:
                    deltas += _call_deltas(calls, block, said.piece)
                    calls += 1
        chunks = [_chunk([{"index": 0, "delta": delta, "finish_reason": None}]) for delta in deltas]
        chunks.append(_chunk([{"index": 0, "delta": {}, "finish_reason": _CHAT_STOPS[said.stop]}]))
        chunks.append({**_chunk([]), "usage": _usage(said)})
        frames = [_sse(chunk) for chunk in chunks]
        middle = len(frames) // 2
        return [*frames[:middle], *said.extra, *frames[middle:], b"data: [DONE]\n\n"]

    def whole(self, said: Said) -> Any:
        message: dict[str, Any] = {"role": "assistant", "content": None}
        for block in said.blocks:
            match block["type"]:
                case "text":
                    message["content"] = block["text"]
                case "thinking":
                    message["reasoning_content"] = block["thinking"]
                case _:
                    message.setdefault("tool_calls", []).append(_tool_call(block))
        choice = {"index": 0, "message": message, "finish_reason": _CHAT_STOPS[said.stop]}
        return {**_chunk([choice]), "object": "chat.completion", "usage": _usage(said)}

    def error(self, status: int, message: str, code: str) -> Any:
        return {"error": {"message": message, "type": code, "param": None, "code": code}}


def _usage(said: Said) -> dict[str, Any]:
    return {
        "prompt_tokens": said.asked,
        "completion_tokens": 7,
        "total_tokens": said.asked + 7,
        "prompt_tokens_details": {"cached_tokens": 4},
        "completion_tokens_details": {"reasoning_tokens": 3},
    }


def _chunk(choices: list[Any]) -> dict[str, Any]:
    base = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "served"}
    return {**base, "choices": choices}


def _tool_call(block: dict[str, Any]) -> dict[str, Any]:
    function = {"name": block["name"], "arguments": json.dumps(block["input"], ensure_ascii=False)}
    return {"id": block["id"], "type": "function", "function": function}


def _call_deltas(index: int, block: dict[str, Any], piece: int) -> list[Any]:
    arguments = json.dumps(block["input"], ensure_ascii=False)
    opening = {"index": index, "id": block["id"], "type": "function"}
    first = {**opening, "function": {"name": block["name"], "arguments": ""}}
    rest = [{"index": index, "function": {"arguments": part}} for part in cut(arguments, piece)]
    return [{"tool_calls": [each]} for each in (first, *rest)]


def _check_chat(body: Any) -> None:
    only(
        body,
        "model messages stream stream_options max_tokens max_completion_tokens tools parallel_tool_calls "
        "reasoning_effort prompt_cache_key reasoning thinking chat_template_kwargs",
        "the request",
    )
    need(isinstance(body.get("model"), str), "model is missing")
    need("stream_options" not in body or body.get("stream"), "stream_options without stream")
    for tool in body.get("tools", []):
        only(tool, "type function", "a tool")
        only(tool["function"], "name description parameters strict", "a function")
        need(tool["function"]["parameters"].get("type") == "object", "parameters must be an object")
    open_calls: set[str] = set()
    for message in body["messages"]:
        if message["role"] == "tool":
            only(message, "role tool_call_id content", "a tool message")
            need(message["tool_call_id"] in open_calls, "a tool message answers no call before it")
            need(isinstance(message["content"], str), "the content of a tool message is not text")
            open_calls.discard(message["tool_call_id"])
            continue
        need(not open_calls, "calls have no tool message")
        if message["role"] == "assistant":
            only(
                message, "role content tool_calls reasoning_content reasoning reasoning_details", "an answer"
            )
            need(message.get("tool_calls") or message.get("content"), "an answer is empty")
            for call in message.get("tool_calls", []):
                only(call, "id type function", "a call")
                only(call["function"], "name arguments", "a function call")
                need(isinstance(json.loads(call["function"]["arguments"]), dict), "arguments are no object")
                open_calls.add(call["id"])
        else:
            need(message["role"] in ("system", "developer", "user"), f"role {message['role']}")
            only(message, "role content", "a message")
            _check_parts(message["content"])
    need(not open_calls, "calls have no tool message")


def _check_parts(content: Any) -> None:
    if isinstance(content, str):
        need(content, "content is empty")
        return
    for part in content:
        match part["type"]:
            case "text":
                only(part, "type text cache_control", "a text part")
            case "image_url":
                only(part, "type image_url", "an image part")
                need(part["image_url"]["url"].startswith(("data:image/", "https://")), "a bad image URL")
            case "file":
                only(part["file"], "filename file_data", "a file part")
            case other:
                need(False, f"a part of type {other}")


class ResponsesApi:
    """`POST /responses`."""

    stream_type = "text/event-stream"

    def problem(self, request: Received) -> Script | None:
        if request.method != "POST" or not request.path.endswith("/responses"):
            return refusal(404, "Invalid URL", "invalid_request_error")
        return _unauthorized(request) or checked(lambda: _check_responses(request.body))

    def streams(self, request: Received) -> bool:
        return request.body.get("stream", False)

    def frames(self, said: Said) -> list[bytes]:
        opening = {**self.whole(said), "output": [], "status": "in_progress", "usage": None}
        events: list[Any] = [
            {"type": "response.created", "response": opening},
            {"type": "response.in_progress", "response": opening},
        ]
        for place, block in enumerate(said.blocks):
            events += _item_events(place, block, said.piece)
        ended = "response.incomplete" if said.stop in ("length", "filter") else "response.completed"
        events.append({"type": ended, "response": self.whole(said)})
        frames = [
            f"event: {event['type']}\n".encode() + _sse({**event, "sequence_number": number})
            for number, event in enumerate(events)
        ]
        middle = len(frames) // 2
        return [*frames[:middle], *said.extra, *frames[middle:]]

    def whole(self, said: Said) -> Any:
        reasons = {"length": "max_output_tokens", "filter": "content_filter"}
        reason = reasons.get(said.stop)
        return {
            "id": "resp_1",
            "object": "response",
            "status": "incomplete" if reason else "completed",
            "incomplete_details": {"reason": reason} if reason else None,
            "error": None,
            "model": "served",
            "output": [_item(place, block) for place, block in enumerate(said.blocks)],
            "usage": {
                "input_tokens": said.asked,
                "input_tokens_details": {"cached_tokens": 4},
                "output_tokens": 7,
                "output_tokens_details": {"reasoning_tokens": 3},
                "total_tokens": said.asked + 7,
            },
        }

    def error(self, status: int, message: str, code: str) -> Any:
        return {"error": {"message": message, "type": code, "param": None, "code": code}}


def _item(place: int, block: dict[str, Any]) -> dict[str, Any]:
    match block["type"]:
        case "text":
            part = {"type": "output_text", "text": block["text"], "annotations": []}
            return {"id": f"msg_{place}", "type": "message", "role": "assistant", "status": "completed",
                    "content": [part]}  # fmt: skip
        case "thinking":
            summary = [{"type": "summary_text", "text": block["thinking"]}]
            return {
                "id": f"rs_{place}",
                "type": "reasoning",
                "summary": summary,
                "encrypted_content": "c2VhbGVk",
            }
        case _:
            arguments = json.dumps(block["input"], ensure_ascii=False)
            return {
                "id": f"fc_{place}",
                "type": "function_call",
                "status": "completed",
                "call_id": block["id"],
                "name": block["name"],
                "arguments": arguments,
            }


def _item_events(place: int, block: dict[str, Any], piece: int) -> list[Any]:
    item = _item(place, block)
    where = {"output_index": place, "item_id": item["id"]}
    match block["type"]:
        case "text":
            empty = {**item, "content": [], "status": "in_progress"}
            added = [
                {
                    "type": "response.content_part.added",
                    **where,
                    "content_index": 0,
                    "part": {"type": "output_text"},
                }
            ]
            deltas = [
                {
                    "type": "response.output_text.delta",
                    **where,
                    "content_index": 0,
                    "delta": part,
                    "logprobs": [],
                }
                for part in cut(block["text"], piece)
            ]
            done = [{"type": "response.output_text.done", **where, "content_index": 0, "text": block["text"]}]
        case "thinking":
            empty = {**item, "summary": [], "encrypted_content": None}
            added = [
                {"type": "response.reasoning_summary_part.added", **where, "summary_index": 0, "part": {}}
            ]
            deltas = [
                {"type": "response.reasoning_summary_text.delta", **where, "summary_index": 0, "delta": part}
                for part in cut(block["thinking"], piece)
            ]
            done = []
        case _:
            empty = {**item, "arguments": "", "status": "in_progress"}
            added = []
            deltas = [
                {"type": "response.function_call_arguments.delta", **where, "delta": part}
                for part in cut(item["arguments"], piece)
            ]
            done = [
                {"type": "response.function_call_arguments.done", **where, "arguments": item["arguments"]}
            ]
    opened = {"type": "response.output_item.added", "output_index": place, "item": empty}
    closed = {"type": "response.output_item.done", "output_index": place, "item": item}
    return [opened, *added, *deltas, *done, closed]


def _check_responses(body: Any) -> None:
    only(
        body,
        "model input instructions stream store include reasoning max_output_tokens tools parallel_tool_calls "
        "prompt_cache_key",
        "the request",
    )
    need(body.get("store") is False, "nothing may be stored")
    for tool in body.get("tools", []):
        only(tool, "type name description parameters strict", "a tool")
    open_calls: set[str] = set()
    items = body["input"]
    for place, item in enumerate(items):
        match item["type"]:
            case "message":
                only(item, "type role content phase", "a message")
                wanted = (
                    ("output_text",)
                    if item["role"] == "assistant"
                    else ("input_text", "input_image", "input_file")
                )
                for part in item["content"]:
                    need(part["type"] in wanted, f"{part['type']} in a message of {item['role']}")
            case "reasoning":
                only(item, "type id summary content encrypted_content", "reasoning")
                need(item.get("id") and item.get("encrypted_content"), "reasoning is not sealed")
                need(
                    place + 1 < len(items) and items[place + 1].get("role") != "user",
                    "reasoning leads nowhere",
                )
            case "function_call":
                only(item, "type call_id name arguments", "a call")
                need(isinstance(json.loads(item["arguments"]), dict), "arguments are no object")
                open_calls.add(item["call_id"])
            case "function_call_output":
                only(item, "type call_id output", "an output")
                need(item["call_id"] in open_calls, "an output answers no call")
                open_calls.discard(item["call_id"])
            case other:
                need(False, f"an item of type {other}")
    need(not open_calls, "calls have no output")
