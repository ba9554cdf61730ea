"""Text that can be stored: one line where one is wanted, and no half of a surrogate pair."""

import re
from typing import Any

import msgspec

_ESCAPE = (
    rb"(?s)\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    rb"|(?P<half>\\u[dD][89a-fA-F][0-9a-fA-F]{2})"
    rb"|\\."
)
"""Every escape of a JSON text, so that a backslash which is itself escaped begins none."""


def encodable(text: str) -> str:
    """The text with every lone surrogate made a replacement character.

    They stand for bytes of file names and arguments that are not UTF-8, or come from programs that cut text
    by UTF-16 units.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def unmarked(data: bytes) -> bytes:
    """UTF-8 without the mark that some editors put first; Python's codec for it is one more to import."""
    return data.removeprefix(b"\xef\xbb\xbf")


def printable(text: str, keep: str = "") -> str:
    """A text that cannot steer a terminal: all but printable characters and `keep` are replaced."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in keep else "\ufffd" for c in text)


def encodable_value(value: Any) -> Any:
    """A JSON-like value in which every text can be encoded."""
    match value:
        case str():
            return encodable(value)
        case list() | tuple():
            return [encodable_value(each) for each in value]
        case dict():
            return {encodable_value(key): encodable_value(each) for key, each in value.items()}
        case _:
            return value


def decode_json(data: bytes) -> Any:
    """A JSON text as plain values; escaped halves of surrogate pairs are replaced.

    Raises:
        msgspec.DecodeError: it is not JSON.
    """
    try:
        return msgspec.json.decode(data)
    except msgspec.DecodeError:
        if b"\\ud" not in data and b"\\uD" not in data:
            raise
        return msgspec.json.decode(whole_escapes(data))


def whole_escapes(data: bytes) -> bytes:
    """A JSON text in which escaped halves of surrogate pairs are replaced."""
    return re.sub(_ESCAPE, _paired, data)


def _paired(escape: re.Match[bytes]) -> bytes:
    return b"\\ufffd" if escape["half"] else escape[0]


def counted(number: int, one: str, many: str = "") -> str:
    """The number with its noun: `1 file`, `2 files`; `many` is the plural where adding an s is wrong."""
    return f"{number:,} {noun(number, one, many)}"


def noun(number: int, one: str, many: str = "") -> str:
    """The form of a noun that goes with a number."""
    return one if number == 1 else many or f"{one}s"


def one_line(text: str, limit: int = 500) -> str:
    """The text without line breaks, control characters or bytes that are no text, at most `limit` long."""
    shown = printable(text[: limit + 1])
    return shown if len(shown) <= limit else shown[: limit - 1] + "…"


def duration(seconds: float) -> str:
    """`0.4 s`, `12 s`, `3 min 5 s`, `2 h 4 min`."""
    if seconds < 10:
        return f"{max(seconds, 0):.1f} s"
    whole = int(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
