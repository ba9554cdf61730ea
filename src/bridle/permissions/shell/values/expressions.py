"""Text that bash takes for an expression: filling it in may run a command that stands in a variable.

Arithmetic evaluates the variables in it, subscripts are arithmetic, and some operators of `${…}` and some
builtins evaluate what they are given. Listed here is what does none of that; everything else may run code."""

import re
from collections.abc import Iterator, Sequence

from bridle.permissions.shell.syntax.words import Word
from bridle.permissions.word_lists import listed

_NAME = r"(?:[A-Za-z_]\w*|\d+|[@*])"
_ELEMENT = r"(?:\[(?:\d+|[@*])\])?"
_FILLS_IN = re.compile(
    rf"\$\{{(?:[#]?(?:{_NAME}{_ELEMENT}|[#?$!-])\}}"
    rf"|{_NAME}{_ELEMENT}(?::?[-+?]|%%?|##?|//?|\^\^?|,,?)"
    rf"|{_NAME}{_ELEMENT}:(?:\d+|\s+-?\d+)(?::\s*-?\d+)?\}}"
    rf"|{_NAME}{_ELEMENT}@[QUuLaEAKk]\}}"
    rf"|![A-Za-z_]\w*(?:\[[@*]\]|[@*])\}})",
    re.ASCII,
)
"""The beginning of an expansion that only looks at variables; what is nested in it is judged separately."""
_NAMES_VARIABLES = listed("declare export local mapfile read readarray readonly typeset unset wait getopts")
_COUNTS = re.compile(r"-?\d+|[A-Za-z_]\w*(?:[-+*]?=\d+|\+\+|--)", re.ASCII)
_ASSIGNS = re.compile(r"[A-Za-z_]\w*\+?=", re.ASCII)
_EVALUATES = re.compile(r"[-+][A-Za-z]*[inIC].*")
"""Options that make a variable a number or a reference, or name a command to call."""
_IS_SET = frozenset({"-v", "-R"})
_TESTS = frozenset({"test", "["})
_EVALUATORS = _NAMES_VARIABLES | _TESTS | {"let", "printf"}


def only_fills_in(expansion: str) -> bool:
    """Whether `${…}` does no more than put a value in its place."""
    return _FILLS_IN.match(expansion) is not None


def evaluated(words: Sequence[Word]) -> str | None:
    """The argument of a builtin that may be an expression with a command in it."""
    if not words or words[0].value not in _EVALUATORS:
        return None
    return next((each.raw for each in _suspects(words[0].value, words[1:])), None)


def _suspects(name: str, arguments: Sequence[Word]) -> Iterator[Word]:
    if name == "let":
        yield from (each for each in arguments if not _COUNTS.fullmatch(each.value))
    elif name == "printf":
        for index, each in enumerate(arguments):
            if each.value.startswith("-v"):
                yield from (word for word in arguments[index : index + 2] if not _is_plain(word))
    elif name in _TESTS:
        # What is not in quotes may come to be an operator.
        yield from (each for each in arguments if each.splits)
        operator = len(arguments) - (name == "[") == 2 and not arguments[0].literal
        if operator or not _IS_SET.isdisjoint(each.value for each in arguments):
            yield from (each for each in arguments[:-1] if not _is_plain(each))
            yield from (each for each in arguments[-1:] if name == "test" and not _is_plain(each))
    else:
        yield from (each for each in arguments if not _is_plain(each))


def _is_plain(word: Word) -> bool:
    """Whether a word is a name, a plain option, or a value for a plain name."""
    if _EVALUATES.fullmatch(word.value):
        return False
    return _ASSIGNS.match(word.raw) is not None or (word.doubt is None and "[" not in word.value)
