"""The dialect of Google's generateContent, which Gemini speaks at Google's own service and on Vertex."""

from typing import Any

from msgspec.json import encode as to_json

from bridle.host.http.client import Request
from bridle.providers import url_parts
from bridle.providers.dialects import content
from bridle.providers.dialects.gemini_stream import Decoder
from bridle.providers.dialects.on_demand import CallForm
from bridle.providers.dialects.schema_subset import subset
from bridle.providers.dialects.sse import SseReading
from bridle.providers.facts import Model
from bridle.providers.http_provider import Reading, ServiceEndpoint, admitted_by_key
from bridle.types.block import SentMessage
from bridle.types.model import ModelRequest, ToolDefinition
from bridle.types.on_demand import CALL

_UNSIGNED = "skip_thought_signature_validator"
"""Stands where Gemini 3 wants its signature of a call that another model made."""
_CALL_PARAMETERS = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "description": "The tool."},
        "input": {"type": "string", "description": "The tool's input as a JSON object."},
    },
    "required": ["name", "input"],
}
"""An object of which nothing is known cannot be declared, but its text can."""
_BUDGETS = {"low": 2_048, "medium": 8_192, "high": 24_576, "xhigh": 24_576, "max": 24_576}


class GeminiDialect:
    """Speaks to any service that has `models/…:streamGenerateContent`."""

    def __init__(self) -> None:
        self._tools: tuple[tuple[ToolDefinition, ...], bytes] = ((), b"")

    def request(self, asked: ModelRequest, model: Model, place: ServiceEndpoint) -> Request:
        url = f"{place.base}/models/{url_parts.model(model.wire_name)}:{verb(asked)}"
        return Request("POST", url, (), self.body(asked, model))

    def body(self, asked: ModelRequest, model: Model) -> bytes:
        """The body of the request; the tools are converted when they change."""
        if self._tools[0] is not asked.tools:
            self._tools = (asked.tools, _tools(asked.tools))
        return encode(asked, model, tools=self._tools[1])

    async def admitted(self, request: Request, place: ServiceEndpoint) -> Request:
        return admitted_by_key(request, place)

    def reading(self, asked: ModelRequest, place: ServiceEndpoint, request_id: str | None) -> Reading:
        return SseReading(Decoder(asked.model, place.vendor, request_id))


def verb(request: ModelRequest) -> str:
    return "streamGenerateContent?alt=sse" if request.stream else "generateContent"


def encode(request: ModelRequest, model: Model, *, tools: bytes | None = None) -> bytes:
    """The body of a request; settled messages are encoded once for each model."""
    config: dict[str, Any] = {"maxOutputTokens": request.max_tokens}
    if thinking := _thinking(request, model):
        config["thinkingConfig"] = thinking
    fields: dict[str, Any] = {"generationConfig": config}
    if text := content.system_text(request.system):
        fields["systemInstruction"] = {"parts": [{"text": text}]}
    head = to_json(fields | dict(request.extra))[:-1]
    declared = _tools(request.tools) if tools is None else tools
    offered = b',"tools":[{"functionDeclarations":' + declared + b"}]" if declared else b""
    return b"".join((head, offered, b',"contents":[', b",".join(_contents(request, model)), b"]}"))


def _tools(tools: tuple[ToolDefinition, ...]) -> bytes:
    declared: list[dict[str, Any]] = []
    for name, description, schema in content.functions(tools):
        parameters = subset(schema) if name != CALL else _CALL_PARAMETERS
        # A function without parameters must not have an empty object of them.
        taken = {"parameters": parameters} if parameters.get("properties") else {}
        declared.append({"name": name, "description": description, **taken})
    return to_json(declared) if declared else b""


def _thinking(request: ModelRequest, model: Model) -> dict[str, Any]:
    if model.thinking == "none" or request.thinking is None:
        return {}
    if _signs(model.wire_name):
        level = {"low": "low", "medium": "medium"}.get(request.effort or "", "high")
        if request.thinking.mode == "disabled":
            return {"thinkingLevel": "low"}
        return {"includeThoughts": True, **({"thinkingLevel": level} if request.effort else {})}
    if request.thinking.mode == "disabled":
        # The larger of the older models cannot do without.
        return {"thinkingBudget": 128 if "pro" in model.wire_name else 0}
    budget = request.thinking.budget
    if budget is None:
        budget = _BUDGETS.get(request.effort or "", -1)
    return {"includeThoughts": True, "thinkingBudget": budget}


