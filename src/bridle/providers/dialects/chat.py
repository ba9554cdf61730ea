"""The dialect of OpenAI's Chat Completions, which most services speak in a variant of their own."""

from typing import Any

from msgspec.json import encode as to_json

from bridle.host.http.client import Request
from bridle.providers.dialects import content, schema_calls
from bridle.providers.dialects.chat_stream import Decoder
from bridle.providers.dialects.on_demand import CallForm
from bridle.providers.dialects.sse import SseReading
from bridle.providers.dialects.text_calls import Hold, Recovery
from bridle.providers.facts import Model
from bridle.providers.http_provider import Reading, ServiceEndpoint, admitted_by_key
from bridle.providers.vendor import Quirks
from bridle.types.block import SentMessage
from bridle.types.model import ModelRequest

_MARK = {"type": "ephemeral"}


class ChatDialect:
    """Speaks to any service that has `/chat/completions`."""

    def request(self, asked: ModelRequest, model: Model, place: ServiceEndpoint) -> Request:
        body = encode(asked, model, place.vendor.quirks, form=f"chat {place.vendor.name} {asked.model}")
        return Request("POST", f"{place.base}/chat/completions", (), body)

    async def admitted(self, request: Request, place: ServiceEndpoint) -> Request:
        return admitted_by_key(request, place)

    def reading(self, asked: ModelRequest, place: ServiceEndpoint, request_id: str | None) -> Reading:
        hold = _hold(asked, place.vendor.quirks)
        return SseReading(Decoder(asked.model, place.vendor, request_id, hold=hold))


def encode(request: ModelRequest, model: Model, quirks: Quirks, *, form: str) -> bytes:
    """The body of `POST /chat/completions`; settled messages are encoded once for each `form`."""
    fields: dict[str, Any] = {"model": model.wire_name, "stream": request.stream}
    if request.stream and quirks.stream_usage:
        fields["stream_options"] = {"include_usage": True}
    fields[quirks.limit_field] = request.max_tokens
    if quirks.cache_key and request.session_id is not None:
        fields["prompt_cache_key"] = request.session_id
    fields |= _thinking(request, model, quirks)
    if request.tools and quirks.tool_mode == "schema":
        fields["response_format"] = schema_calls.response_format(request.tools)
    elif tools := _tools(request, quirks):
        fields["tools"] = tools
        if quirks.parallel_calls is not None:
            fields["parallel_tool_calls"] = quirks.parallel_calls
    messages = _messages(request, model, quirks, form)
    head = to_json(fields | dict(request.extra))[:-1]
    return b"".join((head, b',"messages":[', b",".join(messages), b"]}"))


def _hold(request: ModelRequest, quirks: Quirks) -> Hold | None:
    """What reads calls out of text, where that is wanted."""
    if not request.tools:
        return None
    if quirks.tool_mode == "schema":
        return schema_calls.Constrained(request)
    return Recovery(request) if quirks.recover_calls else None


def _tools(request: ModelRequest, quirks: Quirks) -> list[dict[str, Any]]:
    strict = {} if quirks.strict is None else {"strict": quirks.strict}
    return [
        {
            "type": "function",
            "function": {"name": name, "description": description, "parameters": schema, **strict},
        }
        for name, description, schema in content.functions(request.tools)
    ]


def _thinking(request: ModelRequest, model: Model, quirks: Quirks) -> dict[str, Any]:
    """What is said about thinking, in the way of the service; nothing to models that do not think."""
    thinking = request.thinking
    if model.thinking == "none":
        return {}
    off = thinking is not None and thinking.mode == "disabled"
    effort = content.effort_word(request, model)
    match quirks.switch:
        case "effort":
            return {"reasoning_effort": effort} if effort is not None and not off else {}
        case "type":
            switched = {"type": "disabled" if off else "enabled"}
            asked = {} if effort is None or off else {"reasoning_effort": effort}
            return {} if thinking is None else {"thinking": switched, **asked}
        case "nested":
            if off:
                return {"reasoning": {"enabled": False}}
            if thinking is not None and thinking.budget is not None:
                return {"reasoning": {"max_tokens": thinking.budget}}
            if effort is not None:
                return {"reasoning": {"effort": effort}}
            return {} if thinking is None else {"reasoning": {"enabled": True}}
        case "template":
            return {} if thinking is None else {"chat_template_kwargs": {"enable_thinking": not off}}
        case "none":
            return {}


