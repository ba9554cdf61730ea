"""Values that a command line makes bash evaluate: a command in them runs, although it stood in quotes."""

import re
from collections.abc import Iterable, Iterator, Sequence

from bridle.permissions.shell.syntax.simple_command import Loop, Simple
from bridle.permissions.shell.syntax.words import Word
from bridle.permissions.shell.values.arithmetic_commands import COMPUTES
from bridle.permissions.shell.values.expressions import evaluated
from bridle.permissions.shell.values.possible_values import PossibleValues, may_be, unwrapped
from bridle.permissions.word_lists import listed

_RUNS = re.compile(r"\$[({\[]|`|[<>]\(")
_QUOTED = re.compile(r"""'[^']*(?:\$[({\[]|`|[<>]\(|\\[0-7])|\\[$`0-7]|\$'""")
_OCTAL = re.compile(r"\\([0-7]{3})")
_HANDS_ON = listed("echo printf read set let test [ declare typeset local export readonly unset mapfile eval")
_QUOTES = re.compile("[\"']")
_PROCESS = re.compile(r"[<>]\(")
_NUMBERS = listed("OPTIND RANDOM SRANDOM SECONDS LINENO HISTCMD BASHPID EPOCHSECONDS PPID UID EUID")
"""Variables of bash that are numbers: what they are set to is computed."""
_MOST = 40


def evaluates(simple: Simple) -> bool:
    """Whether a command takes what a variable holds for an expression or a prompt."""
    if simple.kind == "arithmetic" or simple.evaluates:
        return True
    if any(not each.plain or each.name in _NUMBERS for each in simple.assignments):
        return True
    if simple.kind == "condition":
        return any(COMPUTES.search(word.raw) for word in simple.operands)
    words = unwrapped(simple.words)
    return bool(words) and (not words[0].literal or evaluated(words) is not None)


def evaluable(simples: Sequence[Simple], loops: Iterable[Loop], held: PossibleValues) -> dict[str, bool]:
    """Command lines that run what the values of a line hold, and whether each is certain to."""
    found: dict[str, bool] = {}
    for text, sure in _texts(simples, loops, held):
        decoded = _OCTAL.sub(lambda code: chr(int(code[1], 8)), text)
        if _RUNS.search(decoded) and len(found) < _MOST:
            found |= {line: found.get(line, False) or sure for line in as_lines(decoded)}
    return found


def as_lines(value: str) -> list[str]:
    """Command lines that run what bash runs when it fills in a value that is no longer program text.

    Quotes may be taken for quotes there or not, and a backslash at the end of a line is no continuation."""
    lines = [f': "{value}"']
    for blank in ("", " "):
        bare = _QUOTES.sub(blank, value.replace("\\\n", " "))
        lines += [f': "{bare}"', f": {bare}"] if _PROCESS.search(bare) else [f': "{bare}"']
    return list(dict.fromkeys(lines))


def is_filled_in(value: str) -> bool:
    """Whether bash would run or look up something in a value if it filled that in."""
    return "$" in value or "`" in value or _PROCESS.search(value) is not None


def _texts(
    simples: Sequence[Simple], loops: Iterable[Loop], held: PossibleValues
) -> Iterator[tuple[str, bool]]:
    for values in held.values.values():
        yield from ((value, True) for value in values)
    yield from ((value, True) for value in held.positional or ())
    for loop in loops:
        yield from ((word.value, True) for word in loop.words or () if _is_quoted(word))
    for simple in simples:
        words = unwrapped(simple.words)
        sure = may_be(words, _HANDS_ON, held)
        given = (each.target for each in simple.redirections if each.operator == "<<<" and each.target)
        quoted = (word for word in (*simple.words, *simple.operands, *given) if _is_quoted(word))
        yield from ((word.value, sure or simple.kind == "condition") for word in quoted)
        for each in simple.assignments:
            if not each.plain:
                yield each.raw.partition("=")[2].replace("'", ""), False
            elif _is_quoted(each.value):
                yield each.value.value, True
        yield from ((each.content, False) for each in simple.redirections if each.content)


def _is_quoted(word: Word) -> bool:
    """Whether a part of a word may stand for itself where it is written."""
    return word.literal or _QUOTED.search(word.raw) is not None
