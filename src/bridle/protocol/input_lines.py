"""Lines that programs write on standard input, one JSON object each."""

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

from bridle.protocol.control import ControlCancel, ControlRequest, ControlResponse
from bridle.types.errors import UsageError
from bridle.types.origin import Origin
from bridle.types.text import decode_json
from bridle.types.turn import Priority, Prompt

_LONGEST_SHOWN = 120
_MOST_PASTES = 1_000
_PRIORITIES: Mapping[str, Priority] = {"now": "now", "next": "next", "later": "later"}


class Ignored(Struct, frozen=True):
    """A line that asks for nothing: empty, a keep-alive, a type of a newer release."""


class Variables(Struct, frozen=True):
    """Environment variables that the host sets while the session runs."""

    values: Mapping[str, str]


Line = Prompt | ControlRequest | ControlResponse | ControlCancel | Variables | Ignored


def read_line(line: bytes) -> Line:
    """What one line of input says.

    Raises:
        UsageError: the line is not a JSON object, or a user message of another role.
    """
    if not line.strip():
        return Ignored()
    try:
        message: Any = decode_json(line)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        shown = line[:_LONGEST_SHOWN].decode(errors="replace").strip()
        raise UsageError(f"cannot read standard input: {error} in the line {shown!r}") from error
    if not isinstance(message, dict):
        raise UsageError("cannot read standard input: each line must be a JSON object")
    return read_message(message)


def read_message(message: dict[str, Any]) -> Line:
    """What one message of a host says.

    Raises:
        UsageError: it is a user message of another role.
    """
    match message:
        case {"type": "user", "message": {"role": "user", "content": str() | list()}}:
            return _prompt(message)
        case {"type": "user"}:
            raise UsageError('a user message needs "message": {"role": "user", "content": …}')
        case {"type": "control_request", "request_id": str() as request_id, "request": dict() as request}:
            return ControlRequest(request_id, str(request.get("subtype")), request)
        case {"type": "control_response", "response": {"request_id": str() as request_id} as response}:
            return _response(request_id, response)
        case {
            "type": "control_response",
            "request_id": str() as request_id,
            "response": {"subtype": "allow" | "deny" as behavior, **answer},
        }:
            # Older hosts answer a permission question like this.
            return ControlResponse(request_id, {**answer, "behavior": behavior})
        case {"type": "control_cancel_request", "request_id": str() as request_id}:
            return ControlCancel(request_id)
        case {"type": "update_environment_variables", "variables": dict() as values}:
            return Variables({str(name): str(value) for name, value in values.items()})
        case _:
            return Ignored()


def _response(request_id: str, response: Mapping[str, Any]) -> ControlResponse:
    if response.get("subtype") == "error":
        return ControlResponse(request_id, {}, str(response.get("error") or "the host gave no reason"))
    answer = response.get("response")
    return ControlResponse(request_id, answer if isinstance(answer, dict) else {})


def _prompt(message: dict[str, Any]) -> Prompt:
    uuid = message.get("uuid")
    return Prompt(
        content=_content(message),
        uuid=uuid if isinstance(uuid, str) else None,
        origin=read_origin(message.get("origin")),
        query=message.get("shouldQuery") is not False,
        priority=_PRIORITIES.get(str(message.get("priority")), "next"),
        verbatim=message.get("client_composed") is True,
    )


def read_origin(said: object) -> Origin:
    """Where a host says that a prompt or an answer comes from: a person may have typed it, or it claims less.

    A host that passes on the words of others names their kind, and they count as no more than that.
    """
    if not isinstance(said, dict):
        return Origin(source="host")
    known = Origin.from_entry(said)
    if known is None:
        return Origin(source="program")
    return Origin(source="host", stamped=known.is_typed) if known.is_own else known


def _content(message: dict[str, Any]) -> str | list[Any]:
    """What the user said, with the texts that a host took out of it put behind it."""
    content: str | list[Any] = message["message"]["content"]
    pasted = message.get("pasted_content")
    if not isinstance(pasted, list) or not 0 < len(pasted) <= _MOST_PASTES:
        return content
    texts = [text for paste in pasted for text in _texts(paste)]
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    return [*blocks, *({"type": "text", "text": text} for text in texts if text.strip())]


def _texts(paste: object) -> list[str]:
    if isinstance(paste, str):
        return [paste]
    blocks: list[Any] = paste if isinstance(paste, list) else []
    return [block["text"] for block in blocks if _is_text(block)]


def _is_text(block: object) -> bool:
    return isinstance(block, dict) and block.get("type") == "text" and isinstance(block.get("text"), str)
