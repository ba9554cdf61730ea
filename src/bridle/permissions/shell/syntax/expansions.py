"""Expansions in the text of a word, and what they come to where that shows in the line."""

import os.path
import re
from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatchcase
from itertools import islice, product

from msgspec import Struct

HOLE = "\x01"
"""Stands for an unknown text, which may be empty."""
FULL = "\x02"
"""Stands for an unknown text that is never empty."""
BEYOND = f"{HOLE}{FULL}"
"""Stands for what was not looked at, because there was too much of it."""
Look = Callable[[str], tuple[str, ...]]
"""What a variable may hold."""
_BEGINS = re.compile(r"\$(?:[({\[]|[A-Za-z_]\w*|[0-9@*#?$!_-])|`", re.ASCII)
_NAMED = re.compile(r"\$\{?([A-Za-z_]\w*|[0-9@*])\}?", re.ASCII)
_PARAMETER = re.compile(r"\$\{([!#]?)([A-Za-z_]\w*|[0-9@*]+)(\[[^]]*\])?(.*)\}", re.ASCII | re.DOTALL)
_WHOLE_LISTS = ("[@]", "[*]")
_PATTERN = re.compile(r"""[*?\[\\'"$`]""")
_QUOTES = re.compile(r"""['"\\]""")
_OPERATORS = re.compile(r"[|&;<>\n]")
_CLOSES = {"(": ")", "{": "}", "[": "]"}
_BRACKETS = {opening: re.compile(f"[{re.escape(opening + closing)}]") for opening, closing in _CLOSES.items()}
_ONE_WORD = re.compile(r'"\$(?:\w+|\{\w+\})"')
_PRINT_A_WORD = frozenset({"date", "hostname", "uname", "id", "nproc", "mktemp", "arch"})
_PRINT_ONE_PATH = frozenset({
    "npm bin", "npm bin -g", "npm prefix", "npm prefix -g", "npm root", "npm root -g", "yarn bin", "pnpm bin",
    "go env GOPATH", "go env GOBIN", "go env GOROOT", "brew --prefix", "poetry env info -p",
    "poetry env info --path", "pipenv --venv", "python3 -m site --user-base", "xcode-select -p",
})  # fmt: skip
_MOST = 64
_LONGEST = 500
_LONGEST_VALUE = 1_000
_DEEPEST = 8


class Expansion(Struct, frozen=True):
    """Something that bash fills in, as it was written."""

    text: str
    unsure: bool = False
    """It may stand in quotes, where it means itself."""

    def values(self, look: Look) -> tuple[str, ...]:
        """What it may come to."""
        found = self._values(look)
        found = (*found, "") if HOLE in found else found
        return (*found, self.text) if self.unsure else found

    def _values(self, look: Look) -> tuple[str, ...]:
        text = self.text
        if len(text) > _LONGEST or text.count("$") > _DEEPEST:
            return (HOLE,)
        if text in ("$$", "$?", "$#", "$!", "$-") or text.startswith(("$((", "$[")):
            return (FULL,)
        if found := _NAMED.fullmatch(text):
            return look(found[1])
        if text.startswith("${"):
            return tuple(_parameter(text, look))
        if text.startswith(("$(", "`")):
            return tuple(_printed(text[1:-1] if text[0] == "`" else text[2:-1], look))
        # A word in which braces change which variables stand in it.
        return (BEYOND,) if text.startswith("\\") else (HOLE,)


def split_expansions(text: str, *, unsure: bool = False) -> tuple[str | Expansion, ...]:
    """The text with its expansions set apart; `unsure` says that they may be no expansions."""
    parts: list[str | Expansion] = []
    at = 0
    while found := _BEGINS.search(text, at):
        end = _end(text, found)
        parts += [text[at : found.start()], Expansion(text[found.start() : end], unsure)]
        at = end
    return (*parts, text[at:])


def evaluate(text: str, look: Look) -> list[str]:
    """Everything that a text may come to, as far as that is known."""
    return [text] if "$" not in text and "`" not in text else evaluate_parts(split_expansions(text), look)


def evaluate_parts(parts: Sequence[str | Expansion], look: Look) -> list[str]:
    """Everything that a text of which the expansions are set apart may come to."""
    if len(parts) == 1 and isinstance(parts[0], str):
        return [parts[0]]
    choices = [(each,) if isinstance(each, str) else each.values(look) for each in parts]
    found = ["".join(chosen) for chosen in islice(product(*choices), _MOST)]
    return [each if len(each) <= _LONGEST_VALUE else BEYOND for each in found]


def _unquoted(text: str, look: Look) -> Iterator[str]:
    """What a text with quotes in it comes to; an escape may be any character."""
    if "\\" in text or "$'" in text or '$"' in text:
        yield HOLE
    yield from evaluate(_QUOTES.sub("", text), look)


