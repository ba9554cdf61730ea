"""Reads keys, pastes and answers from the bytes a terminal sends."""

import codecs
import re
from collections.abc import Iterator

from msgspec import Struct

CSI_LETTERS = {
    "A": "up", "B": "down", "C": "right", "D": "left", "E": "begin", "F": "end", "H": "home",
    "P": "f1", "Q": "f2", "R": "f3", "S": "f4",
}  # fmt: skip

CSI_NUMBERS = {
    1: "home", 2: "insert", 3: "delete", 4: "end", 5: "pageup", 6: "pagedown", 7: "home", 8: "end",
    11: "f1", 12: "f2", 13: "f3", 14: "f4", 15: "f5", 17: "f6", 18: "f7", 19: "f8", 20: "f9", 21: "f10",
    23: "f11", 24: "f12",
}  # fmt: skip

SS3_NAMES = {**CSI_LETTERS, "M": "enter"}

FUNCTIONAL = {
    **{57399 + digit: str(digit) for digit in range(10)},
    57409: ".", 57410: "/", 57411: "*", 57412: "-", 57413: "+", 57414: "enter", 57415: "=", 57416: ",",
    57417: "left", 57418: "right", 57419: "up", 57420: "down", 57421: "pageup", 57422: "pagedown",
    57423: "home", 57424: "end", 57425: "insert", 57426: "delete", 57427: "begin",
    **{57376 + number: f"f{13 + number}" for number in range(23)},
}  # fmt: skip
"""Keys of the kitty protocol that have no character of their own."""


_PASTE_END = "\x1b[201~"
_LONGEST_STRING = 64 * 1024
_TYPED_AT_ONCE = 32
"""So many characters in one read were not typed: they are taken together, which is faster by far."""

_CSI = re.compile(r"\x1b\[([0-?]*)([ -/]*)([@-~])")
_STRING = re.compile(r"\x1b([\]PX^_])([^\x07\x1b]*)(\x07|\x1b\\)")
_UNFINISHED = re.compile(r"\x1b(\[[0-?]*[ -/]*|[\]PX^_][^\x07\x1b]*\x1b?|O|)$")
_PRINTABLE = re.compile(r"[^\x00-\x1f\x7f-\x9f]+")
_CONTROLS = {
    "\x00": "space", "\x1c": "\\", "\x1d": "]", "\x1e": "^", "\x1f": "_",
}  # fmt: skip
_NAMED = {"\t": "tab", "\r": "enter", "\x1b": "escape", "\x7f": "backspace", " ": "space"}


class Key(Struct, frozen=True):
    """One press of a key."""

    name: str
    """`a`, `?`, `enter`, `up`, `f5`; letters in lower case."""
    ctrl: bool = False
    alt: bool = False
    shift: bool = False
    super: bool = False
    text: str = ""
    """What the key types; empty when it types nothing."""

    def __str__(self) -> str:
        held = (("ctrl", self.ctrl), ("alt", self.alt), ("shift", self.shift), ("super", self.super))
        return "+".join([*(name for name, down in held if down), self.name])


class Paste(Struct, frozen=True):
    """Text that came in one piece."""

    text: str


class Focus(Struct, frozen=True):
    """The window of the terminal gained or lost the attention of the user."""

    gained: bool


class Answer(Struct, frozen=True):
    """What the terminal says about itself when asked."""

    kind: str
    """`attributes`, `keyboard`, `mode`, `position`, `color`, `version`, or `other`."""
    values: tuple[int, ...] = ()
    text: str = ""


Input = Key | Paste | Focus | Answer


_CUT_OFF = re.compile(r"\x1b\[[<=>?]?\d[\d;:]*")


