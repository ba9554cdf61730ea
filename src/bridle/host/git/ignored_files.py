"""Keeps files that bridle makes in a project out of commits, without touching a file that is committed."""

import os

from bridle.host.files import make_folders, read_bytes, write_atomic
from bridle.host.git.repository import find_root

_LARGEST = 1_000_000


def exclude(folder: str, pattern: str) -> bool:
    """Let git ignore what a pattern names, in the repository around a folder; whether it does now.

    The list of the repository on this machine is used (`.git/info/exclude`). A repository that is set up in
    a way that could lead elsewhere is left alone.

    Raises:
        OSError: the list cannot be read or written.
    """
    if (root := find_root(folder)) is None or (kept := _own_folder(root)) is None:
        return False
    path = os.path.join(kept, "info", "exclude")
    if os.path.islink(path) or os.path.islink(os.path.dirname(path)):
        return False
    try:
        text = read_bytes(path, _LARGEST)
    except FileNotFoundError:
        make_folders(os.path.dirname(path), private=False)
        text = b""
    if pattern.encode() in text.split():
        return True
    joint = b"" if not text or text.endswith(b"\n") else b"\n"
    write_atomic(path, text + joint + pattern.encode() + b"\n")
    return True


def _own_folder(root: str) -> str | None:
    """Where a repository keeps its own files: below its top, or below that of its main tree."""
    git = os.path.join(root, ".git")
    if os.path.islink(git):
        return None
    if os.path.isdir(git):
        return git
    pointed = _line(git).removeprefix("gitdir:").strip()
    kept = os.path.normpath(os.path.join(root, pointed))
    # A planted pointer is not known where it leads.
    if _line(os.path.join(kept, "gitdir")) != git or os.path.basename(os.path.dirname(kept)) != "worktrees":
        return None
    return os.path.dirname(os.path.dirname(kept))


def _line(path: str) -> str:
    try:
        return read_bytes(path, _LARGEST).decode(errors="replace").strip()
    except OSError:
        return ""