def _signs(name: str) -> bool:
    """Whether the model wants signatures with the calls in its history: all since Gemini 3 do."""
    return "gemini" in name and not any(old in name for old in ("gemini-1", "gemini-2"))


def _contents(request: ModelRequest, model: Model) -> list[bytes]:
    history = request.history
    if not history.messages:
        return []
    calls, wire = content.Calls(history), CallForm.of(request)

    def settled(message: SentMessage, origin: str | None) -> bytes:
        return _message(message, origin, request, model, calls=calls, wire=wire)

    known = history.encoded(f"gemini {request.model}{wire.form}", settled)
    return [*known, settled(history.messages[-1], history.origins[-1])]


def _message(
    message: SentMessage,
    origin: str | None,
    request: ModelRequest,
    model: Model,
    *,
    calls: content.Calls,
    wire: CallForm,
) -> bytes:
    message = wire.message(message)
    if message["role"] == "assistant":
        own = content.is_own(origin, request.model)
        parts = _answer(message["content"], own=own, signed=_signs(model.wire_name))
        return to_json({"role": "model", "parts": parts})
    return to_json({"role": "user", "parts": _user(message["content"], model, calls, wire)})


def _answer(blocks: Any, *, own: bool, signed: bool) -> list[dict[str, Any]]:
    if isinstance(blocks, str):
        blocks = [{"type": "text", "text": blocks}]
    parts: list[dict[str, Any]] = []
    for block in blocks:
        data = content.vendor_data(block, "gemini") if own else {}
        signature = {"thoughtSignature": data["signature"]} if data.get("signature") else {}
        match block["type"]:
            case "text" if block["text"].strip():
                parts.append({"text": block["text"], **signature})
            case "tool_use":
                called = {"name": block["name"], "args": _arguments(block)}
                if data.get("id"):
                    called["id"] = data["id"]
                parts.append({"functionCall": called, **signature})
            case _:
                pass
    calls = [part for part in parts if "functionCall" in part]
    if signed and calls and not any("thoughtSignature" in part for part in calls):
        calls[0]["thoughtSignature"] = _UNSIGNED
    return parts or [{"text": content.EMPTY}]


def _arguments(block: Any) -> Any:
    given = block["input"]
    if block["name"] != CALL or not isinstance(given.get("input"), dict):
        return given
    return {**given, "input": to_json(given["input"]).decode()}


def _user(blocks: Any, model: Model, calls: content.Calls, wire: CallForm) -> list[dict[str, Any]]:
    able = {"images": model.images, "documents": model.documents}
    results = [] if isinstance(blocks, str) else [block for block in blocks if block["type"] == "tool_result"]
    parts: list[dict[str, Any]] = []
    files: list[content.Part] = []
    for block in results:
        held = content.parts_of(block.get("content") or "", **able)
        parts.append({"functionResponse": _response(block, held, calls, wire)})
        files += [part for part in held if not isinstance(part, str)]
    parts += [_part(part) for part in [*files, *content.parts_of(blocks, **able)]]
    return parts or [{"text": content.EMPTY}]


def _response(block: Any, held: list[content.Part], calls: content.Calls, wire: CallForm) -> dict[str, Any]:
    call = calls.find(block["tool_use_id"]) or {}
    text = content.text_of_parts(held) or ("see the attached files" if held else content.EMPTY)
    answered: dict[str, Any] = {
        "name": wire.name(call["name"]) if call else "unknown",
        "response": {"error" if block.get("is_error") else "output": text},
    }
    if identity := content.vendor_data(call, "gemini").get("id"):
        answered["id"] = identity
    return answered


def _part(part: content.Part) -> dict[str, Any]:
    if isinstance(part, str):
        return {"text": part}
    if part.is_url:
        return {"fileData": {"mimeType": part.media, "fileUri": part.data}}
    return {"inlineData": {"mimeType": part.media, "data": part.data}}
