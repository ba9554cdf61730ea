"""A model request as the Messages API wants it, byte for byte the same as far as nothing changed."""

import re
from collections.abc import Mapping
from typing import Any, Literal

from msgspec.json import encode as to_json

from bridle.providers import catalog
from bridle.providers.dialects.on_demand import CallForm, sent_tools
from bridle.types.block import SentMessage, TextBlock
from bridle.types.model import ModelRequest, Thinking
from bridle.types.variables import is_on

CacheLife = Literal["5m", "1h"]

OURS = "bridle"
"""The key in a block under which a vendor's own data rests; only the dialect that put it there sends it."""

_LONG = "[1m]"
_FAMILIES = ("sonnet", "opus", "haiku", "fable")
_THOUGHTS = ("thinking", "redacted_thinking")
_MARKED_SYSTEM_BLOCKS = 2
_LOOKBACK = 20
"""So many blocks before a mark the service looks for what it has in its cache."""
_EMPTY: dict[str, Any] = {"type": "text", "text": "(no content)"}


def encode(
    request: ModelRequest,
    *,
    cache: CacheLife | None = "5m",
    experimental: bool = True,
    served: Mapping[str, Any] | None = None,
    images: bool = True,
    references: bool = False,
) -> bytes:
    """The body of `POST /v1/messages`; `messages` come last, so that earlier bytes stay as they were.

    `cache` is how long marked prefixes are kept, None for no marks; without `experimental` nothing is sent
    that needs a beta header. `served` is what stands in place of `model` and `stream` at services that have
    their own names for models, or take both from the address. Without `images` notes take their place. With
    `references` results may refer to tools that are not among those that every request begins with.
    """
    mark = _mark(cache) if request.cache else None
    usual = {"model": request.model.removesuffix(_LONG), "stream": request.stream}
    fields: dict[str, Any] = {**(usual if served is None else served), "max_tokens": request.max_tokens}
    if request.user_id is not None:
        fields["metadata"] = {"user_id": request.user_id}
    fields |= _thinking(request, experimental)
    if experimental and (output := _output(request)):
        fields["output_config"] = output
    return _joined(fields | dict(request.extra), request, mark, images=images, references=references)


def cache_life(env: Mapping[str, str], model: str, *, bedrock: bool = False) -> CacheLife | None:
    """How long marked prefixes of requests to a model are kept, as variables have it; None for no marks."""
    off = ["DISABLE_PROMPT_CACHING"]
    off += (f"DISABLE_PROMPT_CACHING_{name.upper()}" for name in _FAMILIES if name in model)
    if any(is_on(env, name) for name in off):
        return None
    older = bedrock and is_on(env, "ENABLE_PROMPT_CACHING_1H_BEDROCK")
    long = older or is_on(env, "ENABLE_PROMPT_CACHING_1H")
    return "1h" if long and not is_on(env, "FORCE_PROMPT_CACHING_5M") else "5m"


def betas(request: ModelRequest) -> list[str]:
    """The beta headers of the features that this request uses."""
    wanted: list[str] = list(request.betas)
    if _thinks(request.thinking):
        wanted.append("context-management-2025-06-27")
        if request.tools and request.thinking is not None and request.thinking.mode == "enabled":
            wanted.append("interleaved-thinking-2025-05-14")
    if request.effort is not None:
        wanted.append("effort-2025-11-24")
    if request.task_budget is not None:
        wanted.append("task-budgets-2026-03-13")
    if request.model.endswith(_LONG) and _is_short(request.model.removesuffix(_LONG)):
        wanted.append("context-1m-2025-08-07")
    return wanted


def _joined(
    fields: dict[str, Any],
    request: ModelRequest,
    mark: dict[str, str] | None,
    *,
    images: bool = True,
    references: bool = False,
) -> bytes:
    if request.system:
        fields["system"] = _system(request.system, mark)
    if request.tools:
        fields["tools"] = sent_tools(request.tools, references=references)
    messages = _messages(request, mark, images=images, wire=CallForm.of(request, references=references))
    return b"".join((to_json(fields)[:-1], b',"messages":[', b",".join(messages), b"]}"))


def _messages(
    request: ModelRequest, mark: dict[str, str] | None, *, images: bool, wire: CallForm
) -> list[bytes]:
    history = request.history
    if not history.messages:
        return []
    model = catalog.normal(request.model)

    def settled(message: SentMessage, origin: str | None) -> bytes:
        return _message(wire.message(message), origin, model=model, images=images)

    def marked(at: int) -> bytes:
        message = wire.message(history.messages[at])
        return _message(message, history.origins[at], model=model, images=images, mark=mark)

    # Thoughts are kept or left out by model, so each model has its own form of the history.
    form = f"anthropic {model}" if images else f"anthropic blind {model}"
    encoded = [*history.encoded(form + wire.form, settled), marked(-1)]
    if mark is not None and (at := _far_end(history.messages)) is not None:
        encoded[at] = marked(at)
    return encoded


