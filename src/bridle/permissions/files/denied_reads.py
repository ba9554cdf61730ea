"""Which files that rules keep from being read there are in the folders that a command searches."""

import os.path
from fnmatch import fnmatchcase

from msgspec.structs import replace

from bridle.permissions.files.git_layout import discover
from bridle.permissions.files.paths import is_inside
from bridle.permissions.kernel_rules import denials
from bridle.permissions.tool_names import READ
from bridle.types.permission import Case, Effect
from bridle.types.shell import Part

_SEARCHERS = frozenset({"grep", "egrep", "fgrep", "rg", "diff"})
_BEGINS = (*sorted(_SEARCHERS), "git")
_UNTRACKED = ("--u", "--no-e")
"""Beginnings of the options with which `git grep` searches more than what the repository keeps."""


def searches(part: Part) -> bool:
    """Whether the command prints lines of whatever files it finds in a folder."""
    forms = (part.text, *part.deny_forms)
    return any(form.startswith(_BEGINS) and _is_search(form.split(), part) for form in forms)


def keeps_files_back(case: Case) -> bool:
    """Whether a rule keeps some file from being read."""
    return any(
        rule.effect is Effect.DENY and rule.tool == READ and rule.content is not None for rule in case.rules
    )


def with_kept_back(case: Case) -> Case:
    """The case with the files that rules keep back, where it has a command that goes through folders."""
    reading = case.reading
    if reading is None or not keeps_files_back(case):
        return case
    if not any(part.lists or part.shows_tree or searches(part) for part in reading.parts):
        return case
    case = replace(case, kept_back=_existing(case))
    doubt = "a rule may keep one of the files from being read that it is given"
    parts = tuple(
        replace(
            part,
            unclear=part.unclear
            or (doubt if any(may_hold_some(case, each) for each in part.lists) else None),
            # Git may be set up to search any folder that it is in.
            shows_tree=part.shows_tree and all(map(discover, part.runs_in)),
        )
        for part in reading.parts
    )
    return replace(case, reading=replace(reading, parts=parts))


def may_hold_some(case: Case, folder: str, part: Part | None = None) -> bool:
    """Whether a folder may hold a file that a rule keeps back, and that a search looks into."""
    place = case.place(folder).target
    if case.kept_back is None or not is_inside(place, case.roots):
        return True
    kept_back = case.kept_back if part is None else _in_question(case.kept_back, part)
    return any(is_inside(path, (place,)) or is_inside(place, (path,)) for path in kept_back)


def searched_file(case: Case) -> str | None:
    """A file that a rule keeps back and that a search in the command prints, whatever else allows it."""
    if not case.kept_back or case.reading is None:
        return None
    for part in filter(searches, case.reading.parts):
        for folder in (path for path in (*part.reads, *part.mentions) if case.place(path).folder):
            place = case.place(folder).target
            found = (path for path in _in_question(case.kept_back, part) if is_inside(path, (place,)))
            if (path := next(found, None)) is not None:
                return path
    return None


def _in_question(kept_back: tuple[str, ...], part: Part) -> tuple[str, ...]:
    """Those of the files that a search does not leave out by their names."""
    words = [word.replace("'", "").replace('"', "") for word in part.text.split()]
    globs = [word.removeprefix("--include=") for word in words if word.startswith("--include=")]
    if not globs or words[0] == "rg" or any("/" in glob or "{" in glob for glob in globs):
        return kept_back
    # What a rule closes may be a folder, and then any name may be in it.
    return tuple(
        path
        for path in kept_back
        if os.path.isdir(path) or any(fnmatchcase(os.path.basename(path), glob) for glob in globs)
    )


def _is_search(words: list[str], part: Part) -> bool:
    if words[:2] == ["git", "grep"]:
        # What the repository keeps is looked at elsewhere.
        return not part.shows_tree or any(word.startswith(_UNTRACKED) for word in words)
    return bool(words) and words[0] in _SEARCHERS


def _existing(case: Case) -> tuple[str, ...] | None:
    from bridle.host.wall.closed_files import closed_files
    from bridle.host.wall.closed_index import index_of

    closed = closed_files(denials(case, approved=False).unreadable, case.roots)
    return () if closed is None else index_of(closed, case.roots).paths()
