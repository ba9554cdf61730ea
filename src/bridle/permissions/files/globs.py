"""File names that bash would find for the patterns in a command, and patterns that may be names."""

import os
import os.path
import re
from functools import lru_cache

import msgspec

from bridle.types.shell import Part, Reading

_MOST = 500
_MOST_LOOKED_AT = 20_000
_CLASSES = {
    "alpha": r"^\W\d_", "digit": r"0-9", "alnum": r"^\W_", "upper": r"^\Wa-z\d_", "lower": r"^\WA-Z\d_",
    "space": r"\s", "blank": r" \t", "punct": r"!-/:-@\[-`{-~", "word": r"\w", "xdigit": r"0-9A-Fa-f",
    "graph": r"^\s", "print": r"\S ", "cntrl": r"\x00-\x1f\x7f", "ascii": r"\x00-\x7f",
}  # fmt: skip


class _TooMany(ValueError):
    """More names than are looked at."""


def with_matches(reading: Reading) -> Reading:
    """The reading with the files that its patterns match now: any of them may be a link or denied."""
    if not any(part.globs for part in reading.parts):
        return reading
    parts = tuple(map(_matched, reading.parts))
    if any(part.expands for part in parts):
        reads_only = all(part.harmless and not part.writes for part in parts)
        moves = any(form.startswith(("cd ", "pushd ")) for part in parts for form in part.allow_forms)
        parts = tuple(_without_options(part, reads_only=reads_only, moves=moves) for part in parts)
    return msgspec.structs.replace(reading, parts=parts)


def _without_options(part: Part, *, reads_only: bool, moves: bool) -> Part:
    """The part, taken for one that asks if a name that its patterns match may be an option."""
    if not part.expands:
        return part
    if not reads_only:
        return _asking(part, "the command may create files whose names become options")
    if moves and "$" in part.text:
        return _asking(part, "the names in a variable may be those of another folder")
    # Binutils take their options from a file behind an at sign.
    marks = ("/-", "/@") if "strings" in part.programs else ("/-",)
    if any(mark in path for path in part.reads for mark in marks):
        return _asking(part, "a file name may become an option")
    return part


def _asking(part: Part, why: str) -> Part:
    return msgspec.structs.replace(part, harmless=False, why=why)


def _matched(part: Part) -> Part:
    found: list[str] = []
    try:
        for pattern in part.globs:
            # A pattern that matches nothing, or with `set -f` any, is the name of a file itself.
            found += [pattern, *matches(pattern)]
            if len(found) > _MOST:
                raise _TooMany
    except _TooMany:
        return msgspec.structs.replace(part, unclear=f"its patterns match more than {_MOST} files")
    return msgspec.structs.replace(part, reads=tuple(dict.fromkeys((*part.reads, *found))))


def matches(pattern: str) -> list[str]:
    """Every path that bash, in any locale and of any version, may put in the place of an absolute pattern."""
    found, seen = ["/"], 0
    for step in (step for step in pattern.split("/") if step):
        if not re.search(r"[*?\[]", step):
            found = [os.path.join(path, step) for path in found if os.path.lexists(os.path.join(path, step))]
            continue
        wanted, further = compiled(step), list[str]()
        for path in found:
            for name in _names(path):
                seen += 1
                if seen > _MOST_LOOKED_AT:
                    raise _TooMany
                if name_matches(wanted, step, name):
                    further.append(os.path.join(path, name))
        found = further
    return found


def name_matches(wanted: re.Pattern[str], step: str, name: str) -> bool:
    """Whether one name may be what a pattern stands for, counted in characters or in bytes."""
    if name.startswith(".") and not step.startswith("."):
        return False
    if wanted.fullmatch(name) is not None:
        return True
    return not name.isascii() and wanted.fullmatch(os.fsencode(name).decode("latin-1")) is not None


@lru_cache(maxsize=512)
def compiled(step: str) -> re.Pattern[str]:
    """A component of a pattern as a regular expression that matches no less than bash does."""
    made, index = "", 0
    while index < len(step):
        letter = step[index]
        index += 1
        if letter == "*":
            made += ".*"
        elif letter == "?":
            made += "."
        elif letter == "[" and (bracket := _bracket(step, index)) is not None:
            expression, index = bracket
            made += expression
        else:
            made += re.escape(letter)
    return re.compile(made, re.DOTALL)


def _bracket(step: str, index: int) -> tuple[str, int] | None:
    """A set of characters and where it ends; None where the bracket stands for itself."""
    negated = step[index : index + 1] in ("!", "^")
    index += negated
    alternatives: list[str] = []
    first = True
    while index < len(step):
        letter = step[index]
        if letter == "]" and not first:
            return _either(alternatives, negated=negated), index + 1
        first = False
        if letter == "[" and step[index + 1 : index + 2] in (":", ".", "="):
            end = step.find(":]", index + 2)
            if end < 0 or step[index + 1] != ":":
                return ".*", len(step)  # Versions differ on equivalents and names of characters.
            alternatives.append(_class(step[index + 2 : end]))
            index = end + 2
            continue
        index += 1
        if step[index : index + 1] == "-" and step[index + 1 : index + 2] not in ("", "]"):
            alternatives.append(_range(letter, step[index + 1]))
            index += 2
        else:
            alternatives.append(re.escape(letter))
    return None


def _either(alternatives: list[str], *, negated: bool) -> str:
    """What is not in a set may be in it elsewhere, so that a negated one with ranges matches anything."""
    if not negated:
        return f"(?:{'|'.join(alternatives)})"
    plain = all(len(each) == 1 or (len(each) == 2 and each[0] == "\\") for each in alternatives)
    return f"(?!{'|'.join(alternatives)})." if plain else "."


def _class(name: str) -> str:
    return f"[{_CLASSES[name]}]" if name in _CLASSES else "."


def _range(low: str, high: str) -> str:
    """Some locales sort upper and lower case letters together, with accented ones between them."""
    if low.isascii() and high.isascii() and low.isdigit() and high.isdigit() and low <= high:
        return f"[{low}-{high}]"
    cased = (low.islower() and high.islower()) or (low.isupper() and high.isupper())
    if not (low.isascii() and high.isascii() and cased and low <= high):
        return "."
    return rf"(?:[{low.lower()}-{high.lower()}{low.upper()}-{high.upper()}]|[^\x00-\x7f])"


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except (OSError, ValueError):
        return []
