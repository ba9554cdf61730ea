"""One line of a transcript as bytes."""

from collections.abc import Mapping
from typing import Any

import msgspec

from bridle.types.text import decode_json, encodable_value

_LINE_BREAKS = ((b"\xe2\x80\xa8", b"\\u2028"), (b"\xe2\x80\xa9", b"\\u2029"), (b"\xc2\x85", b"\\u0085"))


def encode_line(entry: Mapping[str, object]) -> bytes:
    """An entry as one line of JSON, with nothing in it that any reader takes for a line break."""
    try:
        line = msgspec.json.encode(entry)
    except UnicodeEncodeError:
        line = msgspec.json.encode(encodable_value(entry))
    for raw, escaped in _LINE_BREAKS:
        line = line.replace(raw, escaped)
    return line + b"\n"


def decode_line(line: bytes) -> dict[str, Any] | None:
    """The object on a line; None when the line is broken."""
    try:
        entry = decode_json(line)
    except (ValueError, RecursionError):
        return None
    return entry if isinstance(entry, dict) else None
