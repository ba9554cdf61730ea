"""Holds a judged command with bubblewrap, where the kernel has no Landlock."""

import os
import os.path
from collections.abc import Iterator, Sequence

from bridle.host.sandbox.bubblewrap import find_bubblewrap
from bridle.host.wall.visible_files import VisiblePaths
from bridle.types.sandbox import View

_MOST_FOLDERS = 2_000


def wrap(argv: Sequence[str], view: View, seen: VisiblePaths, *, temporary: str, cwd: str) -> Sequence[str]:
    """The command line that starts another with nothing but the places it may see."""
    program = find_bubblewrap(None)
    assert program is not None, "it was there a moment ago"
    edited = [os.path.realpath(root) for root in view.roots] if view.level == "edit" else []
    return (
        program,
        "--unshare-user-try",
        "--unshare-pid",
        "--unshare-net",
        "--unshare-ipc",
        "--unshare-uts",
        "--die-with-parent",
        "--cap-drop",
        "ALL",
        "--proc",
        "/proc",
        "--dev",
        "/dev",
        *_views(seen),
        *(word for root in edited for word in ("--bind-try", root, root)),
        *(word for path in _protected(view, edited) for word in ("--ro-bind", path, path)),
        *_closed(seen.closed_paths or (), temporary),
        "--bind",
        temporary,
        temporary,
        "--chdir",
        cwd,
        "--",
        *argv,
    )


def _views(seen: VisiblePaths) -> Iterator[str]:
    for path in sorted({*seen.usual, *(path for path, _ in seen.own)}):
        if not path.startswith(("/dev/", "/proc")):
            yield from ("--ro-bind-try", path, path)
    for link in ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"):
        if os.path.islink(link):
            yield from ("--symlink", os.readlink(link), link)


def _closed(paths: Sequence[str], temporary: str) -> Iterator[str]:
    """Puts something that no one can open in the place of each file that rules keep from being read."""
    nothing = os.path.join(temporary, "closed")
    for path in paths:
        if os.path.isdir(path):
            yield from ("--perms", "0000", "--tmpfs", path, "--remount-ro", path)
        elif os.path.isfile(path) and not os.path.islink(path):
            if not os.path.lexists(nothing):
                os.close(os.open(nothing, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o000))
            yield from ("--ro-bind", nothing, path)


def _protected(view: View, roots: Sequence[str]) -> Iterator[str]:
    """Protected names that exist; this way does not prevent creating the others."""
    waiting, searched = list(roots), 0
    while waiting and searched < _MOST_FOLDERS:
        folder = waiting.pop(0)
        searched += 1
        try:
            entries = list(os.scandir(folder))
        except OSError:
            continue  # What cannot be listed by us cannot be written by what we start.
        for entry in entries:
            if entry.name.casefold() in view.protected_names:
                yield entry.path
            elif entry.is_dir(follow_symlinks=False):
                waiting.append(entry.path)
