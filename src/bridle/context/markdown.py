"""The little of Markdown that instruction files need: comments, imports, the header of a rule."""

import re
from collections.abc import Iterator

_FENCE = r"[\s>]*(?:(?:[-*+]|\d{1,9}[.)])\s+)?(`{3,}|~{3,})(.*)"
_IMPORT = r"(?<!\S)@((?:[^\s\\`]|\\ )+)"
_PATHS = r"paths\s*:"
_MOST_PATHS = 200
_LONGEST_PATHS = 10_000
_MARK = "<!--"
_END = "-->"


def strip_comments(text: str) -> str:
    """The text without HTML comments that begin a line; those in code and those never closed stay."""
    if _MARK not in text:
        return text
    kept: list[str] = []
    comment: list[str] = []
    fence = ""
    for each in text.split("\n"):
        line = each
        if not comment:
            before, fence = fence, _fence_after(fence, line)
            if before or fence or not _opens_comment(line):
                kept.append(line)
                continue
        comment.append(line)
        line, closed = _after_comments(line, inside=len(comment) > 1)
        if closed:
            comment.clear()
            if line.strip():
                kept.append(line.lstrip())
    return "\n".join(kept + comment)


def find_imports(text: str) -> tuple[str, ...]:
    """What stands behind an `@` at the beginning of a word outside code, in order, each once."""
    if "@" not in text:
        return ()
    words = (match[1] for prose in _paragraphs(text) for match in re.finditer(_IMPORT, _without_code(prose)))
    return tuple(dict.fromkeys(word.replace("\\ ", " ") for word in words))


def split_rule(text: str) -> tuple[tuple[str, ...], str]:
    """The `paths` patterns in the header of a rule, none when it counts everywhere, and what follows it."""
    lines = text.split("\n")
    if lines[0].rstrip() != "---":
        return (), text
    end = next((place for place, line in enumerate(lines) if place and line.rstrip() == "---"), None)
    if end is None:
        return (), text
    return _paths(lines[1:end]), "\n".join(lines[end + 1 :]).lstrip("\n")


def _fence_after(fence: str, line: str) -> str:
    """The fence that is open behind a line, given the one before it; empty outside code."""
    if (match := re.match(_FENCE, line)) is None:
        return fence
    marks, info = match[1], match[2]
    if not fence:
        return "" if marks[0] == "`" and "`" in info else marks
    closes = marks[0] == fence[0] and len(marks) >= len(fence) and not info.strip()
    return "" if closes else fence


def _opens_comment(line: str) -> bool:
    bare = line.lstrip(" ")
    return bare.startswith(_MARK) and len(line) - len(bare) < 4


def _after_comments(line: str, *, inside: bool) -> tuple[str, bool]:
    """What is left of a line behind the comments at its beginning, and whether the last one ended."""
    rest = line
    while inside or rest.lstrip().startswith(_MARK):
        _, closed, rest = rest.partition(_END)
        if not closed:
            return "", False
        inside = False
    return rest, True


def _paragraphs(text: str) -> Iterator[str]:
    lines: list[str] = []
    fence = ""
    for line in text.split("\n"):
        before, fence = fence, _fence_after(fence, line)
        if before or fence or not line.strip():
            yield "\n".join(lines)
            lines.clear()
        else:
            lines.append(line)
    yield "\n".join(lines)


def _without_code(prose: str) -> str:
    """The paragraph with each code span made a single backtick."""
    runs = list(re.finditer("`+", prose))
    closing: dict[int, int] = {}
    partner: list[int | None] = [None] * len(runs)
    for place in range(len(runs) - 1, -1, -1):
        size = len(runs[place][0])
        partner[place] = closing.get(size)
        closing[size] = place
    kept: list[str] = []
    start = place = 0
    while place < len(runs):
        end = partner[place]
        if end is None:
            place += 1
            continue
        kept.append(prose[start : runs[place].start()] + "`")
        start = runs[end].end()
        place = end + 1
    return "".join(kept) + prose[start:]


def _paths(header: list[str]) -> tuple[str, ...]:
    """Read leniently: people write patterns such as `**/*.py` unquoted, which is not valid YAML."""
    entry = next((place for place, line in enumerate(header) if re.match(_PATHS, line)), None)
    if entry is None:
        return ()
    value, below = _bare(header[entry].partition(":")[2]), header[entry + 1 : entry + 1 + _MOST_PATHS]
    if value.startswith("["):
        value = " ".join((value, *below)).partition("]")[0].removeprefix("[")
    items = _split(value[:_LONGEST_PATHS]) if value else _list_items(below)
    return tuple(item for item in map(_bare, items) if item)


def _list_items(lines: list[str]) -> Iterator[str]:
    for line in lines:
        bare = line.strip()
        if bare.startswith("- "):
            yield bare.removeprefix("- ")
        elif bare and not bare.startswith("#"):
            return


def _split(value: str) -> list[str]:
    """Parts between commas that are not inside braces."""
    parts = [""]
    depth = 0
    for c in value:
        depth += (c == "{") - (c == "}")
        if c == "," and depth <= 0:
            parts.append("")
        else:
            parts[-1] += c
    return parts


def _bare(value: str) -> str:
    """A value without its quotes or the comment behind it."""
    value = value.strip()
    if value[:1] in ("'", '"') and (end := value.find(value[0], 1)) > 0:
        return value[1:end].strip()
    return "" if value.startswith("#") else value.partition(" #")[0].rstrip()