def _messages(request: ModelRequest, model: Model, quirks: Quirks, form: str) -> list[bytes]:
    history = request.history
    marks = quirks.cache_marks and request.cache and "claude" in model.wire_name
    start: list[bytes] = []
    text = content.system_text(request.system)
    names: dict[str, str] | None = None
    if request.tools and quirks.tool_mode == "schema":
        names = schema_calls.tool_names(request)
        text = "\n\n".join(part for part in (text, schema_calls.rule(request.tools)) if part)
        form = f"{form} schema"
    wire = CallForm.of(request)
    if text:
        spoken = [{"type": "text", "text": text, "cache_control": _MARK}] if marks else text
        start.append(to_json({"role": quirks.system_role, "content": spoken}))
    if not history.messages:
        return start

    def settled(message: SentMessage, origin: str | None) -> bytes:
        return _message(spoken_as(message), origin, request, model, quirks)

    def spoken_as(message: SentMessage) -> SentMessage:
        message = wire.message(message)
        return message if names is None else schema_calls.plain(message, names)

    known = history.encoded(form + wire.form, settled)
    latest = spoken_as(history.messages[-1])
    last = _message(latest, history.origins[-1], request, model, quirks, mark=marks)
    return [*start, *known, last]


def _message(
    message: SentMessage,
    origin: str | None,
    request: ModelRequest,
    model: Model,
    quirks: Quirks,
    *,
    mark: bool = False,
) -> bytes:
    """One message of ours as the one or more that it is here."""
    if message["role"] == "assistant":
        own = content.is_own(origin, request.model)
        return to_json(_answer(message["content"], quirks, own=own))
    sent = _user(message["content"], model, quirks)
    if mark:
        _put_mark(sent[-1])
    return b",".join(to_json(each) for each in sent)


def _answer(blocks: Any, quirks: Quirks, *, own: bool) -> dict[str, Any]:
    if isinstance(blocks, str):
        return {"role": "assistant", "content": blocks or content.EMPTY}
    text = "\n\n".join(block["text"] for block in blocks if block["type"] == "text" and block["text"].strip())
    calls = [_call(block, quirks) for block in blocks if block["type"] == "tool_use"]
    sent: dict[str, Any] = {"role": "assistant", "content": text or (None if calls else content.EMPTY)}
    if calls:
        sent["tool_calls"] = calls
    return sent | _thoughts(blocks, quirks, own=own, required=bool(calls))


def _thoughts(blocks: Any, quirks: Quirks, *, own: bool, required: bool) -> dict[str, Any]:
    """Reasoning of the same model goes back to it where its service takes it."""
    if not quirks.thoughts:
        return {}
    thinking = [block for block in blocks if block["type"] == "thinking"] if own else []
    if quirks.thoughts == "reasoning_details":
        details = [
            detail for block in thinking for detail in content.vendor_data(block, "chat").get("details", ())
        ]
        return {"reasoning_details": details} if details else {}
    text = "\n\n".join(block["thinking"] for block in thinking if block["thinking"])
    if not text and not (quirks.thoughts_required and required):
        return {}
    return {quirks.thoughts: text}


def _call(block: Any, quirks: Quirks) -> dict[str, Any]:
    function = {"name": block["name"], "arguments": content.input_text(block)}
    return {"id": _id(block["id"], quirks), "type": "function", "function": function}


def _user(blocks: Any, model: Model, quirks: Quirks) -> list[dict[str, Any]]:
    """Results come first and hold only text; their files follow in a message of the user."""
    able = {"images": model.images and quirks.images, "documents": model.documents and quirks.documents}
    results = [] if isinstance(blocks, str) else [block for block in blocks if block["type"] == "tool_result"]
    sent: list[dict[str, Any]] = []
    rest: list[content.Part] = []
    for block in results:
        parts = content.parts_of(block.get("content") or "", **able)
        text = content.result_text(block, parts)
        sent.append({"role": "tool", "tool_call_id": _id(block["tool_use_id"], quirks), "content": text})
        rest += [part for part in parts if not isinstance(part, str)]
    rest += content.parts_of(blocks, **able)
    if rest and sent and not quirks.user_after_result:
        added = content.text_of_parts([part if isinstance(part, str) else _left_out(part) for part in rest])
        sent[-1]["content"] += f"\n\n{added}"
    elif rest or not sent:
        sent.append({"role": "user", "content": _spoken(rest)})
    return sent


def _spoken(parts: list[content.Part]) -> str | list[dict[str, Any]]:
    if all(isinstance(part, str) for part in parts):
        # Plain text is what every server takes.
        return content.text_of_parts(parts) or content.EMPTY
    return [_part(part) for part in parts]


def _part(part: content.Part) -> dict[str, Any]:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    if part.is_image:
        return {"type": "image_url", "image_url": {"url": part.url}}
    return {"type": "file", "file": {"filename": part.title, "file_data": part.url}}


def _left_out(part: content.Attachment) -> str:
    return f"[A file ({part.media}) was omitted: this service accepts no files in tool results.]"


def _put_mark(message: dict[str, Any]) -> None:
    if isinstance(spoken := message["content"], str):
        spoken = [{"type": "text", "text": spoken}]
    message["content"] = [*spoken[:-1], {**spoken[-1], "cache_control": _MARK}]


def _id(identity: str, quirks: Quirks) -> str:
    return content.short_id(identity) if quirks.short_ids else identity
