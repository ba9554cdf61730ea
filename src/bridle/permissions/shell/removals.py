"""Removals that no rule may approve."""

import os.path
import re
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase

from msgspec import Struct

from bridle.permissions.shell.hidden_commands import Args
from bridle.permissions.shell.syntax.braces import expand_braces
from bridle.permissions.shell.syntax.expansions import BEYOND, FULL, HOLE
from bridle.permissions.shell.syntax.simple_command import Places
from bridle.permissions.shell.values.possible_words import Arg
from bridle.permissions.word_lists import listed

REMOVERS = listed("rm rmdir unlink shred srm grm rimraf trash trash-put del-cli")
_REMOVES = re.compile(rf"(?<![\w.-])(?:{'|'.join(sorted(REMOVERS))})(?![\w.-])")
_PROCESS = re.compile(r"/proc/[^/]+(?:/task/[^/]+)?/(cwd|root)(?=/|$)")
_CLASS = re.compile(r"\[(?:\[:\w+:\]|\\?[^\]])+\]")
_WIDE_CLASS = re.compile(r"\[[!^]|a-z|A-Z|\[:(?:alnum|alpha|graph|print|lower|upper|word):\]")
_EXTENDED = re.compile(r"[@!+?*]\([^()]*\)")
_ANYTHING = re.compile(r"[*?.]*[*?][*?.]*")
_SPECIAL = re.compile(r"[*?\[]")
_DRIVE = re.compile(r"[A-Za-z]:(?:[/\\]+[^/\\]*)?[/\\]*")
_NARROWS = listed("""
    -name -iname -path -ipath -wholename -iwholename -regex -iregex -newer -mtime -mmin -ctime -cmin
    -atime -amin -size -empty -perm -user -group -samefile -inum -lname -links
""")
_FIND_ACTS = listed("-exec -execdir -ok -okdir -delete")


class ProtectedFolders(Struct, frozen=True):
    """The directories that must not go."""

    start: str
    home: str
    places: Places

    @property
    def kept(self) -> tuple[str, ...]:
        return tuple(os.path.normpath(each) for each in (self.home, self.start, *(self.places or ())) if each)


def critical(args: Args, ground: ProtectedFolders) -> str | None:
    """Why this command must not run unasked in any mode, if it removes what must not go."""
    name = args[0].name
    if name in REMOVERS:
        if any(arg.value.startswith("--no") for arg in args):
            return "it removes the root directory without protection"
        return _first(_operands(args), ground)
    if name in ("find", "gfind", "bfs") and _find_removes(args):
        return _find(args, ground)
    if name in ("fd", "fdfind") and _REMOVES.search(" ".join(arg.value for arg in args)):
        return _first(_operands(args)[1:], ground)
    if name == "rsync" and any(arg.value.startswith("--del") for arg in args):
        return _emptied(_operands(args)[-1:], ground)
    return None


def removed(args: Args, ground: ProtectedFolders) -> Iterator[str]:
    """The paths that a command removes, absolute and as written; with a slash at the end, what is in them."""
    if args[0].name not in REMOVERS:
        return
    for arg in _operands(args):
        if arg.value.startswith((HOLE, FULL)):
            continue
        text = _plain_text(arg.value.replace(HOLE, ""), ground)
        folder, last = os.path.split(text.rstrip("/") or "/")
        inside = _is_anything(last)
        written = folder or "." if inside else text
        for place in ground.places or (ground.start,):
            path = os.path.join(place, written)
            yield f"{path.rstrip('/')}/" if inside or text.endswith(("/", "/.")) else path


def must_stay(path: str, kept: Iterable[str]) -> bool:
    """Whether a directory is the root, one at its top, or one of these or above them."""
    if path == "/" or os.path.dirname(path) == "/":
        return True
    return any(f"{each}/".startswith(f"{path}/") for each in kept)


def _operands(args: Args) -> Args:
    return tuple(arg for arg in args[1:] if not arg.value.startswith("-"))


def _first(args: Iterable[Arg], ground: ProtectedFolders) -> str | None:
    reasons = (_operand(arg, ground) for arg in args)
    return next((reason for reason in reasons if reason), None)


def _operand(arg: Arg, ground: ProtectedFolders) -> str | None:
    text = _plain_text(arg.value, ground)
    if BEYOND in text:
        return f"it removes {arg.raw}, which cannot be resolved"
    if text.startswith("~") and arg.raw.startswith("~"):
        return f"it removes {arg.raw}, a user's home directory"
    if not text.strip(HOLE) or not text.strip(FULL):
        return None
    reason = f"it removes everything below {arg.raw}, which may be the root directory"
    if any(map(_is_anything, _steps_below(arg))):
        return reason
    known = text.lstrip(HOLE + FULL)
    if known != text and known.startswith("/"):
        first = os.path.normpath(known.replace(HOLE, "")).strip("/").partition("/")[0]
        if first not in ("", ".", "..") and not _is_anything(first):
            return None  # `$X/cache`: what is below a variable and has a name is no root.
        if FULL in text[: len(text) - len(known)]:
            return reason if _is_anything(first) else None
        return reason
    return _path(text.replace(HOLE, ""), ground)


