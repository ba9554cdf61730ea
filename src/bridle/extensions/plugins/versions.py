"""Compares versions and weighs them against ranges such as `^1.2` or `>=1.0 <2`."""

import re
from collections.abc import Iterable

_VERSION = re.compile(r"v?(\d+)(?:\.(\d+))?(?:\.(\d+))?(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?")
_LONGEST = 256
_PART = re.compile(r"(\^|~|>=|<=|>|<|=)?\s*(v?[\dxX*][^\s]*)")

Key = tuple[int, int, int, int, tuple[tuple[int, int, str], ...]]


def key(version: str) -> Key | None:
    """What versions are ordered by; None for what is not one."""
    found = _VERSION.fullmatch(version.strip()) if len(version) <= _LONGEST else None
    if found is None:
        return None
    numbers = (int(found[1]), int(found[2] or 0), int(found[3] or 0))
    parts = tuple(
        (0, int(part), "") if part.isdecimal() else (1, 0, part)
        for part in (found[4] or "").split(".")
        if part
    )
    return (*numbers, 0 if parts else 1, parts)


def is_newer(version: str, than: str) -> bool:
    """Whether one version comes after another; versions that are no numbers differ or are the same."""
    one, other = key(version), key(than)
    return version != than if one is None or other is None else one > other


def satisfies(version: str, wanted: str) -> bool:
    """Whether a version is in a range; one that is no number is only in `*`."""
    wanted = wanted.strip()
    if wanted in ("", "*", "latest"):
        return True
    found = key(version)
    if found is None:
        return version == wanted
    return any(_in_all(found, part) for part in wanted.split("||"))


def newest(versions: Iterable[str], wanted: str) -> str | None:
    """The newest version in a range; one that is not finished only where nothing else is."""
    fitting = [(found, each) for each in versions if (found := key(each)) and satisfies(each, wanted)]
    finished = [pair for pair in fitting if pair[0][3]]
    return max(finished or fitting, default=(None, None))[1] if fitting else None


def _in_all(version: Key, text: str) -> bool:
    if " - " in text:
        low, _, high = text.partition(" - ")
        text = f">={low.strip()} <={high.strip()}"
    parts = _PART.findall(text)
    return bool(parts) and all(_in_one(version, sign, bound) for sign, bound in parts)


def _in_one(version: Key, sign: str, bound: str) -> bool:
    if len(bound) > _LONGEST:
        return False
    numbers = bound.lstrip("v").partition("-")[0].split(".")
    given = [int(part) for part in numbers if part.isdecimal()]
    if not given:
        return True
    low = key(".".join(map(str, given)) + ("-" + bound.partition("-")[2] if "-" in bound else ""))
    if low is None:
        return False
    match sign:
        case ">":
            return version > low
        case ">=":
            return version >= low
        case "<":
            return version < low
        case "<=":
            return version <= low
        case "^":
            return low <= version < _next(given, next((i for i, n in enumerate(given) if n), len(given) - 1))
        case "~":
            return low <= version < _next(given, min(1, len(given) - 1))
        case _:
            return version == low if len(given) == 3 else low <= version < _next(given, len(given) - 1)


def _next(given: list[int], place: int) -> Key:
    """The first version beyond all that share the numbers before and at a place."""
    numbers = [*given[:place], given[place] + 1, 0, 0][:3]
    numbers += [0] * (3 - len(numbers))
    return (numbers[0], numbers[1], numbers[2], -1, ())
