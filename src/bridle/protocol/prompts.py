"""Prompts that programs write on standard input, one JSON object per line."""

from typing import Any, cast

import msgspec
from msgspec import Struct

from bridle.types.errors import UsageError
from bridle.types.text import decode_json
from bridle.types.turn import Prompt

_LONGEST_SHOWN = 120


class Ignored(Struct, frozen=True):
    """A line that asks for nothing: empty, a keep-alive, a type of a newer release."""


class ControlRequest(Struct, frozen=True):
    """The host asks for something that is not a prompt."""

    request_id: str
    subtype: str
    request: dict[str, Any]


Line = Prompt | ControlRequest | Ignored


def read_line(line: bytes) -> Line:
    """What one line of input says.

    Raises:
        UsageError: the line is not a JSON object, or a user message of another role.
    """
    if not line.strip():
        return Ignored()
    try:
        message = decode_json(line)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        shown = line[:_LONGEST_SHOWN].decode(errors="replace").strip()
        raise UsageError(f"cannot read standard input: {error} in the line {shown!r}") from error
    match message:
        case {"type": "user", "message": {"role": "user", "content": str() | list() as content}}:
            return _prompt(cast("dict[str, Any]", message), cast("Any", content))
        case {"type": "user"}:
            raise UsageError('a user message needs "message": {"role": "user", "content": …}')
        case {"type": "control_request", "request_id": str() as request_id, "request": dict() as request}:
            asked = cast("dict[str, Any]", request)
            return ControlRequest(request_id, str(asked.get("subtype")), asked)
        case dict():
            return Ignored()
        case _:
            raise UsageError("cannot read standard input: each line must be a JSON object")


def unsupported(request: ControlRequest) -> dict[str, Any]:
    """The answer to a request that this program does not know."""
    return {
        "type": "control_response",
        "response": {
            "subtype": "error",
            "request_id": request.request_id,
            "error": f"Unsupported control request subtype: {request.subtype}",
            "error_code": "unsupported_request",
        },
    }


def _prompt(message: dict[str, Any], content: Any) -> Prompt:
    origin = message.get("origin")
    uuid = message.get("uuid")
    return Prompt(
        content=content,
        uuid=uuid if isinstance(uuid, str) else None,
        origin={"kind": "human"} if isinstance(origin, dict) and origin.get("kind") == "human" else None,
        query=message.get("shouldQuery") is not False,
    )
