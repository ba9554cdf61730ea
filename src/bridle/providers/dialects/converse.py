"""The body of Bedrock's Converse, which serves the models of every vendor there in one form."""

import re
from collections.abc import Mapping
from typing import Any
from zlib import crc32

from msgspec.json import encode as to_json

from bridle.providers.dialects import content, schema_calls
from bridle.providers.dialects.on_demand import CallForm
from bridle.providers.facts import Model
from bridle.types.block import SentMessage
from bridle.types.model import ModelRequest

_CACHE_POINT = {"cachePoint": {"type": "default"}}
_IMAGES = {"image/png": "png", "image/jpeg": "jpeg", "image/gif": "gif", "image/webp": "webp"}
_LONGEST_ID = 64


def encode(request: ModelRequest, model: Model, env: Mapping[str, str]) -> bytes:
    """The body of `POST /model/…/converse`; settled messages are encoded once for each model."""
    fields: dict[str, Any] = {"inferenceConfig": {"maxTokens": request.max_tokens}}
    marks = request.cache and "nova" in model.wire_name
    if text := content.system_text(request.system):
        fields["system"] = [{"text": text}, _CACHE_POINT] if marks else [{"text": text}]
    if tools := _tools(request):
        fields["toolConfig"] = {"tools": tools}
    if more := _thinking(request, model):
        fields["additionalModelRequestFields"] = more
    if tier := env.get("ANTHROPIC_BEDROCK_SERVICE_TIER"):
        fields["serviceTier"] = {"type": tier}
    head = to_json(fields | dict(request.extra))[:-1]
    messages = _messages(request, model, marks=marks, calls=bool(tools))
    return b"".join((head, b',"messages":[', b",".join(messages), b"]}"))


def _tools(request: ModelRequest) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for name, description, schema in content.functions(request.tools):
        plain = {key: value for key, value in schema.items() if key != "$schema"}
        described = {"description": description} if description else {}
        found.append({"toolSpec": {"name": name, **described, "inputSchema": {"json": plain}}})
    return found


def _thinking(request: ModelRequest, model: Model) -> dict[str, Any]:
    """What is said about thinking; each family of models has words of its own."""
    effort = content.effort_word(request, model)
    off = request.thinking is None or request.thinking.mode == "disabled"
    if model.thinking == "none" or off or effort is None:
        return {}
    if "nova" in model.wire_name:
        return {"reasoningConfig": {"type": "enabled", "maxReasoningEffort": effort}}
    return {"reasoning_effort": effort} if "gpt-oss" in model.wire_name else {}


def _messages(request: ModelRequest, model: Model, *, marks: bool, calls: bool) -> list[bytes]:
    history = request.history
    if not history.messages:
        return []
    # The service takes no calls in the history of a request without tools.
    names = None if calls else schema_calls.tool_names(request)
    wire = CallForm.of(request)

    def encoded(message: SentMessage, origin: str | None) -> dict[str, Any]:
        message = wire.message(message)
        plain = message if names is None else schema_calls.plain(message, names)
        return _message(plain, origin, request, model)

    form = f"converse {request.model}" if calls else f"converse plain {request.model}"
    known = history.encoded(form + wire.form, lambda message, origin: to_json(encoded(message, origin)))
    last = encoded(history.messages[-1], history.origins[-1])
    if marks:
        last["content"].append(_CACHE_POINT)
    return [*known, to_json(last)]


def _message(message: SentMessage, origin: str | None, request: ModelRequest, model: Model) -> dict[str, Any]:
    if message["role"] == "assistant":
        blocks = _answer(message["content"], own=content.is_own(origin, request.model))
    else:
        blocks = _user(message["content"], model)
    return {"role": message["role"], "content": blocks}


def _answer(blocks: Any, *, own: bool) -> list[dict[str, Any]]:
    if isinstance(blocks, str):
        blocks = [{"type": "text", "text": blocks}]
    return [made for block in blocks if (made := _said(block, own=own)) is not None] or [
        {"text": content.EMPTY}
    ]


def _said(block: Any, *, own: bool) -> dict[str, Any] | None:
    match block["type"]:
        case "text" if block["text"].strip():
            return {"text": block["text"]}
        case "tool_use":
            call = {"toolUseId": _id(block["id"]), "name": block["name"], "input": block["input"]}
            return {"toolUse": call}
        case "thinking" if own:
            kept = content.vendor_data(block, "converse")
            if kept.get("redacted"):
                return {"reasoningContent": {"redactedContent": kept["redacted"]}}
            if kept.get("signature"):
                sealed = {"text": block["thinking"], "signature": kept["signature"]}
                return {"reasoningContent": {"reasoningText": sealed}}
            return None
        case _:
            return None


def _user(blocks: Any, model: Model) -> list[dict[str, Any]]:
    able = {"images": model.images, "documents": model.documents}
    results = [] if isinstance(blocks, str) else [block for block in blocks if block["type"] == "tool_result"]
    made: list[dict[str, Any]] = []
    for block in results:
        held = content.parts_of(block.get("content") or "", **able)
        files = [_part(part) for part in held if not isinstance(part, str)]
        inner = [{"text": content.result_text(block, held)}, *files]
        made.append({"toolResult": {"toolUseId": _id(block["tool_use_id"]), "content": inner}})
    made += [_part(part) for part in content.parts_of(blocks, **able)]
    if any("document" in block for block in made) and not any("text" in block for block in made):
        # A document is taken only along with text.
        made.append({"text": "See the attached file."})
    return made or [{"text": content.EMPTY}]


def _part(part: content.Part) -> dict[str, Any]:
    if isinstance(part, str):
        return {"text": part}
    kind = _IMAGES.get(part.media) if part.is_image else "pdf" if part.media == "application/pdf" else None
    if part.is_url or kind is None:
        return {"text": f"[A file ({part.media}) was omitted: Bedrock does not accept this file type.]"}
    source = {"format": kind, "source": {"bytes": part.data}}
    if part.is_image:
        return {"image": source}
    return {"document": {"name": _title(part), **source}}


def _title(part: content.Attachment) -> str:
    """A name of the letters that the service allows; no two files of a conversation may share one."""
    plain = " ".join(re.sub(r"[^a-zA-Z0-9\-()\[\]]+", " ", part.title).split())
    return f"{plain[:150]} {crc32(part.data.encode()):08x}".strip()


def _id(identity: str) -> str:
    return re.sub(r"[^a-zA-Z0-9_-]", "_", identity)[:_LONGEST_ID]
