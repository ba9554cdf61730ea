"""Text for a terminal: everything that could steer it, or stay unseen on it, is shown by name."""

TYPE_CHECKING = False  # As in `typing`, which `--version` does without.
if TYPE_CHECKING:
    import re

HIDDEN = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f"  # control characters of both sets, the beginning of every sequence
    "\xad\u061c\u180e\u200b\u200e\u200f\u2060-\u2065\ufeff"  # invisible
    "\u2028-\u202e\u2066-\u206f\ufff0-\ufffb"  # breaks, reordering, annotations
    "\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0"  # letters that look like nothing
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e00ff"  # formats, tags
    "\ud800-\udfff"  # bytes that are not text
)
"""What can move the cursor, reorder letters or be overlooked, as the inside of a character class.

Line breaks and tabs are not in it, nor what scripts and emoji need: joiners and variation selectors."""
_UNSEEN = "\xad\u061c\u180e\u200b\u200e\u200f\u2060-\u2064\ufeff"
"""Of those, what prose in many scripts is full of; without it the letters are the same."""


def visible(text: str) -> str:
    """A text that neither steers a terminal nor hides anything on it; line breaks and tabs stay."""
    if text.isascii() and text.replace("\n", "").isprintable():
        return text
    # Imported when first needed: this module is read at every start.
    import re

    return re.sub(f"[{HIDDEN}]", _name, text)


def visible_line(text: str) -> str:
    """`visible` for a name or another text of one line: line breaks and tabs are shown by name, too."""
    if text.isascii() and text.isprintable():
        return text
    return visible(text).replace("\n", "\u240a").replace("\t", "\u2409")


def visible_prose(text: str) -> str:
    """`visible` for answers and other prose: hints about breaks and order are left out, not named."""
    if text.isascii() and text.replace("\n", "").isprintable():
        return text
    import re

    return visible(re.sub(f"[{_UNSEEN}]", "", text))


def _name(found: "re.Match[str]") -> str:
    code = ord(found[0])
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\u2421"
    if 0xDC80 <= code <= 0xDCFF:
        return f"<{code - 0xDC00:02X}>"
    return f"<U+{code:04X}>"
