"""Reads that are bounded and writes that a crash cannot leave half done."""

import errno
import os
import os.path
import stat
from collections.abc import Callable

from bridle.host.safe_open import Location, PathChanged, folder_of, locate, open_folder

_OTHERS = 0o077
"""Permission bits that let anyone but the owner in."""
_SMALL = 1 << 14
_PIECE = 1 << 20
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC

Look = Callable[[os.stat_result | None], None]
"""Sees what is about to be replaced, None for nothing, and may raise to prevent it."""


def write_atomic(path: str, data: bytes, *, mode: int | None = None) -> None:
    """Make `data` the content of the file: at every moment it is the old file or the new one.

    An existing file keeps its permissions and, where the system lets us, its owner; `mode` is for a new one,
    and a private `mode` makes missing parents private too. A link stays and its target is replaced.

    Raises:
        OSError: nothing was changed and nothing is left behind.
    """
    write_checked(locate(os.path.abspath(path), {}), data, mode=mode)


def write_checked(
    location: Location, data: bytes, *, mode: int | None = None, look: Look = lambda _: None
) -> os.stat_result:
    """Like `write_atomic` for a place that was checked: no link is followed on the way there.

    Returns the status of the new file.

    Raises:
        OSError: nothing was changed and nothing is left behind; the same holds for what `look` raises.
    """
    with folder_of(location, create=True, private=is_private(mode)) as (folder, name):
        old = _writable(name, folder, location.path)
        temporary = f".bridle-{os.urandom(12).hex()}.tmp"
        file = os.open(temporary, _NEW, 0o600 if old or mode is not None else 0o666, dir_fd=folder)
        try:
            written = _fill(file, data, old=old, mode=mode)
            # As late as can be: a process that changed the file while the new one was being written goes
            # first.
            look(_status(name, folder))
            os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            os.unlink(temporary, dir_fd=folder)
            raise
        _sync(folder)
    return written


def write_new(path: str, data: bytes, *, mode: int = 0o600) -> None:
    """Make a file that does not exist yet.

    Raises:
        FileExistsError: something is there already.
        OSError: it could not be written; nothing is left of it.
    """
    descriptor = os.open(path, _NEW, mode)
    try:
        with open(descriptor, "wb", buffering=0) as file:
            left = memoryview(data)
            while left:
                left = left[file.write(left) :]
    except BaseException:
        _remove(path)
        raise


def replace_quickly(path: str, data: bytes, *, mode: int = 0o600) -> None:
    """Make a file hold this in one step, for what need not survive a crash of the machine.

    Raises:
        OSError: the file is as it was, and nothing else is left.
    """
    new = f"{path}.{os.urandom(6).hex()}.tmp"
    write_new(new, data, mode=mode)
    try:
        os.replace(new, path)
    except BaseException:
        _remove(new)
        raise


def copy_quickly(source: str, path: str) -> None:
    """Make a file of the user alone a copy of another, in one step, however large that is.

    Raises:
        OSError: the file is as it was, and nothing else is left; also where the source is a link or no
            regular file.
    """
    new = f"{path}.{os.urandom(6).hex()}.tmp"
    with open(os.open(source, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC), "rb") as old:
        _require_regular(os.fstat(old.fileno()), source)
        descriptor = os.open(new, _NEW, 0o600)
        try:
            with open(descriptor, "wb") as file:
                while piece := old.read(_PIECE):
                    file.write(piece)
            os.replace(new, path)
        except BaseException:
            _remove(new)
            raise


def read_bytes(path: str, limit: int) -> bytes:
    """The whole content of a regular file.

    Raises:
        OSError: the file is missing, unreadable, not regular, or larger than `limit` bytes (EFBIG).
    """
    # A pipe without a writer would block the open itself.
    file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        status = os.fstat(file)
        _require_regular(status, path)
        if status.st_size > limit:
            raise _too_large(path, limit)
        chunks: list[bytes] = []
        left = limit + 1
        # In one go where the size is true; what is asked for takes room even where less comes.
        wanted = max(status.st_size + 1, _SMALL)
        while left and (chunk := os.read(file, min(left, wanted))):
            chunks.append(chunk)
            left -= len(chunk)
            wanted = max(wanted - len(chunk), _SMALL)
    finally:
        os.close(file)
    if not left:
        raise _too_large(path, limit)
    return b"".join(chunks)


def is_private(mode: int | None) -> bool:
    """Whether a file of this mode is for its owner alone; None is the ordinary mode."""
    return mode is not None and not mode & _OTHERS


def make_folders(folder: str, *, private: bool) -> None:
    """Make a folder and those above it, where they are missing; private ones are for the user alone.

    Raises:
        OSError: something else is in the way, or the folder may not be made.
    """
    os.close(open_folder(locate(os.path.abspath(folder), {}), create=True, private=private))


def _writable(name: str, folder: int, path: str) -> os.stat_result | None:
    """The file that is to be replaced, None when there is none."""
    if (old := _status(name, folder)) is None:
        return None
    if stat.S_ISLNK(old.st_mode):
        raise PathChanged(path)
    _require_regular(old, path)
    # Renaming asks only for rights on the directory: a file made read-only must stay as it is.
    if not os.access(name, os.W_OK, dir_fd=folder):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
    return old


def _status(name: str, folder: int) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None


def _require_regular(status: os.stat_result, path: str) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "Not a regular file", path)


def _fill(file: int, data: bytes, *, old: os.stat_result | None, mode: int | None) -> os.stat_result:
    """Write everything, take on the old file's owner and mode, and close the file; returns its status."""
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(file, view) :]
        if old is not None:
            _keep_owner_and_mode(file, old)
        elif mode is not None:
            os.fchmod(file, mode)
        os.fsync(file)
        return os.fstat(file)
    finally:
        os.close(file)


def _sync(folder: int) -> None:
    """Make the new name last through a power cut."""
    try:
        listed = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=folder)
    except OSError:
        return  # A directory that may be written but not listed: the new file is in place all the same.
    try:
        os.fsync(listed)
    except OSError:
        pass  # Not every file system can do it, and the new file is in place all the same.
    finally:
        os.close(listed)


def _keep_owner_and_mode(file: int, old: os.stat_result) -> None:
    mode = stat.S_IMODE(old.st_mode)
    new = os.fstat(file)
    if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid):
        try:
            os.fchown(file, old.st_uid, old.st_gid)
        except PermissionError:
            # The file becomes ours: it must not run with our rights because it once ran with another's.
            mode &= ~(stat.S_ISUID | stat.S_ISGID)
    # After the owner, because changing the owner clears the special bits.
    os.fchmod(file, mode)


def _too_large(path: str, limit: int) -> OSError:
    return OSError(errno.EFBIG, f"Larger than {limit} bytes", path)


def _remove(path: str) -> None:
    """Take a file away, if it is there and can be."""
    try:
        os.unlink(path)
    except OSError:
        pass  # The error that made us clean up is the one to tell.