def _steps_below(arg: Arg) -> Iterator[str]:
    """What stands directly below the variable that a word begins with."""
    if arg.below.startswith("/"):
        yield from (each.strip("/") for each in expand_braces(arg.below) if "/" not in each.strip("/"))


def _plain_text(value: str, ground: ProtectedFolders) -> str:
    text = re.sub(r"/+", "/", value)
    here = min(ground.places) if ground.places else ground.start
    return _PROCESS.sub(lambda found: here if found[1] == "cwd" else "/", text).replace("//", "/")


def _path(path: str, ground: ProtectedFolders) -> str | None:
    if _DRIVE.fullmatch(path):
        return f"it removes {path}, a drive or top-level directory"
    steps = (path.rstrip("/") or "/").split("/")
    base = list(steps)
    while base and base[-1] and _is_anything(base[-1]):
        base.pop()
    if base != steps:
        folder = "/".join(base) or ("/" if path.startswith("/") else ".")
        if not _SPECIAL.search(folder):
            places = (place for place in _absolute(folder, ground) if must_stay(place, ground.kept))
            return next((f"it removes everything in {place}" for place in places), None)
    if len(steps) == 2 and not steps[0] and _SPECIAL.search(steps[1]):
        return f"it removes top-level directories: {path}"
    for place in _absolute(path, ground):
        if must_stay(place, ground.kept) or (_SPECIAL.search(place) and _matches_kept(place, ground)):
            return f"it removes {place}"
    if ground.places is None and not path.startswith("/"):
        # Unknown where it runs: it may be right above what must not go.
        return next((f"it removes {each}" for each in ground.kept if f"{each}/".endswith(f"/{path}/")), None)
    return None


def _matches_kept(pattern: str, ground: ProtectedFolders) -> bool:
    """Whether a pattern of file names stands for what must not go."""
    steps = pattern.split("/")
    return any(
        all(fnmatchcase(name, step) for name, step in zip(each.split("/"), steps, strict=False))
        for each in ground.kept
        if len(each.split("/")) >= len(steps)
    )


def _is_anything(step: str) -> bool:
    """Whether a pattern matches about every name."""
    if not _SPECIAL.search(step) and "(" not in step:
        return False
    wide = _CLASS.sub(lambda found: "?" if _WIDE_CLASS.search(found[0]) else "x", _EXTENDED.sub("*", step))
    return _ANYTHING.fullmatch(wide) is not None


def _absolute(path: str, ground: ProtectedFolders) -> Iterator[str]:
    for place in ground.places or (ground.start,):
        joined = os.path.normpath(os.path.join(place, path))
        yield joined[1:] if joined.startswith("//") else joined


def _find_removes(args: Args) -> bool:
    values = [arg.value for arg in args]
    if _FIND_ACTS.isdisjoint(values):
        return False
    return "-delete" in values or any(_REMOVES.search(value) for value in values)


def _find(args: Args, ground: ProtectedFolders) -> str | None:
    roots: list[Arg] = []
    for arg in args[1:]:
        if arg.value in ("-L", "-H", "-P"):
            continue
        if arg.value.startswith("-") or arg.value in ("(", "!"):
            break
        roots.append(arg)
    narrow = _is_narrow([arg.value for arg in args])
    for root in roots or [Arg(".", ".")]:
        text = _plain_text(root.value.replace(HOLE, ""), ground)
        top = any(
            place == "/" or os.path.dirname(place) == "/" or f"{ground.home}/".startswith(f"{place}/")
            for place in _absolute(text or ".", ground)
        )
        known = root if root.value.strip(HOLE) else Arg(".", ".")
        if (top or not narrow) and (reason := _operand(known, ground)):
            return reason
    return None


def _is_narrow(values: list[str]) -> bool:
    """Whether a search acts on some of the files only."""
    ends = [index for index, value in enumerate(values) if value in _FIND_ACTS]
    tests = values[: ends[0]] if ends else values
    if "(" not in tests:
        branches = [index for index, value in enumerate(tests) if value in ("-o", "-or", ",")]
        tests = tests[branches[-1] :] if branches else tests
    for index, value in enumerate(tests):
        negated = index > 0 and tests[index - 1] in ("!", "-not")
        wide = index + 1 < len(tests) and _is_anything(tests[index + 1])
        if value in _NARROWS and not negated and not wide:
            return True
    return False


def _emptied(args: Iterable[Arg], ground: ProtectedFolders) -> str | None:
    """Why a folder must not be made like another one: only the root, its folders and the home count here."""
    for arg in args:
        text = _plain_text(arg.value.replace(HOLE, ""), ground)
        for place in _absolute(text, ground) if text and ":" not in text else ():
            if must_stay(place, (ground.home,)):
                return f"it removes the contents of {place}"
    return None
