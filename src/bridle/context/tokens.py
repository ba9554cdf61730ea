"""How full the window is: counted by the service where it has counted, estimated for what came since."""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from bridle.context.text_units import text_units
from bridle.types.block import SentMessage
from bridle.types.history import History
from bridle.types.usage import Measured, Usage

_UNITS_PER_TOKEN = 4.0
"""Bytes of text that make a token where nothing better is known."""
USUAL_RATIO = 1 / _UNITS_PER_TOKEN
"""Tokens per unit, the same way."""
_LEAST_RATIO = 0.1
_MOST_RATIO = 1.0
_IMAGE_UNITS = 6_400
_PIXELS_PER_TOKEN = 750
_DOCUMENT_UNITS_PER_BYTE = 0.3
_FRAME_UNITS = 16
"""What a message costs beside its content."""


def weigh(message: SentMessage) -> int:
    """A message in units: about four make a token."""
    content = message["content"]
    if isinstance(content, str):
        return _FRAME_UNITS + text_units(content)
    return _FRAME_UNITS + sum(weigh_block(block) for block in content)


def weigh_block(block: Mapping[str, Any], size: Callable[[str], int] = text_units) -> int:
    """A block in units; `size` weighs text, `len` being the quick way for many."""
    match block.get("type"):
        case "text":
            return size(block["text"])
        case "thinking":
            return size(block["thinking"])
        case "tool_use" | "server_tool_use":
            return size(msgspec.json.encode(block["input"]).decode()) + len(block["name"])
        case "tool_result":
            content = block.get("content") or ""
            if isinstance(content, str):
                return _FRAME_UNITS + size(content)
            return _FRAME_UNITS + sum(weigh_block(part, size) for part in content)
        case "image":
            return _image_units(block)
        case "document":
            data = block.get("source", {}).get("data") or ""
            return round(len(data) * _DOCUMENT_UNITS_PER_BYTE) if isinstance(data, str) else _IMAGE_UNITS
        case _:
            return size(msgspec.json.encode(block).decode())


def measure(usage: Usage, answer: SentMessage, *, fixed: int, asked: int) -> Measured:
    """Set the scale by an answer.

    `fixed` is the weight of prompt and tools, `asked` that of the conversation that was sent with them.
    """
    whole = fixed + asked
    ratio = usage.context / whole if usage.context and whole else USUAL_RATIO
    # Services add text of their own and fakes invent counts; what no tokenizer does is not believed.
    ratio = min(max(ratio, _LEAST_RATIO), _MOST_RATIO)
    return Measured(usage.context + usage.output, asked + weigh(answer), ratio)


def ratio_of(measured: Measured | None) -> float:
    """Tokens per unit, as the service has counted, else as usual."""
    return USUAL_RATIO if measured is None else measured.ratio


def units_of(history: History) -> int:
    return sum(history.weights(weigh))


def tokens_now(history: History, measured: Measured | None, *, fixed: int) -> int:
    """How many tokens the next request will carry."""
    units = units_of(history)
    if measured is None:
        return round((fixed + units) / _UNITS_PER_TOKEN)
    return max(0, round(measured.tokens + (units - measured.units) * measured.ratio))


def estimate(text: str, ratio: float = USUAL_RATIO) -> int:
    """Tokens of some text on its own."""
    return round(text_units(text) * ratio)


def _image_units(block: Mapping[str, Any]) -> int:
    """What a picture takes by its size; one whose size is not known counts as a large one."""
    from bridle.context.image_size import picture_size

    match block.get("source"):
        case {"type": "base64", "data": str(data)} if (size := picture_size(data)) is not None:
            return min(_IMAGE_UNITS, round(size[0] * size[1] / _PIXELS_PER_TOKEN * _UNITS_PER_TOKEN))
        case _:
            return _IMAGE_UNITS
