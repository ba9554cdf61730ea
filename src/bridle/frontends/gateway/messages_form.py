"""Anthropic's form at the entrance, for services that speak another."""

from collections.abc import Mapping
from typing import Any

import msgspec

from bridle.frontends.gateway.chat_form import BadRequest, listed
from bridle.types.history import History
from bridle.types.model import ModelEvent, ModelRequest, Thinking

_DEFAULT_TOKENS = 4_096
_PASSED = ("temperature", "top_p")


class _Type(msgspec.Struct):
    type: str = ""


_TYPE = msgspec.json.Decoder(_Type)


def to_request(body: Mapping[str, Any], model: str) -> ModelRequest:
    """The request in no dialect.

    Raises:
        BadRequest: something in it is not what it should be.
    """
    history = History()
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        raise BadRequest("messages must be a list with at least one message")
    for message in messages:
        match message:
            case {"role": "user" | "assistant" as role, "content": str() | list() as content}:
                checked: Any = {
                    "role": role,
                    "content": content if isinstance(content, str) else _blocks(content),
                }
                history.add(checked)
            case _:
                raise BadRequest("each message needs a role (user, assistant) and content")
    limit = body.get("max_tokens", _DEFAULT_TOKENS)
    if not isinstance(limit, int) or isinstance(limit, bool) or limit < 1:
        raise BadRequest("max_tokens must be a positive number")
    system: Any = _system(body.get("system"))
    tools: Any = tuple(_tool(each) for each in listed(body, "tools"))
    return ModelRequest(
        model=model,
        system=system,
        history=history,
        tools=tools,
        max_tokens=limit,
        thinking=_thinking(body.get("thinking")),
        stream=body.get("stream") is True,
        cache=False,
        extra={name: body[name] for name in _PASSED if isinstance(body.get(name), int | float)},
    )


def event_of(event: ModelEvent) -> bytes:
    """An event as a stream of the Messages API carries it; empty for what has no place there."""
    wire: bytes = getattr(event, "wire", b"")
    if not wire:
        return b""
    return b"event: " + _TYPE.decode(wire).type.encode() + b"\ndata: " + wire + b"\n\n"


def _system(system: Any) -> tuple[dict[str, Any], ...]:
    if system is None or system == "":
        return ()
    if isinstance(system, str):
        return ({"type": "text", "text": system},)
    if isinstance(system, list):
        return tuple(_block(each, ("text",)) for each in system)
    raise BadRequest("system must be text or a list of text blocks")


def _blocks(content: list[Any]) -> list[dict[str, Any]]:
    return [_block(each, ()) for each in content]


def _block(block: Any, kinds: tuple[str, ...]) -> dict[str, Any]:
    kind = block.get("type") if isinstance(block, dict) else None
    if kinds and kind not in kinds:
        raise BadRequest(f"a block must be one of {', '.join(kinds)}")
    match block:
        case {"type": "text", "text": str()} | {"type": "thinking", "thinking": str()}:
            return block
        case {"type": "redacted_thinking", "data": str()} | {"type": "document", "source": dict()}:
            return block
        case {"type": "image", "source": {"type": "base64", "media_type": str(), "data": str()}}:
            return block
        case {"type": "image", "source": {"type": "url", "url": str()}}:
            return block
        case {"type": "tool_use", "id": str(), "name": str(), "input": dict()}:
            return block
        case {"type": "tool_result", "tool_use_id": str()}:
            inner = block.get("content") or ""
            if isinstance(inner, str):
                return {**block, "content": inner}
            if isinstance(inner, list):
                return {**block, "content": [_block(each, ("text", "image", "document")) for each in inner]}
            raise BadRequest("content of a tool_result must be text or a list of blocks")
        case _:
            raise BadRequest(f"a block of type {kind!r} is not complete or cannot be sent to this model")


def _tool(tool: Any) -> dict[str, Any]:
    match tool:
        case {"name": str() as name, "input_schema": dict() as schema}:
            return {"name": name, "description": str(tool.get("description") or ""), "input_schema": schema}
        case _:
            raise BadRequest("each tool needs a name and an input_schema")


def _thinking(thinking: Any) -> Thinking | None:
    match thinking:
        case {"type": "enabled", "budget_tokens": int() as budget}:
            return Thinking("enabled", budget)
        case {"type": "adaptive"}:
            return Thinking("adaptive")
        case {"type": "disabled"}:
            return Thinking("disabled")
        case _:
            return None
