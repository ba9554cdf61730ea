"""What can still be recognized in a command that does not parse, for rules that deny or ask."""

import re
from collections.abc import Iterator

from bridle.permissions.shell.denial import salvaged
from bridle.types.shell import Part

_BOUNDARY = re.compile(r"[;|&<>`(){}\r\n]|\$\(")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")
_QUOTING = re.compile(r"""['"\\]""")
_BLANKS = re.compile(r"\s+")
_MOST = 5_000


def pieces(command: str) -> Iterator[Part]:
    """Every stretch of text that might be a command."""
    joined = command.replace("\\\n", "").replace("\0", "")
    for stretch in list(dict.fromkeys(_BOUNDARY.split(joined)))[:_MOST]:
        text = stretch.strip()
        words = [(raw, _QUOTING.sub("", raw)) for raw in text.split()]
        while words and _ASSIGNMENT.match(words[0][0]):
            words = words[1:]
        if words:
            whole = _BLANKS.sub(" ", text)
            yield Part(
                text=whole,
                deny_forms=tuple(dict.fromkeys((whole, *salvaged(words)))),
                unclear="it is in a part that does not parse",
            )
