"""The text that `env -S` takes apart into words: by rules of its own, not by those of a shell."""

import re
from collections.abc import Iterator, Sequence
from shlex import quote

from bridle.permissions.shell.syntax.expansions import FULL, HOLE

_BLANKS = " \t\n\v\f\r"
_ESCAPED = {"f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_VARIABLE = re.compile(r"\$\{(\w+)\}", re.ASCII)


def as_shell_line(text: str, behind: Sequence[str]) -> str:
    """A command line of a shell that runs the words of a text, and those that stand behind it, with `env`."""
    return " ".join(["env", *_words(text), *map(_quoted, behind)])


def _words(text: str) -> Iterator[str]:
    """Each word as it is written for a shell."""
    word: list[str] | None = None
    mark, at = "", 0
    while at < len(text):
        letter, following = text[at], text[at + 1 : at + 2]
        at += 1
        if not mark and (letter in _BLANKS or (letter == "\\" and following == "_")):
            at += letter == "\\"
            if word is not None:
                yield "".join(word) or "''"
            word = None
            continue
        if not mark and letter == "#" and word is None:
            break
        if letter == "\\" and mark != "'" and following == "c":
            break
        word = [] if word is None else word
        if letter in "'\"" and mark in ("", letter):
            mark = "" if mark else letter
        elif letter == "\\" and (mark != "'" or following in "\\'"):
            word.append(_quoted(" " if following == "_" else _ESCAPED.get(following, following)))
            at += 1
        elif letter == "$" and mark != "'":
            found = _VARIABLE.match(text, at - 1)
            word.append(f'"{found[0]}"' if found else _quoted("$"))
            at = found.end() if found else at
        else:
            word.append(_quoted(letter))
    if word is not None:
        yield "".join(word) or "''"


def _quoted(text: str) -> str:
    return f'"{text}"' if text in (HOLE, FULL) else quote(text) if not _has_holes(text) else _around(text)


def _has_holes(text: str) -> bool:
    return HOLE in text or FULL in text


def _around(text: str) -> str:
    """A text with unknown parts, which must not stand in single quotes."""
    return "".join(_quoted(piece) for piece in re.split(f"([{HOLE}{FULL}])", text) if piece)
