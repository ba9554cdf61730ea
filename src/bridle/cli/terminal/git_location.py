"""Which work tree and which repository a folder belongs to, read from files alone."""

import os.path
import re
from collections.abc import Mapping

from bridle.host.files import read_bytes
from bridle.host.git import repository

_LARGEST = 1 << 20
_SECTION = re.compile(r'\s*\[\s*remote\s+"origin"\s*\]')
_URL = re.compile(r"\s*url\s*=\s*(\S+)")
_REMOTE = re.compile(
    r"(?:[a-z+]+://)?(?:[^/@\s]+@)?(?P<host>[^/:\s]+)(?::\d+(?=/))?[/:](?P<owner>.+)/(?P<name>[^/]+?)(?:\.git)?/?"
)


def worktree_of(cwd: str) -> str | None:
    """The name of the work tree around a folder; None in a main checkout and outside of repositories."""
    root = repository.find_root(cwd)
    if root is None or not (known := repository.worktrees(cwd)) or os.path.realpath(known[0]) == root:
        return None
    return os.path.basename(root)


def repository_of(cwd: str) -> Mapping[str, str] | None:
    """Host, owner and name of the repository that a folder was cloned from."""
    known = repository.worktrees(cwd)
    url = _origin(os.path.join(known[0], ".git", "config")) if known else None
    if url is None or (found := _REMOTE.fullmatch(url)) is None or url.startswith(("/", ".", "file:")):
        return None
    return {"host": found["host"], "owner": found["owner"], "name": found["name"]}


def _origin(path: str) -> str | None:
    try:
        lines = read_bytes(path, _LARGEST).decode(errors="replace").splitlines()
    except OSError:
        return None
    inside = False
    for line in lines:
        if line.lstrip().startswith("["):
            inside = _SECTION.match(line) is not None
        elif inside and (found := _URL.match(line)) is not None:
            return found[1]
    return None
