"""Anthropic's Messages API as itself, as Vertex and as Amazon serve it."""

import json
import re
from binascii import b2a_base64
from typing import Any

from bridle.host.aws_signature import AwsCredentials, Scope, authorization
from bridle.providers.dialects.aws_event_stream import write
from tests.fakes import sse
from tests.fakes.model_server import Received, Said, Script, checked, need, only, refusal

KEY = "test-key"
CREDENTIALS = AwsCredentials("AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "session")
_STOPS = {"end": "end_turn", "calls": "tool_use", "length": "max_tokens", "filter": "refusal"}


def _message(said: Said) -> dict[str, Any]:
    usage = {"input_tokens": said.asked - 4, "cache_read_input_tokens": 4, "output_tokens": 7}
    fields = {"id": "msg_1", "model": "served", "stop_reason": _STOPS[said.stop], "usage": usage}
    return sse.message(*said.blocks, **fields)


def _events(said: Said) -> list[dict[str, Any]]:
    return list(sse.events_of(_message(said), piece=said.piece))


class MessagesApi:
    """`POST /v1/messages`."""

    stream_type = "text/event-stream"
    _extra = "model stream"

    def problem(self, request: Received) -> Script | None:
        if request.method != "POST" or not request.path.partition("?")[0].endswith("/v1/messages"):
            return refusal(404, "not found", "not_found_error")
        given = request.headers.get("x-api-key") or request.headers.get("authorization", "").removeprefix(
            "Bearer "
        )
        if given != KEY:
            return refusal(401, "invalid x-api-key", "authentication_error")
        return checked(lambda: check_messages(request.body, "model stream"))

    def streams(self, request: Received) -> bool:
        return request.body.get("stream", False)

    def frames(self, said: Said) -> list[bytes]:
        frames = [sse.frame(event) for event in _events(said)]
        middle = len(frames) // 2
        return [*frames[:middle], *said.extra, *frames[middle:]]

    def whole(self, said: Said) -> Any:
        return _message(said)

    def error(self, status: int, message: str, code: str) -> Any:
        return {"type": "error", "error": {"type": code, "message": message}}


class VertexApi(MessagesApi):
    """`POST …/publishers/anthropic/models/x:streamRawPredict`."""

    def problem(self, request: Received) -> Script | None:
        where = (
            r"/projects/p1/locations/\w+/publishers/anthropic/models/[^/:]+:(streamRawPredict|rawPredict)$"
        )
        if re.search(where, request.path) is None:
            return refusal(404, "not found", "NOT_FOUND")
        if request.headers.get("authorization") != f"Bearer {KEY}":
            return refusal(401, "invalid authentication credentials", "UNAUTHENTICATED")
        return checked(lambda: check_messages(request.body, "anthropic_version stream"))

    def streams(self, request: Received) -> bool:
        return "streamRawPredict" in request.path


class BedrockApi(MessagesApi):
    """`POST /model/x/invoke-with-response-stream`; the signature is checked."""

    stream_type = "application/vnd.amazon.eventstream"

    def problem(self, request: Received) -> Script | None:
        if re.fullmatch(r"/model/[^/]+/invoke(-with-response-stream)?", request.path) is None:
            return refusal(404, "not found", "ResourceNotFoundException")
        if not is_signed(request):
            return refusal(
                403, "The security token included in the request is invalid.", "UnrecognizedClientException"
            )
        return checked(lambda: check_messages(request.body, "anthropic_version anthropic_beta"))

    def streams(self, request: Received) -> bool:
        return request.path.endswith("-stream")

    def frames(self, said: Said) -> list[bytes]:
        frames = [_framed(event) for event in _events(said)]
        middle = len(frames) // 2
        return [*frames[:middle], *said.extra, *frames[middle:]]

    def error(self, status: int, message: str, code: str) -> Any:
        return {"message": message, "__type": code}


class AwsMessagesApi(MessagesApi):
    """`POST /v1/messages` behind Amazon's signature."""

    def __init__(self, service: str, *, workspace: str | None = None, name: str = "") -> None:
        self._service = service
        self._workspace = workspace
        self._name = name

    def problem(self, request: Received) -> Script | None:
        if not request.path.endswith("/v1/messages"):
            return refusal(404, "not found", "not_found_error")
        keyed = KEY in (request.headers.get("x-api-key"), request.headers.get("authorization", "")[7:])
        if not keyed and not is_signed(request, self._service):
            return refusal(403, "The security token included in the request is invalid.", "forbidden")
        if request.headers.get("anthropic-workspace-id") != self._workspace:
            return refusal(400, "anthropic-workspace-id is wrong", "invalid_request_error")
        if not request.body["model"].startswith(self._name):
            return refusal(404, f"model: {request.body['model']}", "not_found_error")
        return checked(lambda: check_messages(request.body, "model stream"))


def _framed(event: dict[str, Any]) -> bytes:
    data = json.dumps(event, ensure_ascii=False).encode()
    payload = json.dumps({"bytes": b2a_base64(data, newline=False).decode(), "p": "abcd"}).encode()
    headers = {":event-type": "chunk", ":content-type": "application/json", ":message-type": "event"}
    return write(headers, payload)


def is_signed(request: Received, service: str = "bedrock") -> bool:
    given = request.headers.get("authorization", "")
    if given == f"Bearer {KEY}":
        return True
    match = re.search(
        rf"Credential=AKIDEXAMPLE/\d{{8}}/([\w-]+)/{service}/aws4_request, SignedHeaders=([\w;-]+),", given
    )
    if match is None or request.headers.get("x-amz-security-token") != CREDENTIALS.session_token:
        return False
    signed = [(name, request.headers[name]) for name in match[2].split(";")]
    scope = Scope(request.headers["x-amz-date"], match[1], service)
    expected = authorization(
        request.method, request.path, signed, request.raw, credentials=CREDENTIALS, scope=scope
    )
    return given == expected


def check_messages(body: Any, extra: str) -> None:
    only(
        body,
        f"messages max_tokens system tools thinking context_management output_config metadata {extra}",
        "the request",
    )
    need(all(field in body for field in extra.split() if field != "anthropic_beta"), f"{extra} is missing")
    open_calls: set[str] = set()
    for message in body["messages"]:
        for block in message["content"]:
            need("bridle" not in block, "a block holds another vendor's data")
            if block["type"] == "tool_use":
                need(re.fullmatch(r"[a-zA-Z0-9_-]+", block["id"]), "the id of a call has odd characters")
                open_calls.add(block["id"])
            elif block["type"] == "tool_result":
                need(block["tool_use_id"] in open_calls, "a result answers no call")
                open_calls.discard(block["tool_use_id"])
            elif block["type"] == "thinking":
                need(block["signature"], "thinking is not signed")
    need(not open_calls, "calls have no result")
