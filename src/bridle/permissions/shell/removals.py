"""Removals that nobody may approve beforehand."""

import os.path
import re
from collections.abc import Iterator

from msgspec import Struct

from bridle.permissions.shell.directories import resolve
from bridle.permissions.shell.lists import listed
from bridle.permissions.shell.programs import FIND_ACTS
from bridle.permissions.shell.simple import Places
from bridle.permissions.shell.words import Word

_EXPANSION = r"(?:\$\{?[A-Za-z_]\w*[^}/]*\}?|\$[0-9@*]|\$\([^)]*\)|`[^`]*`)"
_BELOW_VARIABLE = re.compile(rf"{_EXPANSION}/[*.?/]*")
_HOME = re.compile(r"\$(?:HOME\b|\{HOME\})")
_HERE = re.compile(r"\$(?:PWD\b|\{PWD\})|\$\(\s*pwd\s*\)|`\s*pwd\s*`")
_ANYTHING = re.compile(r"[*?.]*[*?][*?.]*")
_DRIVE = re.compile(r"[A-Za-z]:(?:[/\\]+[^/\\]*)?[/\\]*")
_BRACES = re.compile(r"([^{}]*)\{([^{}]*,[^{}]*)\}(.*)", re.DOTALL)
_NARROWS = listed("""
    -name -iname -path -ipath -wholename -iwholename -regex -iregex -newer -mtime -mmin -ctime -cmin
    -atime -amin -size -empty -perm -user -group -samefile -inum -lname -links
""")


class Ground(Struct, frozen=True):
    """The directories that must not go."""

    start: str
    home: str
    places: Places


def critical(words: tuple[Word, ...], ground: Ground) -> str | None:
    """Why this command must not run unasked in any mode, if it removes what must not go."""
    name = os.path.basename(words[0].value)
    if name in ("rm", "rmdir", "unlink", "shred"):
        if any(word.value.startswith("--no-pres") for word in words):
            return "it removes the root directory without protection"
        return _first(words[1:], ground)
    if name == "find" and not FIND_ACTS.isdisjoint(word.value for word in words) and _find_removes(words):
        return _find(words[1:], ground)
    return None


def _first(words: tuple[Word, ...], ground: Ground) -> str | None:
    reasons = (_operand(word, ground) for word in words if not word.value.startswith("-"))
    return next((reason for reason in reasons if reason), None)


def _operand(word: Word, ground: Ground) -> str | None:
    text = re.sub(r"/+", "/", word.value)
    if ground.home:
        text = _HOME.sub(lambda _: ground.home, text)
    if ground.places:
        text = _HERE.sub(lambda _: min(ground.places or ()), text)
    if word.doubt is not None and _BELOW_VARIABLE.fullmatch(text):
        return f"it removes everything below {word.raw}, which may be the root directory"
    if word.doubt == "a tilde":
        return f"it removes {word.raw}, somebody's home directory"
    for path in _alternatives(text):
        if reason := _path(path, ground):
            return reason
    return None


def _path(path: str, ground: Ground) -> str | None:
    if _DRIVE.fullmatch(path):
        return f"it removes {path}, a drive or a directory at its top"
    folder, last = os.path.split(path.rstrip("/") or "/")
    if last and _ANYTHING.fullmatch(last):
        for place in _absolute(folder or ".", ground):
            if _must_stay(place, ground):
                return f"it removes everything in {place}"
        return None
    if folder == "/" and re.search(r"[*?\[]", last):
        return f"it removes directories at the top: {path}"
    for place in _absolute(path, ground):
        if _must_stay(place, ground):
            return f"it removes {place}"
    return None


def _must_stay(path: str, ground: Ground) -> bool:
    if path == "/" or os.path.dirname(path) == "/":
        return True
    kept = (ground.home, ground.start, *(ground.places or ()))
    return any(each and f"{os.path.normpath(each)}/".startswith(f"{path}/") for each in kept)


def _absolute(path: str, ground: Ground) -> Iterator[str]:
    if os.path.isabs(path):
        yield resolve("/", path)
        return
    for place in ground.places or (ground.start,):
        yield resolve(place, path)


def _alternatives(text: str, limit: int = 32) -> list[str]:
    found, waiting = [], [text]
    # Nobody writes more braces than this in one word; what is left of them stays as it is.
    steps = 2 * limit
    while waiting and len(found) < limit:
        current = waiting.pop()
        steps -= 1
        if steps > 0 and (braces := _BRACES.fullmatch(current)):
            waiting += [braces[1] + choice + braces[3] for choice in braces[2].split(",")]
        else:
            found.append(current)
    return found


def _find_removes(words: tuple[Word, ...]) -> bool:
    values = [word.value for word in words]
    return "-delete" in values or any(
        os.path.basename(value) in ("rm", "rmdir", "unlink", "shred") for value in values
    )


def _find(words: tuple[Word, ...], ground: Ground) -> str | None:
    roots: list[Word] = []
    for word in words:
        if word.value.startswith("-") or word.value in ("(", "!"):
            if word.value in ("-L", "-H", "-P"):
                continue
            break
        roots.append(word)
    narrow = any(word.value in _NARROWS for word in words)
    for root in roots or [Word(".", ".")]:
        places = list(_absolute(re.sub(r"/+", "/", root.value), ground))
        top = any(place == "/" or os.path.dirname(place) == "/" or place == ground.home for place in places)
        if (top or not narrow) and (reason := _operand(root, ground)):
            return reason
    return None
