"""The escapes of `$'…'`, as bash takes them."""

import re

_ESCAPE = re.compile(
    r"\\(?:x\{([0-9a-fA-F]*)\}?|x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|([0-7]{1,3})"
    r"|c(\\\\|.)|([abeEfnrtv\\'\"?])|(.))",
    re.DOTALL,
)
_LETTERS = {
    "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v",
    "\\": "\\", "'": "'", '"': '"', "?": "?",
}  # fmt: skip


def unescaped(content: str) -> tuple[str, str | None]:
    """What stands between the quotes of `$'…'`, one character per byte, and what makes that uncertain."""
    doubts: list[str] = []

    def replaced(found: re.Match[str]) -> str:
        braced, two, four, eight, octal, control, letter, _ = found.groups()
        if letter:
            return _LETTERS[letter]
        if octal:
            return chr(int(octal, 8) & 0xFF)
        if two or braced is not None:
            return chr(int(two or braced or "0", 16) & 0xFF)
        if four or eight:
            number = int(four or eight, 16)
            if number > 0x7F:
                doubts.append("a character that depends on the locale")
                return chr(number).encode("utf-8", "replace").decode("latin-1") if number < 0x110000 else "?"
            return chr(number)
        if control:
            return chr(0x7F if control == "?" else ord(control[0].upper()) & 0x1F)
        doubts.append("an escape without a meaning")
        return found[0]

    text, nul, _ = _ESCAPE.sub(replaced, content).partition("\0")
    if nul:
        doubts.append("a character that ends the text")
    return text, doubts[0] if doubts else None
