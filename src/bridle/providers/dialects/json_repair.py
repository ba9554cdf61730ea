"""Reads JSON objects that a model wrote not quite right, as long as there is one thing they can mean."""

import re
from typing import Any

_FENCE = re.compile(r"\s*```[a-zA-Z]*\s*\n(.*?)\n?\s*```\s*", re.DOTALL)
_BARE = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "/": "/", "\\": "\\", '"': '"', "'": "'"}
_WORDS = {"true": True, "false": False, "null": None, "True": True, "False": False, "None": None}
_LARGEST = 1_000_000
_DEEPEST = 60


def repair_json(text: str) -> dict[str, Any] | None:
    """The object that `text` means, None when that would be guessing.

    Repaired are fences around it, commas too many, single quotes, keys without quotes, line ends in strings,
    Python's words for constants, closing brackets missing at the end, and an empty object before the real
    one. A string that never ends is not: what it would do when cut short is not what was meant.
    """
    if len(text) > _LARGEST:
        return None
    if (fenced := _FENCE.fullmatch(text)) is not None:
        text = fenced[1]
    try:
        return _Reader(text).objects()
    except _UnclearError:
        return None


class _UnclearError(Exception):
    """There is no one way to read it."""


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._depth = 0

    def objects(self) -> dict[str, Any]:
        found: list[dict[str, Any]] = []
        while self._peek():
            value = self._value()
            if not isinstance(value, dict):
                raise _UnclearError
            if value and value not in found:
                found.append(value)
        if len(found) != 1:
            raise _UnclearError
        return found[0]

    def _peek(self) -> str:
        """The next character that is not space, empty at the end."""
        text = self._text
        while self._at < len(text) and text[self._at].isspace():
            self._at += 1
        return text[self._at] if self._at < len(text) else ""

    def _value(self) -> Any:
        match self._peek():
            case "{":
                return self._nested(self._object)
            case "[":
                return self._nested(self._array)
            case '"' | "'":
                return self._string()
            case _:
                return self._plain()

    def _nested(self, read: Any) -> Any:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise _UnclearError
        self._at += 1
        value = read()
        self._depth -= 1
        return value

    def _object(self) -> dict[str, Any]:
        value: dict[str, Any] = {}
        while (next_one := self._peek()) not in ("}", ""):
            if next_one == ",":
                self._at += 1
                continue
            key = self._string() if next_one in "\"'" else self._word()
            if self._peek() != ":":
                raise _UnclearError
            self._at += 1
            value[key] = self._value()
            if self._peek() not in (",", "}", ""):
                raise _UnclearError
        self._at += 1
        return value

    def _array(self) -> list[Any]:
        value: list[Any] = []
        while (next_one := self._peek()) not in ("]", ""):
            if next_one == ",":
                self._at += 1
                continue
            value.append(self._value())
            if self._peek() not in (",", "]", ""):
                raise _UnclearError
        self._at += 1
        return value

    def _string(self) -> str:
        quote = self._text[self._at]
        self._at += 1
        parts: list[str] = []
        while self._at < len(self._text):
            char = self._text[self._at]
            self._at += 1
            if char == quote:
                return "".join(parts).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
            parts.append(self._escaped() if char == "\\" else char)
        raise _UnclearError

    def _escaped(self) -> str:
        char = self._text[self._at : self._at + 1]
        self._at += 1
        if char == "u" and re.fullmatch(r"[0-9a-fA-F]{4}", digits := self._text[self._at : self._at + 4]):
            self._at += 4
            return chr(int(digits, 16))
        # A backslash before anything else was meant as itself: models write patterns so.
        return _ESCAPES.get(char, f"\\{char}")

    def _word(self) -> str:
        if (match := _BARE.match(self._text, self._at)) is None:
            raise _UnclearError
        self._at = match.end()
        return match[0]

    def _plain(self) -> Any:
        if (match := _NUMBER.match(self._text, self._at)) is not None:
            self._at = match.end()
            return float(match[0]) if re.search(r"[.eE]", match[0]) else int(match[0])
        word = self._word()
        if word not in _WORDS:
            raise _UnclearError
        return _WORDS[word]
