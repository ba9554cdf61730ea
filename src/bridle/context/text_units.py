"""How much room a text takes, judged by the kinds of characters in it; about four units make a token."""

_SHORT = 384
"""Up to so many characters a text is looked at as a whole."""
_SLICE = 256
_APART = 2_048
"""Of a longer text one slice is looked at in each stretch of this length."""
_MOST_SLICES = 16
_LONG_WORD = 10


def text_units(text: str) -> int:
    """The room that a text takes; of a long one some slices are looked at, so the cost is bounded."""
    looked_at = text if len(text) <= _SHORT else _slices(text)
    if not looked_at:
        return 0
    return round(_units(looked_at.encode(errors="surrogatepass")) * len(text) / len(looked_at))


def _slices(text: str) -> str:
    count = min(_MOST_SLICES, 1 + len(text) // _APART)
    apart = len(text) // count
    begin = (apart - _SLICE) // 2
    return "".join(text[begin + apart * at : begin + apart * at + _SLICE] for at in range(count))


def _units(data: bytes) -> float:
    """Weights that fit the tokenizers of several vendors to a few percent on prose, code and data."""
    letters = data.translate(_LETTERS)
    digits = data.translate(_DIGITS).replace(b"000", b" 1 ")
    marks = data.translate(_MARKS)
    words = len(letters.split())
    spelled = len(data) - letters.count(b" ")
    units = (
        2.35 * words
        + 0.42 * spelled
        # No vocabulary has endless words: what is no language is cut into small pieces.
        + 0.58 * max(0, spelled - _LONG_WORD * words)
        + 6.57 * letters.count(b"aA")
        + 0.5 * letters.count(b"A")
        + 5.48 * len(digits.split())
        + 2.56 * len(marks.split())
        + 0.11 * (len(data) - marks.count(b" "))
        # Many vocabularies hold words with the underscore before them.
        - 0.8 * data.count(b"_")
        + 2.8 * data.count(b"\n")
        + 5.39 * data.translate(_GAPS).count(b"xss")
    )
    return units if data.isascii() else units + _foreign_units(data)


def _foreign_units(data: bytes) -> float:
    """What characters outside of ASCII take, by the number of bytes that each has."""
    high = data.translate(None, bytes(range(0x80)))
    return sum(
        weight * (len(high) - len(high.translate(None, first)))
        for weight, first in ((1.96, _TWO_BYTES), (4.1, _THREE_BYTES), (10.0, _FOUR_BYTES))
    )


def _map(*kinds: tuple[str, str], other: str) -> bytes:
    """A table that turns characters into the letter for their kind."""
    table = bytearray(other.encode() * 256)
    for letter, characters in kinds:
        for character in characters.encode():
            table[character] = ord(letter)
    return bytes(table)


_LOWER = "abcdefghijklmnopqrstuvwxyz"
_LETTERS = _map(("a", _LOWER), ("A", _LOWER.upper()), other=" ")
_DIGITS = _map(("0", "0123456789"), other=" ")
_MARKS = _map(("!", "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"), other=" ")
_GAPS = _map(("s", " \t"), other="x")
_TWO_BYTES, _THREE_BYTES, _FOUR_BYTES = (
    bytes(range(0xC2, 0xE0)),
    bytes(range(0xE0, 0xF0)),
    bytes(range(0xF0, 0xF5)),
)
