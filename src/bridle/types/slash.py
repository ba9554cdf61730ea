"""Reads a line that begins with a slash; every way into a session reads it here and nowhere else."""

import re
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from bridle.types.turn import Prompt

_UNSEEN = (
    "\x00-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202f"
    "\u205f-\u206f\u2800\u3000\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffc\U000e0000-\U000e0fff"
)
"""Invisible characters, besides those that Python calls white space."""
_BLANKS = f"[\\s{_UNSEEN}]+"
_LINE = f"[\\s{_UNSEEN}]*[/\uff0f]([^/\uff0f\\s{_UNSEEN}]+)(?=[\\s{_UNSEEN}]|$)"
_NAME = r"[\w.:-]+"
"""Patterns are compiled when a text may need them: most prompts begin with a letter."""


class SlashLine(Struct, frozen=True):
    """A line that may call a command."""

    name: str
    """As it was written."""
    plain: str
    """The name in lower case and ordinary letters."""
    rest: str
    """What stands behind the name and the blanks that follow it."""


def read_slash_line(text: str) -> SlashLine | None:
    """The name behind a slash at the start of a text, and the rest; None where none stands there.

    Blanks of every kind and invisible characters may stand before the slash and end the name; a wide
    slash is a slash. A name with another slash in it is a path.
    """
    match = re.match(_LINE, text)
    if match is None:
        return None
    plain = _plain(match[1])
    if re.fullmatch(_NAME, match[1]) is None or re.fullmatch(_NAME, plain) is None:
        return None
    rest = text[match.end() :]
    blanks = re.match(_BLANKS, rest)
    return SlashLine(match[1], plain, (rest if blanks is None else rest[blanks.end() :]).rstrip())


def begins_with_slash(text: str) -> bool:
    """Whether a text could call a command; cheap, for prompts that mostly do not."""
    if text[:1].isascii() and text[:1].isalnum():
        return False
    blanks = re.match(_BLANKS, text)
    return text.startswith(("/", "\uff0f"), 0 if blanks is None else blanks.end())


def may_be_command(prompt: "Prompt") -> bool:
    """Whether a prompt could call a command: a person or a program wrote it, and it begins with a slash."""
    if prompt.verbatim or prompt.meta:
        return False
    content = prompt.content
    if isinstance(content, str):
        return begins_with_slash(content)
    return any(block["type"] == "text" and begins_with_slash(block["text"]) for block in content)


def _plain(name: str) -> str:
    if name.isascii():
        return name.lower()
    from unicodedata import normalize  # Hardly any start needs its tables.

    return normalize("NFKC", name).casefold()
