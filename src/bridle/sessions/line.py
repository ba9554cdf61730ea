"""One line of a transcript as bytes."""

from collections.abc import Mapping
from typing import Any

import msgspec

_LINE_BREAKS = ((b"\xe2\x80\xa8", b"\\u2028"), (b"\xe2\x80\xa9", b"\\u2029"), (b"\xc2\x85", b"\\u0085"))


def encode_line(entry: Mapping[str, object]) -> bytes:
    """An entry as one line of JSON, with nothing in it that any reader takes for a line break."""
    try:
        line = msgspec.json.encode(entry)
    except UnicodeEncodeError:
        line = _mended(entry)
    for raw, escaped in _LINE_BREAKS:
        line = line.replace(raw, escaped)
    return line + b"\n"


def decode_line(line: bytes) -> dict[str, Any] | None:
    """The object on a line; None when the line is broken."""
    try:
        entry = msgspec.json.decode(line)
    except RecursionError:
        return None
    except ValueError:
        entry = _decode_halves(line)
    return entry if isinstance(entry, dict) else None


def _decode_halves(line: bytes) -> Any:
    """Read a line that holds half of a surrogate pair, as programs that cut text by UTF-16 units write it."""
    if b"\\ud" not in line and b"\\uD" not in line:
        return None
    import json

    try:
        return msgspec.json.decode(_mended(json.loads(line)))
    except (ValueError, RecursionError):
        return None


def _mended(entry: object) -> bytes:
    """JSON with every half of a surrogate pair replaced, because UTF-8 has no place for it."""
    import json

    text = json.dumps(entry, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()
