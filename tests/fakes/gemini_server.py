"""Google's generateContent as its public schema has it."""

import json
import re
from typing import Any

from tests.fakes.model_server import Received, Said, Script, checked, cut, need, only, refusal

KEY = "test-key"
_STOPS = {"end": "STOP", "calls": "STOP", "length": "MAX_TOKENS", "filter": "SAFETY"}
_DATA = {"text", "inlineData", "functionCall", "functionResponse", "fileData"}
_SCHEMA = (
    "type format title description nullable enum maxItems minItems properties required minProperties "
    "maxProperties minLength maxLength pattern example anyOf propertyOrdering default items minimum maximum"
)


class GeminiApi:
    """`POST …/models/x:streamGenerateContent?alt=sse` and `:generateContent`."""

    stream_type = "text/event-stream"

    def __init__(self, *, header: str = "x-goog-api-key", value: str = KEY) -> None:
        self._header = header
        self._value = value

    def problem(self, request: Received) -> Script | None:
        known = re.search(r"/models/[^/:]+:(streamGenerateContent\?alt=sse|generateContent)$", request.path)
        if request.method != "POST" or known is None:
            return refusal(404, "not found", "NOT_FOUND")
        if request.headers.get(self._header) != self._value:
            return refusal(400, "API key not valid. Please pass a valid API key.", "INVALID_ARGUMENT")
        return checked(lambda: _check(request.body))

    def streams(self, request: Received) -> bool:
        return "streamGenerateContent" in request.path

    def frames(self, said: Said) -> list[bytes]:
        parts: list[Any] = []
        for block in said.blocks:
            match block["type"]:
                case "text":
                    parts += ({"text": part} for part in cut(block["text"], said.piece))
                case "thinking":
                    parts += ({"text": part, "thought": True} for part in cut(block["thinking"], said.piece))
                case _:
                    parts.append(_call(block))
        chunks = [_chunk(said, [part]) for part in parts]
        chunks.append(_chunk(said, [{"text": ""}], finish=_STOPS[said.stop]))
        frames = [
            b"data: " + json.dumps(chunk, ensure_ascii=False).encode() + b"\r\n\r\n" for chunk in chunks
        ]
        middle = len(frames) // 2
        return [*frames[:middle], *said.extra, *frames[middle:]]

    def whole(self, said: Said) -> Any:
        parts: list[Any] = []
        for block in said.blocks:
            match block["type"]:
                case "text":
                    parts.append({"text": block["text"]})
                case "thinking":
                    parts.append({"text": block["thinking"], "thought": True})
                case _:
                    parts.append(_call(block))
        return _chunk(said, parts, finish=_STOPS[said.stop])

    def error(self, status: int, message: str, code: str) -> Any:
        return {"error": {"code": status, "message": message, "status": code}}


def _call(block: dict[str, Any]) -> dict[str, Any]:
    called = {"id": block["id"], "name": block["name"], "args": block["input"]}
    return {"functionCall": called, "thoughtSignature": "c2lnbmVk"}


def _chunk(said: Said, parts: list[Any], *, finish: str | None = None) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": parts}, "index": 0}
    if finish is not None:
        candidate["finishReason"] = finish
    usage = {
        "promptTokenCount": said.asked,
        "cachedContentTokenCount": 4,
        "candidatesTokenCount": 4,
        "thoughtsTokenCount": 3,
        "totalTokenCount": said.asked + 7,
    }
    return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "served", "responseId": "r1"}


def _check(body: Any) -> None:
    only(body, "contents tools systemInstruction generationConfig", "the request")
    only(body.get("generationConfig", {}), "maxOutputTokens thinkingConfig", "generationConfig")
    for tool in body.get("tools", []):
        only(tool, "functionDeclarations", "a tool")
        for function in tool["functionDeclarations"]:
            only(function, "name description parameters", "a function")
            if "parameters" in function:
                _check_schema(function["parameters"])
    called: list[str] = []
    last = "model"
    for content in body["contents"]:
        only(content, "role parts", "content")
        need({content["role"], last} == {"user", "model"}, "roles do not alternate")
        last = content["role"]
        need(content["parts"], "content has no parts")
        for part in content["parts"]:
            need(len(_DATA & set(part)) == 1, f"a part has {sorted(part)}")
            if "functionCall" in part:
                only(part["functionCall"], "id name args", "a call")
                called.append(part["functionCall"]["name"])
            if "functionResponse" in part:
                only(part["functionResponse"], "id name response", "a response")
                need(part["functionResponse"]["name"] in called, "a response answers no call")
                called.remove(part["functionResponse"]["name"])
    need(not called, "the number of function responses does not equal that of function calls")


def _check_schema(schema: Any) -> None:
    only(schema, _SCHEMA, "a schema")
    for inner in (schema.get("properties") or {}).values():
        _check_schema(inner)
    for inner in schema.get("anyOf", []):
        _check_schema(inner)
    need(schema.get("type") != "array" or "items" in schema, "an array has no items")
    if "items" in schema:
        _check_schema(schema["items"])
