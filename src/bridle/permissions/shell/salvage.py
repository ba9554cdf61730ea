"""What can still be recognised in a command that does not parse, for rules that deny or ask."""

import re
from collections.abc import Iterator

from bridle.permissions.shell.forms import deny_forms, every_command
from bridle.permissions.shell.simple import Simple
from bridle.permissions.shell.words import Word
from bridle.types.shell import Part

_BOUNDARY = re.compile(r"[;|&<>`(){}\r\n]|\$\(")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")
_QUOTING = re.compile(r"""['"\\]""")
_MOST = 5_000


def pieces(command: str) -> Iterator[Part]:
    """Every stretch of text that might be a command."""
    joined = command.replace("\\\n", "").replace("\0", "")
    for stretch in list(dict.fromkeys(_BOUNDARY.split(joined)))[:_MOST]:
        text = stretch.strip()
        words = [Word(raw, _QUOTING.sub("", raw), "it does not parse") for raw in text.split()]
        while words and _ASSIGNMENT.match(words[0].raw):
            words = words[1:]
        if words:
            simple = Simple(text=re.sub(r"\s+", " ", text), words=tuple(words), places=None)
            yield Part(
                text=simple.text,
                deny_forms=deny_forms(simple, every_command(simple.words)),
                unclear="it is part of what does not parse",
            )
