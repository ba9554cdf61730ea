"""Doubts that the tokens of a command line already show, so that most commands need no further look.

Each of them is also one of the full judgment: a command that is refused here is asked about in any case."""

import os.path
import re

from bridle.permissions.shell.judge import FREE_OUTPUT
from bridle.permissions.shell.read_only import KNOWN, TRUSTED
from bridle.permissions.shell.syntax.nodes import Script
from bridle.permissions.shell.values.variables import PAGERS, is_harmless, may_be_set

_PLAIN = re.compile(r"[\w./:=,+@%^-]+", re.ASCII)
"""A word in which nothing has a meaning."""
_SETS = re.compile(r"([A-Za-z_]\w*)\+?=(?!\()", re.ASCII)
_OUTPUTS = frozenset({">", ">>", ">|", ">&", "<>", "&>", "&>>"})
_DESCRIPTOR = re.compile(r"\d+-?|-")


def is_refused_early(script: Script) -> bool:
    """Whether a command line starts a program that is not known to only read, writes a file, or sets a
    variable that matters."""
    text = script.text
    opens = ""
    for start, end, kind in script.tokens:
        if kind == "w":
            if opens:
                if _is_written(text[start:end], opens):
                    return True
                opens = ""
        elif kind == "c":
            if not _may_be_known(text[start:end]):
                return True
        elif kind in _OUTPUTS:
            opens = kind
        elif kind == "=" and not _may_be_assigned(text[start:end]):
            return True
    return False


def _may_be_known(written: str) -> bool:
    """Whether the first word of a command may be one that reads only; spelled plainly, it must be listed."""
    if written in KNOWN or _PLAIN.fullmatch(written) is None:
        return True
    folder, name = os.path.split(written)
    return name in KNOWN and folder in TRUSTED


def _is_written(target: str, operator: str) -> bool:
    """Whether a redirection is certain to open a file, or to lead nowhere that is known."""
    if _PLAIN.fullmatch(target) is None or target in FREE_OUTPUT:
        return False
    return operator != ">&" or _DESCRIPTOR.fullmatch(target) is None


def _may_be_assigned(written: str) -> bool:
    found = _SETS.match(written)
    if found is None:
        return False
    name = found[1]
    return name == "IFS" or name in PAGERS or may_be_set(name) or is_harmless(name)
