"""Which instruction files count for a session, and what has been read of them."""

import os
import sys
from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

from bridle.context.prompt_switches import read_switches
from bridle.host import paths
from bridle.host.git import repository

Kind = Literal["Managed", "User", "Project", "Local"]
"""Who speaks: the administrator, the user everywhere, the project, the user in this project."""

Reason = Literal["session_start", "nested_traversal", "path_glob_match", "include"]

ALL_SOURCES = frozenset({"user", "project", "local"})


class InstructionFile(Struct, frozen=True, kw_only=True):
    path: str
    kind: Kind
    text: str
    reason: Reason = "session_start"
    globs: tuple[str, ...] = ()
    """The patterns of a rule that counts for some files only."""
    trigger: str | None = None
    """The file whose reading brought this one in."""
    parent: str | None = None
    """The file that imports this one."""


class PathRule(Struct, frozen=True, kw_only=True):
    """A rule that waits until a file is read that it covers."""

    path: str
    kind: Kind
    base: str
    """The directory that its patterns start from."""
    globs: tuple[str, ...]


class Instructions(Struct, frozen=True, kw_only=True):
    files: tuple[InstructionFile, ...] = ()
    """The later a file stands, the more it weighs."""
    problems: tuple[str, ...] = ()
    waiting: tuple[PathRule, ...] = ()
    seen: frozenset[str] = frozenset()
    """Every file that was looked into, links followed; it is not looked into again."""
    outside: tuple[str, ...] = ()
    """Imported files outside the project that were not approved, links followed."""


class Scope(Struct, frozen=True, kw_only=True):
    """Where to look; every path is absolute with links followed."""

    cwd: str
    project: str
    """Where files that the project's instructions import must lie."""
    home: str
    config_home: str
    managed_dir: str
    managed_text: str = ""
    sources: frozenset[str] = ALL_SOURCES
    excludes: tuple[str, ...] = ()
    extra_dirs: tuple[str, ...] = ()
    imports: frozenset[str] = frozenset()
    """Files outside the project that it may import, because the user has agreed."""
    enabled: bool = True


def open_scope(
    cwd: str,
    *,
    env: Mapping[str, str],
    managed_dir: str | None = None,
    managed_text: str = "",
    sources: frozenset[str] = ALL_SOURCES,
    excludes: tuple[str, ...] = (),
    extra_dirs: tuple[str, ...] = (),
    imports: frozenset[str] = frozenset(),
) -> Scope:
    """The scope of a session in `cwd`, with the environment variables that narrow or widen it applied."""
    switches = read_switches(env)
    home = os.path.realpath(env.get("HOME") or os.path.expanduser("~"))
    here = os.path.realpath(cwd)
    return Scope(
        cwd=here,
        project=_project(here, home),
        home=home,
        config_home=os.path.realpath(paths.config_home(env)),
        managed_dir=managed_dir if managed_dir is not None else paths.managed_dir(sys.platform),
        managed_text=managed_text,
        sources=sources,
        excludes=excludes,
        extra_dirs=tuple(map(os.path.realpath, extra_dirs)) if switches.extra_directories else (),
        imports=imports,
        enabled=switches.instructions,
    )


def is_inside(path: str, directory: str) -> bool:
    """Whether a resolved path is a resolved directory or lies below it."""
    return path == directory or path.startswith(directory.rstrip("/") + "/")


def _project(cwd: str, home: str) -> str:
    root = repository.find_root(cwd)
    # A home directory under version control does not make everything in it one project.
    return cwd if root is None or is_inside(home, root) else root
