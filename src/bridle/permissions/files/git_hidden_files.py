"""Files that rules keep from being read, where git would show them out of its own store."""

import os.path
import re

from msgspec.structs import replace

from bridle.permissions.files.git_layout import Repository, discover, tracked
from bridle.permissions.files.paths import covers_any
from bridle.permissions.tool_names import READ
from bridle.types.permission import Case, Effect, Rule
from bridle.types.shell import Part, Reading

_MOST = 50_000
_SPECIAL = re.compile(r"[*?\[\\]")


def with_tree_paths(reading: Reading) -> Reading:
    """The reading with paths in commits also as files of the work tree, so that rules for those count."""
    if not any(part.tree_paths for part in reading.parts):
        return reading
    return replace(reading, parts=tuple(map(_from_top, reading.parts)))


def with_files_kept_back(case: Case) -> Case:
    """The case with commands in doubt that show all of a repository in which a rule keeps a file back."""
    reading = case.reading
    if reading is None or not any(part.shows_tree for part in reading.parts):
        return case
    rules = [rule for rule in case.rules if _keeps_back(rule)]
    if not rules:
        return case
    parts = tuple(_doubted(part, case, rules) if part.shows_tree else part for part in reading.parts)
    return replace(case, reading=replace(reading, parts=parts))


def _from_top(part: Part) -> Part:
    tops = {repository.top for place in part.runs_in for repository in discover(place)[-1:]}
    found = (os.path.normpath(os.path.join(top, path)) for top in sorted(tops) for path in part.tree_paths)
    return replace(part, reads=tuple(dict.fromkeys((*part.reads, *found))))


def _keeps_back(rule: Rule) -> bool:
    return rule.effect is Effect.DENY and rule.tool == READ and rule.content is not None


def _doubted(part: Part, case: Case, rules: list[Rule]) -> Part:
    for place in part.runs_in:
        for repository in discover(place)[-1:]:
            if (shown := _shown(repository, case, rules, _limits(part, repository))) is not None:
                return replace(
                    part, unclear=part.unclear or f"it may show {shown}, which a rule denies reading"
                )
    return part


def _limits(part: Part, repository: Repository) -> tuple[str, ...]:
    """The paths besides of which the command shows nothing; none when it may show everything."""
    names = (path for path in part.shown_names if os.path.lexists(path))
    # A path in a commit begins at the top; one that was written begins where git runs.
    named = (os.path.join(repository.top, path) for path in part.tree_paths if part.shown_paths)
    return tuple(_real(path) for path in dict.fromkeys((*part.shown_paths, *names, *named)))


def _real(path: str) -> str:
    """A path with no link before its last name, which git does not follow."""
    folder, name = os.path.split(path.rstrip("/"))
    return os.path.normpath(os.path.join(os.path.realpath(folder), name))


def _shown(repository: Repository, case: Case, rules: list[Rule], limits: tuple[str, ...]) -> str | None:
    """A file of the repository that a rule covers: one that it keeps, or one that is there."""
    names = tracked(repository)
    if names is None or len(names) > _MOST:
        return "a file"
    top = os.path.realpath(repository.top)

    def is_shown(path: str) -> bool:
        real = os.path.normpath(os.path.join(top, os.path.relpath(path, repository.top)))
        return not limits or any(f"{real}/".startswith(f"{limit.rstrip('/')}/") for limit in limits)

    paths = [path for path in (os.path.join(repository.top, name) for _, name in names) if is_shown(path)]
    for rule in rules:
        pattern = (rule.content or "").rstrip("/*").rpartition("/")[2]
        likely = [path for path in paths if pattern in path] if not _SPECIAL.search(pattern) else paths
        literal = os.path.join(repository.top, (rule.content or "").lstrip("./"))
        if not _SPECIAL.search(rule.content or "") and os.path.lexists(literal) and is_shown(literal):
            likely = [literal, *likely]
        found = next((path for path in likely if covers_any(rule, case, (path,))), None)
        if found is not None:
            return found
    return None