def _end(text: str, found: re.Match[str]) -> int:
    """Where an expansion ends; quotes in it are not looked at, since all that matters is what it may be."""
    opening = found[0][-1]
    if found[0] == "`":
        closing = text.find("`", found.end())
        return closing + 1 if closing >= 0 else len(text)
    if opening not in _CLOSES:
        return found.end()
    depth, at = 1, found.end()
    for bracket in _BRACKETS[opening].finditer(text, at):
        depth += 1 if bracket[0] == opening else -1
        if not depth:
            return bracket.end()
    return len(text)


def _parameter(text: str, look: Look) -> Iterator[str]:
    found = _PARAMETER.fullmatch(text)
    if found is None:
        yield HOLE
        return
    sign, name, element, rest = found.groups()
    if sign == "#":
        yield FULL
    elif sign == "!":
        yield HOLE
        for named in look(name):
            yield from look(named) if re.fullmatch(r"[A-Za-z_]\w*", named) else ()
    elif rest[:1] == ":" and rest[1:2] not in tuple("-=+?") and (name in "@*" or element in _WHOLE_LISTS):
        # Some of the words of a list.
        yield from (HOLE, *look(name))
    else:
        for value in look(name):
            yield from _changed(value, rest, look)


def _changed(value: str, rest: str, look: Look) -> Iterator[str]:
    """What an operator such as `%/*` makes of a value."""
    operator = rest[:1] if rest[:1] != ":" or rest[1:2] not in ("-", "=", "+", "?") else rest[1:2]
    word = rest.removeprefix(":")[1:]
    if not rest:
        yield value
    elif operator in "-=":
        if value.strip(HOLE):
            yield value
        else:
            yield from _unquoted(word, look)
            yield from (value,) if value else ()
    elif operator == "+":
        yield from ("", *_unquoted(word, look))
    elif operator == "?":
        yield FULL if value in ("", HOLE) else value
    elif HOLE in value or FULL in value:
        yield HOLE
    elif operator in "%#":
        yield from (
            _stripped(value, rest, pattern) for pattern in evaluate(_QUOTES.sub("", rest.lstrip("%#")), look)
        )
    elif operator == "/":
        wanted, _, new = rest.lstrip("/#%").partition("/")
        yield value.replace(wanted, new) if wanted else value
        yield HOLE if _PATTERN.search(rest) else value
    elif operator == ":":
        yield from _cut(value, rest)
    elif operator in "^,@":
        yield from (value.upper(), value.lower(), value.capitalize())
        yield HOLE if "\\" in value or len(rest) > 2 else value
    else:
        yield value


def _stripped(value: str, rest: str, pattern: str) -> str:
    """`%` and `##` and their like."""
    longest, behind = rest[1:2] == rest[0], rest[0] == "%"
    lengths: Sequence[int] = range(len(value), -1, -1) if longest else range(len(value) + 1)
    for length in lengths:
        piece = value[len(value) - length :] if behind else value[:length]
        if fnmatchcase(piece, pattern):
            return value[: len(value) - length] if behind else value[length:]
    return value


def _cut(value: str, rest: str) -> Iterator[str]:
    numbers = re.fullmatch(r":\s*(-?\d+)(?::\s*(-?\d+))?", rest)
    if numbers is None:
        yield HOLE
        return
    start, length = int(numbers[1]), numbers[2]
    tail = value[start:]
    yield tail if length is None else tail[: int(length)]


def _printed(command: str, look: Look) -> Iterator[str]:
    """What a substitution prints, for the few whose words show it."""
    words = command.split()
    name = words[0] if words else ""
    operands = [word for word in words[1:] if not word.startswith("-")]
    if _OPERATORS.search(command) or "$(" in command:
        yield HOLE
    elif name == "echo":
        yield from _unquoted(" ".join(operands), look)
    elif name == "printf" and operands:
        formats = _QUOTES.sub("", operands[0]).removesuffix("n")
        given = operands[1:] if "%" in formats else operands
        yield from _unquoted(" ".join(given), look)
        # Several words in the place of one `%s` are put together without a blank.
        joins = any("$" in word and not _ONE_WORD.fullmatch(word) for word in given)
        if ("%" in formats and formats != "%s") or len(operands) > 2 or joins:
            yield HOLE
    elif name == "pwd" or command.strip() == "git rev-parse --show-toplevel":
        yield from look("PWD")
    elif operands and (
        name in ("which", "realpath", "readlink", "type", "basename") or words[:2] == ["command", "-v"]
    ):
        for value in _unquoted(operands[-1], look):
            path = os.path.join(look("PWD")[0], value) if value.startswith(".") else value
            yield os.path.normpath(path) if path else HOLE
        if len(operands) > 1 or (name == "basename" and len(operands) < len(words) - 1):
            yield HOLE
        elif name in ("realpath", "readlink"):
            yield FULL
    elif name == "dirname" and operands:
        yield from (os.path.dirname(value) or "." for value in _unquoted(operands[-1], look))
        if len(operands) > 1:
            yield HOLE
    elif name == "whoami" or command.strip() in ("id -un", "logname"):
        yield from look("USER")
    elif name in _PRINT_A_WORD or command.strip() in _PRINT_ONE_PATH:
        yield FULL
    else:
        yield HOLE
