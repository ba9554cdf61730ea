"""Finds the instruction files of user, project and administrator, and of folders as they are entered."""

import os

from bridle.context.globs import matches
from bridle.context.instruction_reader import InstructionReader
from bridle.context.instruction_scope import Instructions, Kind, PathRule, Scope, is_inside
from bridle.types.text import one_line

_MOST_RULES = 500
_MOST_FOLDERS = 200


def load(scope: Scope) -> Instructions:
    """What counts from the beginning of a session, the weightiest last."""
    if not scope.enabled:
        return Instructions()
    reading = InstructionReader(scope, reason="session_start")
    reading.take(os.path.join(scope.managed_dir, "CLAUDE.md"), "Managed")
    reading.take_text("managed settings (claudeMd)", "Managed", scope.managed_text)
    if "user" in scope.sources:
        reading.take(os.path.join(scope.config_home, "CLAUDE.md"), "User")
        _take_rules(reading, os.path.join(scope.config_home, "rules"), "User", base=scope.cwd)
    for directory in (*_down_to(scope.cwd), *scope.extra_dirs):
        _take_directory(reading, directory, scope)
    return reading.result()


def nested_for(
    path: str, scope: Scope, *, waiting: tuple[PathRule, ...] = (), already: frozenset[str] = frozenset()
) -> Instructions:
    """What reading the file at `path` brings in: instructions of folders below `cwd`, rules that cover it.

    `waiting` and `already` are what `load` returned; the next call takes `already` from this result's `seen`.
    """
    if not scope.enabled:
        return Instructions(seen=already)
    named = os.path.normpath(os.path.join(scope.cwd, path))
    reading = InstructionReader(scope, reason="nested_traversal", trigger=path, already=already)
    # Where links lead matters only to rules and to files that are named from elsewhere.
    inside = is_inside(named, scope.cwd) and named != scope.cwd
    for directory in _between(scope.cwd, (named,) if inside else _spellings(named)):
        _take_directory(reading, directory, scope)
    rules = (*waiting, *reading.result().waiting)
    spellings = _spellings(named) if rules else ()
    for rule in rules:
        if _covers(rule, spellings):
            reading.take_waiting(rule)
    return reading.result()


def _take_directory(reading: InstructionReader, directory: str, scope: Scope) -> None:
    own = os.path.join(directory, ".claude")
    # The user's own folder lies in a parent directory of most projects, but it is not theirs.
    shared = os.path.isdir(own) and os.path.realpath(own) != scope.config_home
    if "project" in scope.sources:
        main = os.path.join(directory, "CLAUDE.md")
        reading.take(main, "Project")
        if shared:
            reading.take(os.path.join(own, "CLAUDE.md"), "Project")
        if not os.path.isfile(main):
            reading.take(os.path.join(directory, "AGENTS.md"), "Project")
        if shared:
            _take_rules(reading, os.path.join(own, "rules"), "Project", base=directory)
    if "local" in scope.sources:
        reading.take(os.path.join(directory, "CLAUDE.local.md"), "Local")


def _take_rules(reading: InstructionReader, folder: str, kind: Kind, *, base: str) -> None:
    found: list[str] = []
    folders = [folder]
    entered: set[str] = set()
    while folders and len(entered) < _MOST_FOLDERS and len(found) < _MOST_RULES:
        current = folders.pop()
        if (real := os.path.realpath(current)) in entered:
            continue
        entered.add(real)
        try:
            with os.scandir(current) as entries:
                for entry in entries:
                    if entry.is_dir():
                        folders.append(entry.path)
                    elif entry.name.endswith(".md"):
                        found.append(entry.path)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            reading.report(f"{one_line(current)} is not read: {error.strerror}.")
    for path in sorted(found)[:_MOST_RULES]:
        reading.take_rule(path, kind, base=base)


def _down_to(directory: str) -> list[str]:
    chain = [directory]
    while (parent := os.path.dirname(chain[-1])) != chain[-1]:
        chain.append(parent)
    return chain[::-1]


def _spellings(named: str) -> tuple[str, ...]:
    """The file as it was named and where links lead from there."""
    return tuple(dict.fromkeys((named, os.path.realpath(named))))


def _between(cwd: str, spellings: tuple[str, ...]) -> list[str]:
    """The directories below `cwd` on the way to a file, from the top."""
    for path in spellings:
        if is_inside(path, cwd) and path != cwd:
            found: list[str] = []
            folder = os.path.dirname(path)
            while len(folder) > len(cwd):
                found.append(folder)
                folder = os.path.dirname(folder)
            return found[::-1]
    return []


def _covers(rule: PathRule, spellings: tuple[str, ...]) -> bool:
    return any(
        matches(pattern, os.path.relpath(path, rule.base))
        for path in spellings
        if is_inside(path, rule.base)
        for pattern in rule.globs
    )
