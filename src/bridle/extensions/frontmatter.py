"""Reads the header of a Markdown file: YAML between two lines of dashes."""

import re
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from msgspec import Struct

from bridle.config.problems import Problem

LARGEST_HEADER = 64 * 1024
_MOST_WORDS = 1_000
_MOST_VALUES = 10_000
_DEEPEST = 64
_LINE = r'([A-Za-z][\w-]*):[ \t]+([A-Za-z(/<][^\n]*|"[^"\\\n]*")'
_WORDS = r"""(?m)^([A-Za-z][\w-]*:[ \t]+)([^\s"'\[{|>#][^\n]*)$"""
_KEY = r"(?m)^[A-Za-z][\w-]*:(?=[ \t\n]|\Z)"
_TAG = "!"
"""What a value begins with that YAML would make an object of; no one writes such a text."""
_NOT_YAML = "the header is not YAML"
_SIGNS = frozenset("@`%*")
_NOT_TEXT = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False, "null": None}
_TRUE = frozenset({"true", "yes", "on", "1", "y"})
_FALSE = frozenset({"false", "no", "off", "0", "n"})
_CONTROLS = dict.fromkeys((*range(9), *range(11, 32), *range(127, 160)), " ")
"""All but tabs and line ends."""


class ParsedFrontmatter(Struct, frozen=True, kw_only=True):
    """A file taken apart."""

    values: Mapping[str, Any] = {}
    body: str
    line: int = 1
    """The line on which the body begins."""
    problem: Problem | None = None
    """What is wrong with the header; what can be read of it counts all the same."""


