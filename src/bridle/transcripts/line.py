"""One line of a transcript: its bytes, its ids and its time."""

import re
import time
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


_UUID = r"(?i)[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"


def is_uuid(text: str) -> bool:
    return re.fullmatch(_UUID, text) is not None


def timestamp(seconds: float) -> str:
    """A moment since the epoch as ISO 8601 in UTC with milliseconds."""
    whole, milliseconds = divmod(int(seconds * 1000), 1000)
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(whole))}.{milliseconds:03d}Z"
