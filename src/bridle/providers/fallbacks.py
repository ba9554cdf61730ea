"""Whether another model can take a request over, as what, and for which price."""

from typing import Any

from msgspec.json import encode as to_json
from msgspec.structs import replace

from bridle.providers.facts import Model
from bridle.types.model import ModelRequest

_BYTES_PER_TOKEN = 4
_TOKENS_PER_FILE = 1_600
_LEAST_ANSWER = 1_000


def lack(request: ModelRequest, model: Model) -> str | None:
    """What the model lacks for this request, None when nothing."""
    if request.tools and not model.tools:
        return "it cannot call tools"
    if not model.images and _has_fresh_image(request):
        return "it cannot see the image"
    size = estimate(request)
    if size + _LEAST_ANSWER > model.context_window:
        return f"its window of {model.context_window} tokens is too small for about {size}"
    return None


def shortcomings(before: Model, after: Model) -> tuple[str, ...]:
    """What a conversation loses when it continues with another model."""
    lost: list[str] = []
    if before.tools and not after.tools:
        lost.append("It cannot call tools, so sessions with tools skip it.")
    if before.images and not after.images:
        lost.append("It cannot see images, so turns with images skip it.")
    if after.context_window < before.context_window:
        lost.append(f"Conversations above {after.context_window:,} tokens skip it.")
    return tuple(lost)


def fitted(request: ModelRequest, model: Model) -> ModelRequest:
    """The request as the model can take it."""
    thinking = request.thinking
    if model.thinking == "none":
        thinking = None
    elif thinking is not None and thinking.mode != "disabled":
        thinking = model.default_thinking()
    room = max(_LEAST_ANSWER, model.context_window - estimate(request))
    return replace(
        request,
        model=model.id,
        max_tokens=min(request.max_tokens, model.max_output, room),
        thinking=thinking,
        effort=request.effort if request.effort in model.efforts else None,
    )


def price_change(before: Model, after: Model) -> tuple[str, ...]:
    """What a million tokens cost from here on, when both prices are known and differ."""
    old = (before.input_price, before.output_price)
    new = (after.input_price, after.output_price)
    if not before.priced or not after.priced or old == new:
        return ()
    read = f"${new[0]:g} instead of ${old[0]:g} per million input tokens"
    return (f"{after.id} costs {read}, ${new[1]:g} instead of ${old[1]:g} per million output tokens.",)


def estimate(request: ModelRequest) -> int:
    """About how many tokens the request has."""
    size = len(to_json((request.system, request.tools)))
    files = 0
    for message in request.history.messages:
        content: Any = message["content"]
        if isinstance(content, str):
            size += len(content)
            continue
        for block in content:
            inner = block.get("content")
            if block["type"] in ("image", "document"):
                files += 1
            elif isinstance(inner, list):
                files += sum(each["type"] in ("image", "document") for each in inner)
                size += sum(len(each.get("text", "")) for each in inner)
            else:
                size += len(to_json(block))
    return size // _BYTES_PER_TOKEN + files * _TOKENS_PER_FILE


def _has_fresh_image(request: ModelRequest) -> bool:
    """Whether the current turn has an image; of older ones a note is enough."""
    for message in reversed(request.history.messages):
        content: Any = message["content"]
        if message["role"] == "assistant":
            continue
        if isinstance(content, str):
            return False
        inner = [
            each for block in content if isinstance(block.get("content"), list) for each in block["content"]
        ]
        if any(block["type"] == "image" for block in (*content, *inner)):
            return True
        if not any(block["type"] == "tool_result" for block in content):
            return False
    return False
