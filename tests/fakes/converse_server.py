"""Bedrock's Converse as its public schema has it."""

import json
import re
from typing import Any

from bridle.providers.dialects.aws_event_stream import write
from tests.fakes.bedrock_server import is_signed
from tests.fakes.model_server import Received, Said, Script, checked, cut, need, only, refusal

_STOPS = {"end": "end_turn", "calls": "tool_use", "length": "max_tokens", "filter": "content_filtered"}
_BLOCKS = {"text", "image", "document", "toolUse", "toolResult", "reasoningContent", "cachePoint"}


class ConverseApi:
    """`POST /model/x/converse-stream`; the signature is checked."""

    stream_type = "application/vnd.amazon.eventstream"

    def problem(self, request: Received) -> Script | None:
        if re.fullmatch(r"/model/[^/]+/converse(-stream)?", request.path) is None:
            return refusal(404, "not found", "ResourceNotFoundException")
        if not is_signed(request):
            text = "The security token included in the request is invalid."
            return refusal(403, text, "UnrecognizedClientException")
        return checked(lambda: _check(request.body))

    def streams(self, request: Received) -> bool:
        return request.path.endswith("-stream")

    def frames(self, said: Said) -> list[bytes]:
        frames = [_framed("messageStart", {"role": "assistant"})]
        for place, block in enumerate(said.blocks):
            frames += _block_frames(place, block, said.piece)
        frames.append(_framed("messageStop", {"stopReason": _STOPS[said.stop]}))
        frames.append(_framed("metadata", {"usage": _usage(said), "metrics": {"latencyMs": 5}}))
        middle = len(frames) // 2
        return [*frames[:middle], *said.extra, *frames[middle:]]

    def whole(self, said: Said) -> Any:
        content = [_whole(block) for block in said.blocks]
        message = {"role": "assistant", "content": content}
        return {"output": {"message": message}, "stopReason": _STOPS[said.stop], "usage": _usage(said)}

    def error(self, status: int, message: str, code: str) -> Any:
        return {"message": message, "__type": code}


def _usage(said: Said) -> dict[str, int]:
    return {
        "inputTokens": said.asked - 4,
        "outputTokens": 7,
        "totalTokens": said.asked + 7,
        "cacheReadInputTokens": 4,
        "cacheWriteInputTokens": 0,
    }


def _block_frames(place: int, block: dict[str, Any], piece: int) -> list[bytes]:
    frames: list[bytes] = []
    deltas: list[dict[str, Any]] = []
    match block["type"]:
        case "text":
            deltas = [{"text": part} for part in cut(block["text"], piece)]
        case "thinking":
            deltas = [{"reasoningContent": {"text": part}} for part in cut(block["thinking"], piece)]
            deltas.append({"reasoningContent": {"signature": block["signature"]}})
        case _:
            start = {"toolUse": {"toolUseId": block["id"], "name": block["name"]}}
            frames.append(_framed("contentBlockStart", {"start": start, "contentBlockIndex": place}))
            given = json.dumps(block["input"], ensure_ascii=False)
            deltas = [{"toolUse": {"input": part}} for part in cut(given, piece)]
    frames += [_framed("contentBlockDelta", {"delta": each, "contentBlockIndex": place}) for each in deltas]
    return [*frames, _framed("contentBlockStop", {"contentBlockIndex": place})]


def _whole(block: dict[str, Any]) -> dict[str, Any]:
    match block["type"]:
        case "text":
            return {"text": block["text"]}
        case "thinking":
            said = {"text": block["thinking"], "signature": block["signature"]}
            return {"reasoningContent": {"reasoningText": said}}
        case _:
            return {"toolUse": {"toolUseId": block["id"], "name": block["name"], "input": block["input"]}}


def _framed(kind: str, payload: dict[str, Any]) -> bytes:
    headers = {":event-type": kind, ":content-type": "application/json", ":message-type": "event"}
    return write(headers, json.dumps({**payload, "p": "abcd"}, ensure_ascii=False).encode())


def _check(body: Any) -> None:
    fields = "messages system inferenceConfig toolConfig additionalModelRequestFields serviceTier"
    only(body, fields, "the request")
    only(body["inferenceConfig"], "maxTokens temperature topP stopSequences", "inferenceConfig")
    for tool in body.get("toolConfig", {"tools": []})["tools"]:
        only(tool, "toolSpec", "a tool")
        only(tool["toolSpec"], "name description inputSchema", "toolSpec")
        need(tool["toolSpec"]["inputSchema"]["json"]["type"] == "object", "a schema is no object")
    called: set[str] = set()
    last = "assistant"
    for message in body["messages"]:
        need({message["role"], last} == {"user", "assistant"}, "roles do not alternate")
        last = message["role"]
        need(message["content"], "a message has no content")
        for block in message["content"]:
            need(len(block) == 1 and set(block) <= _BLOCKS, f"a block has {sorted(block)}")
            _check_block(block, called)
        kinds = {kind for block in message["content"] for kind in block}
        need("document" not in kinds or "text" in kinds, "a document comes without text")
    need(not called, "calls have no result")
    need("toolConfig" in body or "toolUse" not in json.dumps(body["messages"]), "toolConfig is missing")


def _check_block(block: dict[str, Any], called: set[str]) -> None:
    match block:
        case {"text": text}:
            need(text.strip(), "a text is blank")
        case {"toolUse": call}:
            only(call, "toolUseId name input", "a call")
            need(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", call["toolUseId"]), "the id of a call is odd")
            called.add(call["toolUseId"])
        case {"toolResult": result}:
            only(result, "toolUseId content status", "a result")
            need(result["toolUseId"] in called, "a result answers no call")
            called.discard(result["toolUseId"])
            need(all(len(part) == 1 for part in result["content"]), "a part of a result is odd")
        case {"image": image}:
            need(
                image["format"] in ("png", "jpeg", "gif", "webp") and image["source"]["bytes"],
                "an image is odd",
            )
        case {"document": document}:
            need(re.fullmatch(r"[a-zA-Z0-9\-()\[\] ]{1,200}", document["name"]), "the name of a file is odd")
        case {"reasoningContent": {"reasoningText": said}}:
            need(said["signature"], "reasoning is not signed")
        case _:
            pass
