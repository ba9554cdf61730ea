"""Which texts a pattern with stars covers."""

import re
import sys
from collections.abc import Iterable
from fnmatch import translate
from functools import lru_cache

FOLDS_CASE = sys.platform in ("darwin", "win32")
"""Whether a program is found by its name in any letter case."""
_BLANKS = re.compile(r"[ \t]+")
_UNKNOWN = "\0"
_SUBCOMMAND = re.compile(r"[A-Za-z][\w:.-]*", re.ASCII)
# Other blanks of Unicode are letters to a shell.
_UNEVEN = re.compile(r"[ \t]{2}|\t|^ | $")


def covers(pattern: str, text: str) -> bool:
    """Match `exact`, `prefix:*`, `prefix *` and `a * b`; a star stands for any run of characters.

    At the end ` *` and `:*` mean the same: nothing more, or a blank and more. Runs of blanks count as one.
    """
    return covers_any(pattern, (text,))


def covers_any(pattern: str, texts: Iterable[str]) -> bool:
    """Whether a pattern matches one of the texts."""
    word, stem, compiled = _compiled(pattern)
    for text in texts:
        if not text.startswith(word) and not text.lstrip(" \t").startswith(word):
            continue
        given = one_blank(text)
        if given.startswith(stem) and compiled.match(given) is not None:
            return True
    return False


def beginning(pattern: str) -> str:
    """What every text that a pattern matches begins with, up to the first blank or star."""
    return _compiled(pattern)[0]


def may_cover(pattern: str, form: str) -> bool:
    """Whether a pattern may match a form in which a zero character stands for a subcommand.

    Only a plain word of the pattern stands for a subcommand: an option or a file never does."""
    wanted = one_blank(pattern).removesuffix(":*").removesuffix(" *").split(" ")
    given = form.split(" ")
    for index, word in enumerate(wanted):
        if index >= len(given):
            return given[-1] == _UNKNOWN
        if given[index] == _UNKNOWN:
            if not _SUBCOMMAND.fullmatch(word):
                return "*" in word
        elif "*" in word:
            return given[index].startswith(word.partition("*")[0])
        elif word != given[index]:
            return False
    return _UNKNOWN in given[: len(wanted)]


def is_exact(pattern: str) -> bool:
    """Whether the pattern names one text."""
    return "*" not in pattern.replace("\\*", "")


def only_stars(pattern: str) -> str:
    """A pattern for `fnmatch` in which only the star is special, unless a backslash stands before it."""
    return re.sub(r"\\\*|[?\[]", lambda found: f"[{found[0][-1]}]", pattern)


@lru_cache(maxsize=64)
def one_blank(text: str) -> str:
    """The text with one blank for each run of them; a long one is asked about many times in a row."""
    return _BLANKS.sub(" ", text).strip(" ") if _UNEVEN.search(text) else text


@lru_cache(maxsize=4096)
def _compiled(pattern: str) -> tuple[str, str, re.Pattern[str]]:
    """The word and the text that it must begin with, which is quick to see, and the whole pattern."""
    wanted = one_blank(pattern)
    begins = re.split(r"[*\\]", wanted.removesuffix(":*").removesuffix(" *"), maxsplit=1)[0]
    word = begins.partition(" ")[0]
    if not wanted.endswith((":*", " *")):
        return word, begins, re.compile(translate(only_stars(wanted)))
    stem = only_stars(wanted[:-2])
    return word, begins, re.compile(f"{translate(stem)}|{translate(stem + ' *')}")
