"""The private folder of a session's sandbox."""

import marshal
import os
import os.path
import re
from collections.abc import Mapping
from types import CodeType

from msgspec import Struct

from bridle.host.owners import birth, is_alive
from bridle.host.programs import PROGRAMS

_LONGEST_BASE = 60
"""Names of sockets are short."""

_OWNER = "owner"
"""Tells which process the folder belongs to."""
_PACKAGE = "bridle.host.sandbox.inside"
_LAUNCHER = ("kernel", "mounts", "rights", "launch")
_OVERSEER = (
    "names", "requests", "targets", "devices", "openings", "creations", "changes", "overseer",
)  # fmt: skip
"""Modules in the order in which they need each other."""


class PrivateDir(Struct, frozen=True, kw_only=True):
    folder: str
    temporary: str
    """The only part that commands may write to."""
    socket_path: str
    """The socket at which commands are let in."""
    void_file: str
    void_folder: str
    """What stands in for things that do not exist."""
    dark_file: str
    """What stands in for files that may not be read."""
    launcher: str
    overseer: str
    """Our launcher and what it runs beside a command, compiled, where no command can change them."""


def open_private_dir(env: Mapping[str, str]) -> PrivateDir:
    """Make the folder, for the user alone and under a name that no one can guess."""
    base = os.path.realpath(env.get("CLAUDE_CODE_TMPDIR") or env.get("TMPDIR") or "/tmp")
    if len(base) > _LONGEST_BASE or not os.access(base, os.W_OK):
        base = "/tmp"
    _sweep(base)
    folder = os.path.join(base, f"bridle-{os.urandom(8).hex()}")
    os.mkdir(folder, 0o700)
    PROGRAMS.keep_out_of((folder,))
    with open(os.path.join(folder, _OWNER), "x", encoding="ascii") as file:
        file.write(f"{os.getpid()} {birth(os.getpid())}")
    private = PrivateDir(
        folder=folder,
        temporary=os.path.join(folder, "tmp"),
        socket_path=os.path.join(folder, "socket"),
        void_file=os.path.join(folder, "void"),
        void_folder=os.path.join(folder, "voids"),
        dark_file=os.path.join(folder, "dark"),
        launcher=os.path.join(folder, "launcher"),
        overseer=os.path.join(folder, "overseer"),
    )
    os.mkdir(private.temporary, 0o700)
    os.mkdir(private.void_folder, 0o555)
    for path, names in ((private.launcher, _LAUNCHER), (private.overseer, _OVERSEER)):
        with open(path, "xb") as file:
            file.write(_bundle(names))
    for path, mode in ((private.void_file, 0o444), (private.dark_file, 0o000)):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, mode))
    return private


def _sweep(base: str) -> None:
    """Remove the folders of processes that were killed before they could do so."""
    with os.scandir(base) as found:
        left = [each for each in found if re.fullmatch(r"bridle-[0-9a-f]{16}", each.name)]
    for each in left:
        if each.is_dir(follow_symlinks=False):
            _remove_if_dead(each.path)


def _remove_if_dead(folder: str) -> None:
    try:
        if os.lstat(folder).st_uid != os.getuid():
            return
        with open(os.path.join(folder, _OWNER), encoding="ascii") as file:
            pid, _, born = file.read(100).partition(" ")
    except (OSError, ValueError):
        return  # Being made or removed right now, or none of ours.
    if pid.isdecimal() and not is_alive(int(pid), born):
        _remove(folder)


def _bundle(names: tuple[str, ...]) -> bytes:
    """Modules with their code, for programs that have no way to ours."""
    return marshal.dumps([(f"{_PACKAGE}.{name}", _compiled(name)) for name in names])


def _compiled(name: str) -> CodeType:
    """The code of a module as the installation holds it: compiled already, except the first time."""
    from importlib.machinery import SourceFileLoader

    module = f"{_PACKAGE}.{name}"
    path = os.path.join(os.path.dirname(__file__), "inside", f"{name}.py")
    code = SourceFileLoader(module, path).get_code(module)
    assert code is not None, path
    return code


def close_private_dir(private: PrivateDir) -> None:
    """Remove the folder and all that commands left in it."""
    _remove(private.folder)


def _remove(folder: str) -> None:
    import shutil

    shutil.rmtree(folder, ignore_errors=True)
