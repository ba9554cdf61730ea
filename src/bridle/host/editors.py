"""Finds the editors on this machine that let themselves be reached, by the files they leave for it."""

import os
import re
import stat
from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec
from msgspec import Struct

from bridle.host.owners import birth
from bridle.host.paths import config_home
from bridle.types.variables import is_on

_LOCK = re.compile(r"([1-9]\d{0,4})\.lock", re.ASCII)
_HOST = re.compile(r"[\w.:-]{1,253}", re.ASCII)
_TOKEN = re.compile(r"[!-~]{1,500}", re.ASCII)
_DRIVE = re.compile(r"([A-Za-z]):[\\/](.*)", re.DOTALL)
_LARGEST = 64 * 1024
_MOST_FILES = 200
_MOST_FOLDERS = 100
_LONGEST_NAME = 60
_HIGHEST_PORT = 65_535
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_OTHERS_WRITE = 0o022


class Editor(Struct, frozen=True, kw_only=True):
    """An editor that runs."""

    name: str
    port: int
    folders: tuple[str, ...]
    transport: Literal["ws", "sse"]
    host: str = "127.0.0.1"
    token: str | None = None
    fits: bool = True
    """It has the folder of this session open."""

    @property
    def url(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"ws://{host}:{self.port}" if self.transport == "ws" else f"http://{host}:{self.port}/sse"


class _Lock(Struct, rename="camel"):
    """What an editor writes of itself."""

    workspace_folders: list[str] = []
    ide_name: str = ""
    pid: int | None = None
    transport: str = "sse"
    auth_token: str | None = None
    running_in_windows: bool = False
    host: str | None = None


def locks_folder(env: Mapping[str, str]) -> str:
    """Where editors leave their files."""
    return os.path.join(config_home(env), "ide")


def find_editors(env: Mapping[str, str], cwd: str) -> tuple[Editor, ...]:
    """The editors that run, those that have this folder open first; their files are never changed."""
    folder = locks_folder(env)
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for entry in entries if _LOCK.fullmatch(entry.name)]
    except OSError:
        return ()
    found = (_read(folder, name, env, cwd) for name in sorted(names)[:_MOST_FILES])
    editors = [editor for editor in found if editor is not None]
    return tuple(sorted(editors, key=lambda each: (not each.fits, each.name, each.port)))


def _read(folder: str, name: str, env: Mapping[str, str], cwd: str) -> Editor | None:
    """The editor behind a file; None where the file is not to be believed."""
    port = int(name.removesuffix(".lock"))
    data = _trusted_bytes(os.path.join(folder, name))
    if data is None or port > _HIGHEST_PORT:
        return None
    try:
        lock = msgspec.json.decode(data, type=_Lock)
    except (msgspec.DecodeError, RecursionError):
        return None
    chosen = env.get("CLAUDE_CODE_IDE_HOST_OVERRIDE", "").strip()
    if chosen and not _HOST.fullmatch(chosen):
        return None
    elsewhere = lock.host is not None and lock.host not in _LOOPBACK
    if (elsewhere and not chosen) or (lock.auth_token is not None and not _TOKEN.fullmatch(lock.auth_token)):
        return None
    # Numbers of processes mean nothing across the border of a container or of Windows.
    if not chosen and not lock.running_in_windows and not _is_running(lock.pid):
        return None
    folders = _folders(lock)
    return Editor(
        name=_shown_name(lock.ide_name),
        port=port,
        folders=folders,
        transport="ws" if lock.transport == "ws" else "sse",
        host=chosen or "127.0.0.1",
        token=lock.auth_token,
        fits=is_on(env, "CLAUDE_CODE_IDE_SKIP_VALID_CHECK") or _has_open(folders, cwd),
    )


def _trusted_bytes(path: str) -> bytes | None:
    """What a small file of our own holds; None for links, devices and what others could have written."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
    try:
        file = os.open(path, flags)
    except OSError:
        return None
    try:
        status = os.fstat(file)
        is_ours = status.st_uid == os.getuid() and not status.st_mode & _OTHERS_WRITE
        if not stat.S_ISREG(status.st_mode) or not is_ours or status.st_size > _LARGEST:
            return None
        data = os.read(file, _LARGEST + 1)
    except OSError:
        return None
    finally:
        os.close(file)
    return data if len(data) <= _LARGEST else None


def _is_running(pid: int | None) -> bool:
    if pid is None or not 0 < pid < 2**31:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass  # It runs under another user, which an editor that was started with other rights does.
    return birth(pid) != "dead"


def _folders(lock: _Lock) -> tuple[str, ...]:
    given = [_here(each) if lock.running_in_windows else each for each in lock.workspace_folders]
    return tuple(each for each in given if os.path.isabs(each) and "\0" not in each)[:_MOST_FOLDERS]


def _here(path: str) -> str:
    """A folder of Windows as Linux beside it calls it."""
    if (drive := _DRIVE.fullmatch(path)) is None:
        return path
    return f"/mnt/{drive[1].lower()}/{drive[2].replace(chr(92), '/')}"


def _has_open(folders: Sequence[str], cwd: str) -> bool:
    here = os.path.realpath(cwd)
    return any(
        here == above or here.startswith(above.rstrip("/") + "/") for above in map(os.path.realpath, folders)
    )


def _shown_name(name: str) -> str:
    shown = "".join(char for char in name if char.isprintable()).strip()
    return shown[:_LONGEST_NAME] or "editor"