def read_front(text: str, *, file: str) -> ParsedFrontmatter:
    """Header and body; a header that cannot be read leaves the body and a problem with its line."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    header, body, line = _split(text)
    if header is None:
        return ParsedFrontmatter(body=body, line=line)
    if len(header) > LARGEST_HEADER:
        return ParsedFrontmatter(
            body=body, line=line, problem=_problem(file, 1, "the header is longer than 64 KiB")
        )
    values = _plain(header)
    if values is not None:
        return ParsedFrontmatter(values=values, body=body, line=line)
    values, problem = _yaml(header, file)
    misread = problem is not None and problem.message.startswith(_NOT_YAML)
    if misread and (quoted := _quoted(header)) != header:
        # People write what they would say, colons and all, and other programs understand them.
        again, still = _yaml(quoted, file)
        values, problem = (again, None) if still is None else (values, problem)
    if misread and problem is not None:
        values = _key_by_key(header, file)
    return ParsedFrontmatter(values=values, body=body, line=line, problem=problem)


def truth(value: object) -> bool | None:
    """A yes or no in any of the spellings that people use; None for anything else."""
    if value is None:
        return None
    word = str(value).strip().lower()
    return True if word in _TRUE else False if word in _FALSE else None


def words(value: object) -> tuple[str, ...]:
    """A list, or words between commas; commas inside parentheses do not count."""
    if value is None:
        return ()
    listed: list[Any] = value if isinstance(value, list) else _pieces(value) if isinstance(value, str) else []
    found = (str(each).strip() for each in listed[:_MOST_WORDS] if isinstance(each, str | int | float))
    return tuple(word for word in found if word)


def text_of(value: object) -> str | None:
    """A text, also where YAML saw a number or a date in it; None for nothing and for lists."""
    if value is None or isinstance(value, list | dict):
        return None
    return _harmless(str(value)).strip() or None


def summary_of(values: Mapping[str, Any], opening: str) -> str:
    """What a skill says of itself, in one line: what it does and when to use it."""
    when = text_of(values.get("when_to_use") or values.get("when-to-use"))
    said = text_of(values.get("description")) or opening or "Skill"
    return " ".join((f"{said} - {when}" if when else said).split())


def first_line(body: str) -> str:
    """The first words of a body, for files that do not describe themselves."""
    lines = (line.strip().lstrip("#").strip() for line in body[:4_000].split("\n"))
    return _harmless(next((line for line in lines if line), "")[:200]).strip()


def _harmless(text: str) -> str:
    """A text that is shown to people, without what would steer their terminal."""
    return text if text.isprintable() else text.translate(_CONTROLS)


def _split(text: str) -> tuple[str | None, str, int]:
    if not text.startswith("---"):
        return None, text, 1
    opening, _, rest = text.partition("\n")
    if opening.rstrip() != "---":
        return None, text, 1
    end = re.search(r"^---[ \t]*(?:\n|\Z)", rest, re.MULTILINE)
    if end is None:
        return None, text, 1
    header = rest[: end.start()]
    return header, rest[end.end() :], header.count("\n") + 3


def _plain(header: str) -> dict[str, Any] | None:
    """The header where every line is a name and words, which needs no YAML; None for all others."""
    values: dict[str, Any] = {}
    for line in header.split("\n"):
        if not line.strip() or line.startswith("#"):
            continue
        match = re.fullmatch(_LINE, line.rstrip(" \t"))
        if match is None or match[1] in values:
            return None
        value = match[2]
        if value.startswith('"'):
            values[match[1]] = value[1:-1]
            continue
        if ": " in value or " #" in value or value.endswith(":"):
            return None
        values[match[1]] = _NOT_TEXT.get(value.lower(), value)
    return values


def _quoted(header: str) -> str:
    """The header with quotes around the words that YAML would take for something else."""

    def quote(found: re.Match[str]) -> str:
        words = found[2].rstrip()
        if words[0] not in _SIGNS and ": " not in words and not words.endswith(":"):
            return found[0]
        escaped = words.replace("\\", "\\\\").replace('"', '\\"')
        return f'{found[1]}"{escaped}"'

    return re.sub(_WORDS, quote, header)


def _yaml(header: str, file: str) -> tuple[dict[str, Any], Problem | None]:
    import yaml

    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        read: Any = yaml.load(header, Loader=loader)  # The safe loader: plain values only.
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        line = 2 if mark is None else mark.line + 2
        return {}, _problem(file, line, f"{_NOT_YAML}: {error.problem or 'it is invalid'}")
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        return {}, _problem(file, 2, f"{_NOT_YAML}: {str(error)[:200]}")
    if read is None:
        return {}, None
    if not isinstance(read, dict):
        return {}, _problem(file, 2, "the header must be a list of keys and values")
    plain = _Plain()
    try:
        return {str(key): plain.of(value) for key, value in read.items()}, None
    except _TooMuch:
        message = f"the header has more than {_MOST_VALUES} values, or endless nesting"
        return {}, _problem(file, 2, message)


def _key_by_key(header: str, file: str) -> dict[str, Any]:
    """What can be read of a header that is not YAML as a whole, as other programs read it.

    Each name begins a part. One that is no YAML is taken as the text that it is; the first of two wins.
    """
    values: dict[str, Any] = {}
    starts = [found.start() for found in re.finditer(_KEY, header)]
    for start, end in pairwise([*starts, len(header)]):
        part = header[start:end]
        name, _, rest = part.partition(":")
        read, problem = _yaml(part, file)
        if problem is None and name in read:
            values.setdefault(name, read[name])
        elif not rest.lstrip().startswith(_TAG):
            values.setdefault(name, rest.strip())
    return values


class _TooMuch(Exception):
    """A header of a few lines can refer to itself, and stand for more than fits into memory."""


class _Plain:
    """Makes values plain: dates and the like become text, so that they can be kept."""

    def __init__(self) -> None:
        self._left = _MOST_VALUES

    def of(self, value: Any, depth: int = 0) -> Any:
        self._left -= 1
        if self._left < 0 or depth > _DEEPEST:
            raise _TooMuch
        match value:
            case dict():
                return {str(key): self.of(each, depth + 1) for key, each in value.items()}
            case list():
                return [self.of(each, depth + 1) for each in value]
            case bool() | str() | float() | None:
                return value
            case int() if -(1 << 63) <= value < 1 << 63:
                return value
            case _:
                return str(value)


def _pieces(text: str) -> list[str]:
    pieces = [""]
    depth = 0
    for character in text:
        depth += (character == "(") - (character == ")" and depth > 0)
        if character == "," and depth == 0:
            pieces.append("")
        else:
            pieces[-1] += character
    return pieces


def _problem(file: str, line: int, message: str) -> Problem:
    return Problem(file=file, line=line, message=message)
