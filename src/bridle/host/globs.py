"""Glob patterns as regular expressions; uses nothing but the standard library."""

import re

_SPECIAL = re.compile(r"[*?\[{\\]")


def compile_glob(pattern: str, *, anchored: bool) -> re.Pattern[str]:
    """An expression for whole paths with slashes; one that is not anchored may begin in any directory.

    Raises:
        ValueError: braces or brackets do not fit together.
    """
    expression = ("" if anchored else "(?:[^/]+/)*") + _translate(pattern)
    try:
        return re.compile(expression, re.DOTALL)
    except re.error as error:
        raise ValueError(f"not a glob pattern: {pattern}") from error


def split_glob(pattern: str) -> tuple[str, str]:
    """The leading directories without wildcards, and the rest."""
    parts = pattern.split("/")
    plain = next((index for index, part in enumerate(parts) if _SPECIAL.search(part)), len(parts) - 1)
    folder = "/".join(parts[:plain])
    return ("/" if not folder and pattern.startswith("/") else folder), "/".join(parts[plain:])


def depth_of(pattern: str) -> int | None:
    """How many directories down an anchored pattern can reach; None for any number."""
    if "**" in pattern or re.search(r"\{[^}]*/", pattern):
        return None
    return pattern.count("/") + 1


def _translate(pattern: str) -> str:
    result: list[str] = []
    depth = position = 0
    while position < len(pattern):
        character = pattern[position]
        begins = position == 0 or pattern[position - 1] in "/{,"
        if begins and (stars := re.compile(r"(?:\*\*/)+").match(pattern, position)):
            result.append("(?:[^/]+/)*")
            position = stars.end()
            continue
        if begins and re.compile(r"\*\*(?=$|[,}])").match(pattern, position):
            result.append(".+")
            position += 2
            continue
        if character == "[" and (chosen := _CLASS.match(pattern, position)):
            negated, members = chosen[1], chosen[2].replace("\\", "\\\\").replace("[", "\\[")
            result.append(f"(?!/)[{'^' if negated else ''}{members}]")
            position = chosen.end()
            continue
        if character == "*":
            result.append("[^/]*")
            position = len(pattern) - len(pattern[position:].lstrip("*"))
            continue
        if character == "\\" and position + 1 < len(pattern):
            position += 1
            result.append(re.escape(pattern[position]))
        elif character == "?":
            result.append("[^/]")
        elif character == "{":
            depth += 1
            result.append("(?:")
        elif character == "}" and depth:
            depth -= 1
            result.append(")")
        elif character == "," and depth:
            result.append("|")
        else:
            result.append(re.escape(character))
        position += 1
    return "".join(result)


_CLASS = re.compile(r"\[([!^]?)(\]?[^\]/]*)\]")