class KeyReader:
    """Turns bytes into input however they are cut into pieces."""

    def __init__(self, *, backspace_is_ctrl: bool = False) -> None:
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._text = ""
        self._pasted: list[str] | None = None
        self._backspace_is_ctrl = backspace_is_ctrl

    @property
    def is_waiting(self) -> bool:
        """Whether what has come so far may be the start of more: after a short while, call `flush`."""
        return bool(self._text) and self._pasted is None

    def feed(self, data: bytes) -> list[Input]:
        """The input that is complete with these bytes."""
        self._text += self._decode(data)
        return list(self._read())

    def flush(self) -> list[Input]:
        """Nothing more has come: an unfinished sequence was typed by hand."""
        if self._pasted is not None:
            return []
        held, self._text = self._text, ""
        if _CUT_OFF.fullmatch(held):
            return []  # No hand types that: the terminal has begun to answer something.
        if not held.startswith("\x1b"):
            return list(self._plain(held))
        rest = held[1:]
        if not rest:
            return [Key("escape")]
        return [self._key(rest[0], alt=True), *self._plain(rest[1:])]

    def _read(self) -> Iterator[Input]:
        while self._text:
            if self._pasted is not None:
                if (paste := self._continue_paste(self._pasted)) is None:
                    return
                yield paste
            elif self._text[0] != "\x1b":
                plain, escape, rest = self._text.partition("\x1b")
                self._text = escape + rest
                yield from self._plain(plain)
            elif _UNFINISHED.match(self._text) and len(self._text) < _LONGEST_STRING:
                return
            else:
                yield from self._sequence()

    def _continue_paste(self, parts: list[str]) -> Paste | None:
        before, end, after = self._text.partition(_PASTE_END)
        if not end:
            # The end itself may come in pieces.
            keep = next((n for n in range(5, 0, -1) if self._text.endswith(_PASTE_END[:n])), 0)
            cut = len(self._text) - keep
            parts.append(self._text[:cut])
            self._text = self._text[cut:]
            return None
        self._pasted, self._text = None, after
        text = "".join([*parts, before])
        return Paste(text.replace("\r\n", "\n").replace("\r", "\n"))

    def _plain(self, text: str) -> Iterator[Input]:
        """Text without escape characters."""
        if len(text) < _TYPED_AT_ONCE:
            yield from (self._key(character) for character in text)
            return
        at = 0
        while at < len(text):
            run = _PRINTABLE.match(text, at)
            if run is not None and len(run[0]) >= _TYPED_AT_ONCE:
                yield Paste(run[0])
                at = run.end()
            else:
                yield self._key(text[at])
                at += 1

    def _sequence(self) -> Iterator[Input]:
        text = self._text
        if (found := _CSI.match(text)) is not None:
            yield from self._csi(found)
        elif (string := _STRING.match(text)) is not None:
            self._text = text[string.end() :]
            yield _answer_of_string(string[1], string[2])
        elif text[1] == "O" and len(text) > 2 and text[2] in SS3_NAMES:
            self._text = text[3:]
            yield Key(SS3_NAMES[text[2]])
        elif text[1] == "\x1b":
            self._text = text[1:]
            yield Key("escape")
        else:
            self._text = text[2:]
            yield self._key(text[1], alt=True)

    def _csi(self, found: re.Match[str]) -> Iterator[Input]:
        parameters, between, final = found.groups()
        size = found.end()
        if final == "M" and not parameters:
            size += 3  # The oldest form of mouse reports: three more characters.
        self._text = self._text[size:]
        if parameters == "200" and final == "~":
            self._pasted = []
        elif parameters[:1] in "<=>?" and parameters:
            yield from _answer_of_csi(parameters, between, final)
        elif final in "IO" and not parameters:
            yield Focus(gained=final == "I")
        elif final == "R" and not parameters.startswith("1;"):
            yield Answer("position", _numbers(parameters))
        elif (key := _csi_key(parameters, final)) is not None:
            yield key

    def _key(self, character: str, *, alt: bool = False) -> Key:
        if character == "\x08":
            return Key("backspace", ctrl=self._backspace_is_ctrl, alt=alt)
        if (name := _NAMED.get(character)) is not None:
            return Key(name, alt=alt, text=" " if character == " " and not alt else "")
        if character < " ":
            return Key(_CONTROLS.get(character) or chr(ord(character) + 0x60), ctrl=True, alt=alt)
        shift = character.isupper() and len(character.lower()) == 1
        return Key(
            character.lower() if shift else character, alt=alt, shift=shift, text="" if alt else character
        )


