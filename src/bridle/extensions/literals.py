"""Reads the value of `export const meta = …` at the head of a script without running any of it."""

import re
from typing import Any, NoReturn

from bridle.types.errors import ConfigError
from bridle.types.text import encodable

_DEEPEST = 30
_HEAD = ("export", "const", "meta", "=")
_SPACE = re.compile(r"(?:[\s\ufeff]|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_WORD = re.compile(r"[A-Za-z_$][\w$]*")
_NUMBER = re.compile(
    r"[+-]?\s*(?:0[xX][\da-fA-F_]+|0[oO][0-7_]+|0[bB][01_]+|(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:[eE][+-]?\d+)?)"
)
_TEXT = re.compile(r"'((?:[^'\\\n]|\\.)*)'|\"((?:[^\"\\\n]|\\.)*)\"|`((?:[^`\\]|\\.)*)`", re.DOTALL)
_ESCAPE = re.compile(r"\\(u\{([\da-fA-F]{1,6})\}|u([\da-fA-F]{4})|x([\da-fA-F]{2})|\r\n|.)", re.DOTALL)
_INSERTION = re.compile(r"(?<!\\)(?:\\\\)*\$\{")
_LETTERS = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0", "\n": "", "\r\n": ""}
_NAMED: dict[str, Any] = {"true": True, "false": False, "null": None, "undefined": None}


def read_literal(source: str) -> Any:
    """The value that the first statement of a script gives to `meta`.

    Raises:
        ConfigError: the script does not begin so, or the value is no plain literal; it names the line.
    """
    reader = _Reader(source)
    for word in _HEAD:
        if not reader.takes(word):
            raise ConfigError(f"line {reader.line()}: a script begins with `export const meta = {{…}}`")
    return reader.value(0)


class _Reader:
    def __init__(self, source: str) -> None:
        self._source = source
        self._at = 0
        self._skip()

    def line(self) -> int:
        return self._source.count("\n", 0, self._at) + 1

    def takes(self, token: str) -> bool:
        """Whether a word or a sign comes next; if so, it is behind us."""
        found = _WORD.match(self._source, self._at)
        if (found[0] != token) if found is not None else not self._source.startswith(token, self._at):
            return False
        self._at += len(token)
        self._skip()
        return True

    def value(self, depth: int) -> Any:
        if depth > _DEEPEST:
            self._complain("is nested too deeply")
        if self.takes("{"):
            value: Any = self._members(depth)
        elif self.takes("["):
            value = self._items(depth)
        elif (found := _TEXT.match(self._source, self._at)) is not None:
            value = self._text(found)
        elif (found := _NUMBER.match(self._source, self._at)) is not None:
            self._pass(found)
            value = _number(found[0])
        else:
            value = self._named()
        self._end_of_value()
        return value

    def _members(self, depth: int) -> dict[str, Any]:
        members: dict[str, Any] = {}
        while not self.takes("}"):
            name = self._name()
            if not self.takes(":"):
                self._complain("calls or declares a function" if self._next("(") else "uses a variable")
            members[name] = self.value(depth + 1)
            if not self.takes(",") and not self._next("}"):
                self._complain("is missing a comma or a closing brace")
        return members

    def _items(self, depth: int) -> list[Any]:
        items: list[Any] = []
        while not self.takes("]"):
            items.append(self.value(depth + 1))
            if not self.takes(",") and not self._next("]"):
                self._complain("is missing a comma or a closing bracket")
        return items

    def _name(self) -> str:
        if self._next("..."):
            self._complain("spreads another value")
        if self._next("["):
            self._complain("computes a name")
        if (found := _TEXT.match(self._source, self._at)) is not None:
            return self._text(found)
        found = _WORD.match(self._source, self._at) or _NUMBER.match(self._source, self._at)
        if found is None:
            self._complain(f"has {self._shown()} in place of a name")
        self._pass(found)
        return found[0]

    def _text(self, found: re.Match[str]) -> str:
        raw = next(group for group in found.groups() if group is not None)
        if found[3] is not None and _INSERTION.search(raw):
            self._complain("inserts a value into a string")
        self._pass(found)
        return encodable(_ESCAPE.sub(_character, raw))

    def _named(self) -> Any:
        if self._next("..."):
            self._complain("spreads another value")
        found = _WORD.match(self._source, self._at)
        if found is None:
            self._complain(f"has {self._shown()} in place of a value")
        if found[0] not in _NAMED:
            behind = self._source[_after_space(self._source, found.end()) :]
            calls = behind.startswith(("(", ".")) or found[0] in ("new", "function", "async")
            self._complain("calls a function" if calls else f"uses a variable, {found[0]}")
        self._pass(found)
        return _NAMED[found[0]]

    def _end_of_value(self) -> None:
        """Only what closes or parts values may come after one, or the next statement."""
        rest = self._source[self._at : self._at + 1]
        if rest and rest in "+-*/%.([`?&|<>":
            self._complain("calls a function" if rest in ".(`" else "computes a value")

    def _next(self, sign: str) -> bool:
        return self._source.startswith(sign, self._at)

    def _pass(self, found: re.Match[str]) -> None:
        self._at = found.end()
        self._skip()

    def _skip(self) -> None:
        self._at = _after_space(self._source, self._at)

    def _shown(self) -> str:
        return repr(self._source[self._at]) if self._at < len(self._source) else "its end"

    def _complain(self, what: str) -> NoReturn:
        raise ConfigError(f"meta must be a plain literal: line {self.line()} {what}")


def _after_space(source: str, at: int) -> int:
    found = _SPACE.match(source, at)
    return at if found is None else found.end()


def _character(found: re.Match[str]) -> str:
    code = found[2] or found[3] or found[4]
    if code is not None:
        return chr(min(int(code, 16), 0x10FFFF))
    return _LETTERS.get(found[1], found[1])


def _number(text: str) -> int | float:
    plain = re.sub(r"[\s_]", "", text)
    sign = -1 if plain.startswith("-") else 1
    digits = plain.lstrip("+-")
    prefixed = digits[:2].lower() in ("0x", "0o", "0b")
    try:
        number = float(int(digits, 0) if prefixed else digits)
    except OverflowError:
        number = float("inf")
    return sign * (int(number) if number.is_integer() and number < 2**53 else number)
