"""The dialect of OpenAI's Responses, nothing kept at the service: reasoning comes sealed and goes back."""

from typing import Any

from msgspec.json import encode as to_json

from bridle.host.http.client import Request
from bridle.providers.dialects import content
from bridle.providers.dialects.on_demand import CallForm
from bridle.providers.dialects.responses_stream import Decoder
from bridle.providers.dialects.sse import SseReading
from bridle.providers.facts import Model
from bridle.providers.http_provider import Reading, ServiceEndpoint, admitted_by_key
from bridle.providers.vendor import Quirks
from bridle.types.block import SentMessage
from bridle.types.model import ModelRequest


class ResponsesDialect:
    """Speaks to any service that has `/responses`."""

    def request(self, asked: ModelRequest, model: Model, place: ServiceEndpoint) -> Request:
        body = encode(asked, model, place.vendor.quirks, form=f"responses {place.vendor.name} {asked.model}")
        return Request("POST", f"{place.base}/responses", (), body)

    async def admitted(self, request: Request, place: ServiceEndpoint) -> Request:
        return admitted_by_key(request, place)

    def reading(self, asked: ModelRequest, place: ServiceEndpoint, request_id: str | None) -> Reading:
        return SseReading(Decoder(asked.model, place.vendor, request_id))


def encode(request: ModelRequest, model: Model, quirks: Quirks, *, form: str) -> bytes:
    """The body of `POST /responses`; settled messages are encoded once for each `form`."""
    fields: dict[str, Any] = {
        "model": model.wire_name,
        "stream": request.stream,
        "store": False,
        "max_output_tokens": request.max_tokens,
    }
    if quirks.cache_key and request.session_id is not None:
        fields["prompt_cache_key"] = request.session_id
    if model.thinking != "none":
        fields["include"] = ["reasoning.encrypted_content"]
        fields["reasoning"] = _reasoning(request, model)
    if text := content.system_text(request.system):
        fields["instructions"] = text
    if tools := _tools(request, quirks):
        fields["tools"] = tools
        if quirks.parallel_calls is not None:
            fields["parallel_tool_calls"] = quirks.parallel_calls
    head = to_json(fields | dict(request.extra))[:-1]
    return b"".join((head, b',"input":[', b",".join(_items(request, model, quirks, form)), b"]}"))


def _reasoning(request: ModelRequest, model: Model) -> dict[str, Any]:
    shown = {"summary": "auto"}
    effort = content.effort_word(request, model)
    return shown if effort is None else {"effort": effort, **shown}


def _tools(request: ModelRequest, quirks: Quirks) -> list[dict[str, Any]]:
    # Left out, strict would be on, and schemas with optional fields refused.
    strict = bool(quirks.strict)
    return [
        {"type": "function", "name": name, "description": description, "parameters": schema, "strict": strict}
        for name, description, schema in content.functions(request.tools)
    ]


def _items(request: ModelRequest, model: Model, quirks: Quirks, form: str) -> list[bytes]:
    history = request.history
    if not history.messages:
        return []

    wire = CallForm.of(request)

    def settled(message: SentMessage, origin: str | None) -> bytes:
        return _message(wire.message(message), origin, request, model, quirks)

    known = history.encoded(form + wire.form, settled)
    return [*known, settled(history.messages[-1], history.origins[-1])]


def _message(
    message: SentMessage, origin: str | None, request: ModelRequest, model: Model, quirks: Quirks
) -> bytes:
    """One message of ours as the one or more items that it is here."""
    if message["role"] == "assistant":
        items = _answer(message["content"], own=content.is_own(origin, request.model))
    else:
        items = _user(message["content"], model, quirks)
    return b",".join(to_json(item) for item in items)


def _answer(blocks: Any, *, own: bool) -> list[dict[str, Any]]:
    if isinstance(blocks, str):
        blocks = [{"type": "text", "text": blocks}]
    items = [item for block in blocks if (item := _item(block, own=own)) is not None]
    return items or [_said(content.EMPTY)]


def _item(block: Any, *, own: bool) -> dict[str, Any] | None:
    match block["type"]:
        case "text" if block["text"].strip():
            phase = content.vendor_data(block, "responses").get("phase") if own else None
            return _said(block["text"]) | ({"phase": phase} if phase else {})
        case "tool_use":
            arguments = content.input_text(block)
            called = {"type": "function_call", "call_id": block["id"], "name": block["name"]}
            return {**called, "arguments": arguments}
        case "thinking" if own:
            return content.vendor_data(block, "responses").get("item")
        case _:
            return None


def _said(text: str) -> dict[str, Any]:
    return {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}


def _user(blocks: Any, model: Model, quirks: Quirks) -> list[dict[str, Any]]:
    able = {"images": model.images and quirks.images, "documents": model.documents and quirks.documents}
    results = [] if isinstance(blocks, str) else [block for block in blocks if block["type"] == "tool_result"]
    items: list[dict[str, Any]] = []
    for block in results:
        parts = content.parts_of(block.get("content") or "", **able)
        output: Any = content.result_text(block, parts)
        if any(not isinstance(part, str) for part in parts):
            texts = [output] if any(isinstance(part, str) for part in parts) else []
            output = [
                _part(part) for part in [*texts, *(part for part in parts if not isinstance(part, str))]
            ]
        items.append({"type": "function_call_output", "call_id": block["tool_use_id"], "output": output})
    rest = content.parts_of(blocks, **able)
    if rest or not items:
        spoken = [_part(part) for part in rest or [content.EMPTY]]
        items.append({"type": "message", "role": "user", "content": spoken})
    return items


def _part(part: content.Part) -> dict[str, Any]:
    if isinstance(part, str):
        return {"type": "input_text", "text": part}
    if part.is_image:
        return {"type": "input_image", "image_url": part.url, "detail": "auto"}
    if part.is_url:
        return {"type": "input_file", "file_url": part.url}
    return {"type": "input_file", "filename": part.title, "file_data": part.url}