def _far_end(messages: list[SentMessage]) -> int | None:
    """The last message of the request before, when it lies too far back to be found from the end."""
    at = len(messages) - 3
    if at < 0 or messages[at]["role"] != "user":
        return None
    since = sum(1 if isinstance(m["content"], str) else len(m["content"]) for m in messages[at + 1 :])
    return at if since >= _LOOKBACK else None


def _message(
    message: SentMessage,
    origin: str | None,
    *,
    model: str,
    images: bool,
    mark: dict[str, str] | None = None,
) -> bytes:
    foreign = origin is not None and catalog.normal(origin) != model
    blocks = _blocks(message["content"], foreign=foreign)
    if not images:
        blocks = [_blind(block) for block in blocks]
    if mark is not None:
        _put_mark(blocks, mark)
    return to_json({"role": message["role"], "content": blocks})


def _blocks(content: Any, *, foreign: bool) -> list[dict[str, Any]]:
    """What may be sent: no thoughts of another model, no blank text, no marks but ours."""
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    kept = [
        _clean(block)
        for block in content
        if not (block["type"] in _THOUGHTS and (foreign or not _is_signed(block)))
        and not (block["type"] == "text" and not block["text"].strip())
    ]
    return kept or [_EMPTY]


def _is_signed(block: dict[str, Any]) -> bool:
    """Whether thinking can go back: the same model behind another dialect gives no signature."""
    return block["type"] != "thinking" or bool(block.get("signature"))


def _clean(block: dict[str, Any]) -> dict[str, Any]:
    """A block without what this API does not know: data of other vendors, ids in a form of theirs."""
    if OURS in block:
        block = {key: value for key, value in block.items() if key != OURS}
    field = _ID_FIELDS.get(block["type"])
    if field is not None and re.search(_ODD_ID, block[field]):
        block = {**block, field: re.sub(_ODD_ID, "_", block[field])}
    return _unmarked(block)


_ID_FIELDS = {"tool_use": "id", "tool_result": "tool_use_id"}
_ODD_ID = r"[^a-zA-Z0-9_-]"


def _blind(block: dict[str, Any]) -> dict[str, Any]:
    inner = block.get("content")
    if isinstance(inner, list):
        return {**block, "content": [_blind(each) for each in inner]}
    if block["type"] in ("image", "document"):
        text = f"[A file ({block['type']}) was omitted: this model cannot see it.]"
        return {"type": "text", "text": text}
    return block


def _unmarked(block: dict[str, Any]) -> dict[str, Any]:
    inner = block.get("content")
    if isinstance(inner, list) and any(isinstance(each, dict) and "cache_control" in each for each in inner):
        block = {**block, "content": [_unmarked(each) for each in inner]}
    if "cache_control" in block:
        return {key: value for key, value in block.items() if key != "cache_control"}
    return block


def _put_mark(blocks: list[dict[str, Any]], mark: dict[str, str]) -> None:
    for index in reversed(range(len(blocks))):
        if blocks[index]["type"] not in _THOUGHTS:
            blocks[index] = {**blocks[index], "cache_control": mark}
            return


def _system(given: tuple[TextBlock, ...], mark: dict[str, str] | None) -> list[dict[str, Any]]:
    blocks = [_unmarked(dict(block)) for block in given if block["text"].strip()]
    if mark is not None:
        for block in blocks[-_MARKED_SYSTEM_BLOCKS:]:
            block["cache_control"] = mark
    return blocks


def _mark(life: CacheLife | None) -> dict[str, str] | None:
    if life is None:
        return None
    return {"type": "ephemeral"} if life == "5m" else {"type": "ephemeral", "ttl": life}


def _thinking(request: ModelRequest, experimental: bool) -> dict[str, Any]:
    thinking = request.thinking
    if thinking is None:
        return {}
    if thinking.mode == "disabled":
        # Such a model takes no word against thinking.
        always = catalog.find(request.model).thinking == "always"
        return {} if always or not thinking.sent else {"thinking": {"type": "disabled"}}
    form: dict[str, Any] = {"type": thinking.mode}
    if thinking.mode == "enabled":
        most = request.max_tokens - 1
        form["budget_tokens"] = most if thinking.budget is None else min(thinking.budget, most)
    if thinking.display is not None:
        form["display"] = thinking.display
    if not experimental:
        return {"thinking": form}
    kept = {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]}
    return {"thinking": form, "context_management": kept}


def _thinks(thinking: Thinking | None) -> bool:
    return thinking is not None and thinking.mode != "disabled"


def _output(request: ModelRequest) -> dict[str, Any]:
    output: dict[str, Any] = {}
    if request.effort is not None:
        output["effort"] = request.effort
    if request.task_budget is not None:
        output["task_budget"] = {"type": "tokens", "total": request.task_budget}
    return output


def _is_short(model: str) -> bool:
    return catalog.find(model).context_window < 1_000_000
