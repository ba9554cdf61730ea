"""Where git reads besides the working folders: the user's configuration and the repository around them."""

import os
import os.path
import re
import stat
from collections.abc import Iterator, Mapping, Sequence

_POINTS_TO = re.compile(
    r"(?im)^\s*(?:path|file|excludesfile|attributesfile|ignorerevsfile)\s*=\s*\"?([^\"#;\n]+)"
)
_LONGEST = 64 * 1024
_MOST_FILES = 20


def around(cwd: str, roots: Sequence[str], home: str, env: Mapping[str, str]) -> Iterator[str]:
    """Files and folders that git needs to see for a command that runs in `cwd`."""
    yield from _configuration(home, env)
    if (found := _above(os.path.realpath(cwd))) is None:
        return
    top, entry = found
    if not any(_within(entry, root) for root in roots) and not _within(os.path.realpath(home), top):
        # Only a part of the repository is worked in; git compares the whole of it.
        yield top
    yield from _repository(top, entry)


def _configuration(home: str, env: Mapping[str, str]) -> Iterator[str]:
    personal = env.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
    waiting = [os.path.join(personal, "git", name) for name in ("config", "ignore", "attributes")]
    waiting += [env.get("GIT_CONFIG_GLOBAL") or os.path.join(home, ".gitconfig"), "/etc/gitconfig"]
    seen: set[str] = set()
    while waiting and len(seen) < _MOST_FILES:
        path = waiting.pop()
        if path in seen or not os.path.isfile(path):
            continue
        seen.add(path)
        yield path
        for pointed in _POINTS_TO.findall(_read(path)):
            named = pointed.strip()
            whole = os.path.join(home, named[2:]) if named.startswith("~/") else named
            waiting.append(os.path.join(os.path.dirname(path), whole))


def _above(folder: str) -> tuple[str, str] | None:
    """The top of the work tree around a folder, and its `.git`."""
    while True:
        entry = os.path.join(folder, ".git")
        if os.path.lexists(entry):
            return folder, entry
        if folder == "/":
            return None
        folder = os.path.dirname(folder)


def _repository(top: str, entry: str) -> Iterator[str]:
    """Where a work tree's `.git` leads, as far as what it leads to knows of the work tree."""
    git = os.path.realpath(entry)
    if os.path.isfile(entry):
        pointer = _read(entry).strip()
        if not pointer.startswith("gitdir: "):
            return
        git = os.path.realpath(os.path.join(top, pointer.removeprefix("gitdir: ").strip()))
        common = _common(top, entry, git)
        if common is None:
            return
        yield common
        git = common
    alternates = _read(os.path.join(git, "objects", "info", "alternates"))
    for line in alternates.splitlines()[:_MOST_FILES]:
        objects = os.path.realpath(os.path.join(git, "objects", line.strip()))
        if line.strip() and os.path.basename(objects) == "objects":
            yield objects


def _common(top: str, entry: str, git: str) -> str | None:
    """The repository of a linked work tree or a submodule; None for one that does not know it."""
    back = _read(os.path.join(git, "gitdir")).strip()
    if back and os.path.realpath(os.path.join(git, back)) == os.path.realpath(entry):
        # Only the repository that the folder is a part of: a planted one may name any.
        above, name = os.path.split(os.path.dirname(git))
        return above if name == "worktrees" else None
    outer, found, _ = git.partition("/.git/modules/")
    return f"{outer}/.git" if found and _within(top, outer) else None


def _read(path: str) -> str:
    try:
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        regular = stat.S_ISREG(os.fstat(file).st_mode)
        return os.read(file, _LONGEST).decode(errors="replace") if regular else ""
    finally:
        os.close(file)


def _within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")
