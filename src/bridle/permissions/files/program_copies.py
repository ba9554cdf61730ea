"""Programs that a command copies, links or renames: rules that deny or ask know them by their names alone."""

import os
import os.path
import re
from collections.abc import Iterator
from fnmatch import fnmatchcase

from msgspec.structs import replace

from bridle.permissions import patterns
from bridle.permissions.files.globs import matches
from bridle.permissions.files.links import FollowedPaths
from bridle.permissions.sorted_rules import sorted_rules
from bridle.permissions.word_lists import listed
from bridle.types.permission import Rule
from bridle.types.shell import Part, Reading

_SPECIAL = frozenset("*?[")
_MOST_FOLLOWED = 200
_COPIERS = listed("cp ln mv install link rsync dd")
_QUOTING = re.compile(r"""[\\'"`$(){}]+""")
_USUAL = ("/usr/bin", "/bin", "/usr/local/bin", "/usr/sbin", "/sbin")


def with_copied_programs(reading: Reading, rules: tuple[Rule, ...], followed: FollowedPaths) -> Reading:
    """The reading with a doubt about each part that may give a program of a rule another name."""
    by_command = sorted_rules(rules).by_command
    keeps = any(part.writes or not part.harmless for part in reading.parts)
    if not by_command or not keeps:
        return reading
    names = tuple(dict.fromkeys(filter(None, (_program(rule.content or "") for rule in by_command))))
    parts = tuple(
        _doubted(part, names, followed) if part.writes or part.feeds or not part.harmless else part
        for part in reading.parts
    )
    return reading if parts == reading.parts else replace(reading, parts=parts)


def _program(content: str) -> str:
    """The name of the program that a rule is about; empty where that is any."""
    first = patterns.one_blank(content).removesuffix(":*").partition(" ")[0]
    name = os.path.basename(first)
    return name if name.strip("*") else ""


def _doubted(part: Part, names: tuple[str, ...], followed: FollowedPaths) -> Part:
    found = next(filter(_is_program, _copied(part, names, followed)), None)
    if found is None or part.unseen is not None:
        return part
    return replace(part, unseen=f"it may rename or copy the program {found}")


def _copied(part: Part, names: tuple[str, ...], followed: FollowedPaths) -> Iterator[str]:
    """The paths that bear one of the names, or lead to one that does."""
    paths = dict.fromkeys((*part.reads, *part.mentions, *_operands(part, names)))
    for path in paths:
        base = os.path.basename(path)
        if _bears(base, names):
            yield path
        elif not _SPECIAL.isdisjoint(base):
            if any(fnmatchcase(name, base) for name in names):
                yield from (each for each in matches(path) if _bears(os.path.basename(each), names))
        elif len(paths) <= _MOST_FOLLOWED:
            yield from (hop for hop in followed.place(path).spellings if _bears(os.path.basename(hop), names))
    for folder in (*(source for source, _ in part.copies), *part.mentions[:_MOST_FOLLOWED]):
        if followed.place(os.path.normpath(folder)).folder:
            yield from (os.path.join(folder, name) for name in names)


def _operands(part: Part, names: tuple[str, ...]) -> Iterator[str]:
    """What the words of a command that copies may come to, in every spelling that is known of it."""
    for form in part.deny_forms:
        program, _, rest = form.partition(" ")
        if os.path.basename(program) not in _COPIERS:
            continue
        # A word that is filled in may look for the program: `$(which curl)`.
        searches = "$(" in rest or "`" in rest
        for word in _QUOTING.sub(" ", rest).split():
            if not _bears(os.path.basename(word), names):
                continue
            folders = (*part.runs_in, *(_USUAL if searches else ()))
            yield from (os.path.join(folder, word) for folder in folders)


def _bears(base: str, names: tuple[str, ...]) -> bool:
    return any(fnmatchcase(base, name) for name in names)


def _is_program(path: str) -> bool:
    """Whether a file is there that can be started."""
    try:
        return os.path.isfile(path) and os.access(path, os.X_OK)
    except ValueError:
        return False  # Not a path at all.