def _csi_key(parameters: str, final: str) -> Key | None:
    fields = [field.split(":") for field in parameters.split(";")]
    numbers = _numbers(parameters)
    held = numbers[1] if len(fields) > 1 else 1
    is_release = len(fields) > 1 and fields[1][1:2] == ["3"]
    if is_release:
        return None
    if final == "u":
        return _code_key(numbers[0], held, shifted=fields[0][1:2])
    if final == "~":
        if numbers[0] == 27 and len(fields) > 2:
            return _code_key(numbers[2], held, shifted=[])
        name = CSI_NUMBERS.get(numbers[0])
    elif final == "Z":
        return Key("tab", shift=True)
    else:
        name = CSI_LETTERS.get(final)
    return None if name is None else _held(name, held)


def _code_key(code: int, held: int, *, shifted: list[str]) -> Key | None:
    """A key of the protocols that send code points."""
    if (name := FUNCTIONAL.get(code)) is not None:
        return _held(name, held, text=name if len(name) == 1 else "")
    if code > 0x10FFFF or 57344 <= code <= 63743 or 0xD800 <= code <= 0xDFFF:
        return None
    character = chr(code)
    if (named := _NAMED.get(character)) is not None:
        return _held(named, held, text=" " if character == " " else "")
    if code < 32:
        return None
    if (held - 1) & 1 and shifted and shifted[0].isdigit() and 32 <= int(shifted[0]) < 0xD800:
        upper = chr(int(shifted[0]))
    else:
        upper = character.upper() if (held - 1) & 1 and len(character.upper()) == 1 else character
    return _held(character.lower() if len(character.lower()) == 1 else character, held, text=upper)


def _held(name: str, held: int, *, text: str = "") -> Key:
    bits = max(held - 1, 0)
    ctrl, alt, command = bool(bits & 4), bool(bits & (2 | 32)), bool(bits & (8 | 16))
    typed = "" if ctrl or alt or command else text
    return Key(name, ctrl=ctrl, alt=alt, shift=bool(bits & 1), super=command, text=typed)


_HELD = 4 | 8 | 16
"""Shift, meta and control in a report of the mouse."""


def _answer_of_csi(parameters: str, between: str, final: str) -> Iterator[Answer | Key]:
    numbers = _numbers(parameters[1:])
    match parameters[0], between, final:
        case "?", "", "c":
            yield Answer("attributes", numbers)
        case "?", "", "u":
            yield Answer("keyboard", numbers)
        case "?", "$", "y":
            yield Answer("mode", numbers)
        case "<", "", "M" if numbers[0] & ~_HELD in (64, 65):
            yield Key("wheeldown" if numbers[0] & 1 else "wheelup")
        case _:
            pass  # Clicks, and answers to others' questions.


def _answer_of_string(kind: str, text: str) -> Answer:
    if kind == "]" and (found := _COLOR.match(text)) is not None:
        which, *parts = found.groups()
        return Answer("color", (int(which), *(int(part[:2].ljust(2, part[0]), 16) for part in parts)))
    if kind == "P" and text.startswith(">|"):
        return Answer("version", text=text[2:])
    return Answer("other", text=text)


_COLOR = re.compile(r"(1[01]);rgba?:([0-9a-fA-F]{1,4})/([0-9a-fA-F]{1,4})/([0-9a-fA-F]{1,4})")


def _numbers(parameters: str) -> tuple[int, ...]:
    """The first number of every field; a missing one is 0, a wild one is cut."""
    return tuple(
        int(head[:7]) if (head := field.partition(":")[0]).isdecimal() else 0
        for field in parameters.split(";")
    )
