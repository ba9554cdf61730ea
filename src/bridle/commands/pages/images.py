"""Images that a conversation carries, inside the page."""

import base64
import binascii
from typing import Any

from bridle.commands.pages.html import Html, el

_KINDS = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_LARGEST = 8_000_000


def image(block: Any) -> Html | None:
    """The picture of a block, or a word for it where it cannot be shown; None for other blocks."""
    match block:
        case {"type": "image", "source": {"media_type": str() as kind, "data": str() as data}}:
            if kind in _KINDS and len(data) <= _LARGEST and _is_base64(data):
                return Html(f'<img alt="image" src="data:{kind};base64,{data}">')
            return el("p", f"[{kind}]", class_="notice")
        case {"type": "image" | "document" as name}:
            return el("p", f"[{name}]", class_="notice")
        case _:
            return None


def _is_base64(data: str) -> bool:
    try:
        base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return False
    return True
