"""Makes files and names for confined commands in their place, so that protected names are never made.

The kernel stops a command where it would open a file for writing or make a name, and asks here. Letting the
call go on after a look at its path would not do: the command could change the path in between. So the call is
done here, with the rights of the command, on what was looked at. Run by the launcher; imports little.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import select
import signal
import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    import _socket
    from collections.abc import Callable
    from typing import Any

_RECEIVE, _SEND, _IS_VALID, _ADD_DESCRIPTOR = 0xC0502100, 0xC0182101, 0x40082102, 0x40182103
_AND_SEND = 2
_OPENAT2, _RENAMEAT2 = 437, {"x86_64": 316, "aarch64": 276, "arm64": 276}
_HERE = -100
_FOLLOW, _EMPTY_PATH, _EXCHANGE = 0x400, 0x1000, 2
_NO_SYMLINKS = 0x04
_LOOK = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
_LONGEST, _PAGE, _MOST_LINKS = 4096, 4096, 40
_KIND, _FOLDER, _LINK, _REGULAR = 0o170000, 0o040000, 0o120000, 0o100000
_RETRY = 10
"""Milliseconds."""

_libc = ctypes.CDLL(None, use_errno=True)


class Names:
    """Which paths are protected: below the folders that may be written, and not where packages are kept."""

    def __init__(self, given: dict[str, Any]) -> None:
        self._roots: list[str] = sorted(given["roots"], key=len, reverse=True)
        self._free: frozenset[str] = frozenset(given["free"])
        self._protected = frozenset(name.casefold() for name in given["names"])
        self._packages = frozenset(given["packages"])

    def is_protected(self, path: str) -> bool:
        """Whether something at this path would decide what runs later."""
        parts = self._below(path)
        if parts is None or not self._packages.isdisjoint(parts[:-1]):
            return False
        for index, part in enumerate(parts):
            name = part.casefold()
            if name in self._protected:
                return True
            if name == "git" and index and parts[index - 1].casefold() == ".config":
                return True
        return False

    def is_free(self, path: str) -> bool:
        """Whether everything may be made there."""
        parts = self._below(path)
        return parts is None or not self._packages.isdisjoint(parts)

    def _below(self, path: str) -> list[str] | None:
        for root in self._roots:
            if path == root or path.startswith(root.rstrip("/") + "/"):
                return None if root in self._free else path[len(root) :].strip("/").split("/")
        return None  # Nothing can be written there anyway.


class Request:
    """A call that waits for its answer."""

    def __init__(self, listener: int, data: bytearray) -> None:
        self.id, self.task, _, self.number = struct.unpack_from("=QIIi", data)
        self.arguments: tuple[int, ...] = struct.unpack_from("=6Q", data, 32)
        self._listener = listener

    def integer(self, index: int) -> int:
        return ctypes.c_int(self.arguments[index] & 0xFFFFFFFF).value

    def text(self, index: int) -> str:
        """The path that an argument points to."""
        address = self.arguments[index]
        first = _PAGE - address % _PAGE
        buffer = ctypes.create_string_buffer(_LONGEST)
        local = (ctypes.c_uint64 * 2)(ctypes.addressof(buffer), _LONGEST)
        # What lies behind the end of its page may not be there.
        remote = (ctypes.c_uint64 * 4)(address, first, address + first, _LONGEST - first)
        count = 2 if first < _LONGEST else 1
        read = _libc.process_vm_readv(self.task, ctypes.byref(local), 1, ctypes.byref(remote), count, 0)
        if read < 0:
            raise OSError(ctypes.get_errno(), "reading the path")
        whole, end, _ = buffer.raw[:read].partition(b"\0")
        if not end:
            raise OSError(errno.ENAMETOOLONG, "reading the path")
        return os.fsdecode(whole)

    def folder(self, index: int | None) -> int:
        """The directory that a path is relative to."""
        number = _HERE if index is None else self.integer(index)
        name = "cwd" if number == _HERE else f"fd/{number}"
        try:
            return os.open(f"/proc/{self.task}/{name}", os.O_PATH | os.O_CLOEXEC)
        except FileNotFoundError:
            raise OSError(errno.EBADF, "no such descriptor") from None

    def mask(self) -> int:
        with open(f"/proc/{self.task}/status", "rb") as file:
            for line in file:
                if line.startswith(b"Umask:"):
                    return int(line[6:], 8)
        return 0o077

    def is_valid(self) -> bool:
        """Whether the call still waits, so that what was read belongs to it."""
        try:
            fcntl.ioctl(self._listener, _IS_VALID, struct.pack("=Q", self.id))
        except OSError:
            return False
        return True

    def answer(self, error: int = 0) -> None:
        self._send(_SEND, struct.pack("=QqiI", self.id, 0, -error, 0))

    def give(self, descriptor: int, *, closes: bool) -> None:
        """Answer with a descriptor of the command's own."""
        flags = os.O_CLOEXEC if closes else 0
        try:
            fcntl.ioctl(
                self._listener,
                _ADD_DESCRIPTOR,
                bytearray(struct.pack("=QIIII", self.id, _AND_SEND, descriptor, 0, flags)),
            )
        except OSError as error:
            if error.errno != errno.ENOENT:
                self.answer(error.errno or errno.EMFILE)

    def _send(self, kind: int, data: bytes) -> None:
        try:
            fcntl.ioctl(self._listener, kind, bytearray(data))
        except OSError:
            pass  # The command was killed meanwhile.


class Spot:
    """A name in an open directory: what a path leads to, its last link not followed."""

    def __init__(self, folder: int, name: str, where: str) -> None:
        self.folder = folder
        self.name = name
        self.path = f"{where.rstrip('/')}/{name.rstrip('/')}"
        self.descriptors = where.startswith("/proc/")
        if self.descriptors and not _is_descriptor_folder(where):
            os.close(folder)
            raise OSError(errno.EACCES, "writing to /proc")

    def close(self) -> None:
        os.close(self.folder)


class Overseer:
    """Answers requests one after the other, so that no name changes between the look and the deed."""

    def __init__(self, listener: int, calls: dict[int, str], names: Names) -> None:
        self._listener = listener
        known: dict[str, Callable[[Request], bool]] = {
            "open": self._open, "creat": self._creat, "openat": self._openat, "truncate": self._truncate,
            "mkdir": self._mkdir, "mkdirat": self._mkdirat, "mknod": self._mknod, "mknodat": self._mknodat,
            "symlink": self._symlink, "symlinkat": self._symlinkat, "link": self._link,
            "linkat": self._linkat, "rename": self._rename, "renameat": self._renameat,
            "renameat2": self._renameat2,
        }  # fmt: skip
        self._calls = {number: known[name] for number, name in calls.items()}
        self._names = names
        self._late: list[Callable[[], bool]] = []
        """Openings of pipes that nobody reads yet."""

    def attend(self) -> None:
        """Take one request and answer it."""
        data = bytearray(80)
        try:
            fcntl.ioctl(self._listener, _RECEIVE, data)
        except OSError:
            return  # Whoever asked was killed.
        request = Request(self._listener, data)
        try:
            answered = self._calls[request.number](request)
        except OSError as error:
            request.answer(error.errno or errno.EPERM)
        else:
            if not answered:
                request.answer()

    def retry(self) -> int | None:
        """Try the openings again that have to wait; in how many milliseconds the next try is due."""
        self._late = [late for late in self._late if not late()]
        return _RETRY if self._late else None

    def _open(self, request: Request) -> bool:
        return self._opened(request, None, 0, flags=request.integer(1), mode=request.integer(2))

    def _creat(self, request: Request) -> bool:
        flags = os.O_CREAT | os.O_WRONLY | os.O_TRUNC
        return self._opened(request, None, 0, flags=flags, mode=request.integer(1))

    def _openat(self, request: Request) -> bool:
        return self._opened(request, 0, 1, flags=request.integer(2), mode=request.integer(3))

    def _opened(self, request: Request, base: int | None, path: int, *, flags: int, mode: int) -> bool:
        found = self._found(request, base, path, flags=flags, mode=mode)
        if found is None:
            return True
        try:
            request.give(found, closes=bool(flags & os.O_CLOEXEC))
        finally:
            os.close(found)
        return True

    def _found(self, request: Request, base: int | None, path: int, *, flags: int, mode: int) -> int | None:
        """What to give for a path; None when that is answered later."""
        folder, text = _given(request, base, path)
        for _ in range(_MOST_LINKS):
            spot = _spot(request, folder, text)
            try:
                self._refuse_protected(spot.path)
                found = self._at(request, spot, flags, mode)
                if not isinstance(found, str):
                    return found
                folder, text = os.dup(spot.folder), found
            finally:
                spot.close()
        raise OSError(errno.ELOOP, "too many links")

    def _at(self, request: Request, spot: Spot, flags: int, mode: int) -> int | str | None:
        """What to give for a spot, or the path to go on with from there."""
        if spot.descriptors:
            return self._reopened(request, f"/proc/self/fd/{spot.folder}/{spot.name}", flags)
        try:
            seen = os.open(spot.name.rstrip("/"), _LOOK, dir_fd=spot.folder)
        except FileNotFoundError:
            return self._created(request, spot, flags, mode)
        try:
            kind = os.fstat(seen).st_mode & _KIND
            if flags & os.O_CREAT and flags & os.O_EXCL:
                raise OSError(errno.EEXIST, "it exists")
            if kind == _LINK:
                if flags & os.O_NOFOLLOW:
                    raise OSError(errno.ELOOP, "a link")
                return os.readlink("", dir_fd=seen)
            if kind == _FOLDER and flags & os.O_CREAT:
                raise OSError(errno.EISDIR, "a directory")
            if kind != _FOLDER and spot.name.endswith("/"):
                raise OSError(errno.ENOTDIR, "not a directory")
            return self._reopened(request, f"/proc/self/fd/{seen}", flags, mode, kind=kind)
        finally:
            os.close(seen)

    def _created(self, request: Request, spot: Spot, flags: int, mode: int) -> int | str:
        if not flags & os.O_CREAT:
            raise OSError(errno.ENOENT, "it does not exist")
        os.umask(request.mask())
        exactly = flags | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            return os.open(spot.name, exactly, mode & 0o7777, dir_fd=spot.folder)
        except FileExistsError:
            if flags & os.O_EXCL:
                raise
            return spot.name  # Somebody was quicker.

    def _reopened(
        self, request: Request, path: str, flags: int, mode: int = 0, *, kind: int = 0
    ) -> int | None:
        """Open what is there already, without ever waiting for somebody at the other end."""
        # A descriptor that was opened for reading may be of a protected file.
        self._refuse_protected(os.readlink(path))
        flags = flags & ~(os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW) | os.O_CLOEXEC | os.O_NOCTTY
        if kind in (_REGULAR, _FOLDER):
            if flags & os.O_TMPFILE == os.O_TMPFILE:
                os.umask(request.mask())
            return os.open(path, flags, mode)
        if _is_terminal_of_another(path, request.task):
            raise OSError(errno.ENXIO, "no terminal")
        try:
            return _unblocked(os.open(path, flags | os.O_NONBLOCK), flags)
        except OSError as error:
            if error.errno != errno.ENXIO or flags & os.O_NONBLOCK:
                raise
        # A pipe that nobody reads yet: the command waits, and so must nobody else.
        held = os.open(path, os.O_PATH | os.O_CLOEXEC)
        self._late.append(lambda: _open_late(request, held, flags))
        return None

    def _truncate(self, request: Request) -> bool:
        found = self._found(request, None, 0, flags=os.O_WRONLY, mode=0)
        if found is not None:
            try:
                os.ftruncate(found, ctypes.c_int64(request.arguments[1]).value)
            finally:
                os.close(found)
        return False

    def _mkdir(self, request: Request) -> bool:
        return self._made_folder(request, None, 0, request.integer(1))

    def _mkdirat(self, request: Request) -> bool:
        return self._made_folder(request, 0, 1, request.integer(2))

    def _made_folder(self, request: Request, base: int | None, path: int, mode: int) -> bool:
        spot = self._new(request, base, path)
        try:
            os.umask(request.mask())
            os.mkdir(spot.name, mode, dir_fd=spot.folder)
        finally:
            spot.close()
        return False

    def _mknod(self, request: Request) -> bool:
        return self._made_node(request, None, 0, request.integer(1), request.arguments[2])

    def _mknodat(self, request: Request) -> bool:
        return self._made_node(request, 0, 1, request.integer(2), request.arguments[3])

    def _made_node(self, request: Request, base: int | None, path: int, mode: int, device: int) -> bool:
        spot = self._new(request, base, path)
        try:
            os.umask(request.mask())
            os.mknod(spot.name, mode, device & 0xFFFFFFFF, dir_fd=spot.folder)
        finally:
            spot.close()
        return False

    def _symlink(self, request: Request) -> bool:
        return self._made_link(request, None, 1)

    def _symlinkat(self, request: Request) -> bool:
        return self._made_link(request, 1, 2)

    def _made_link(self, request: Request, base: int | None, path: int) -> bool:
        target = request.text(0)
        spot = self._new(request, base, path)
        try:
            self._refuse_configuration(spot)
            os.symlink(target, spot.name, dir_fd=spot.folder)
        finally:
            spot.close()
        return False

    def _link(self, request: Request) -> bool:
        return self._linked(request, (None, 0), (None, 1), flags=0)

    def _linkat(self, request: Request) -> bool:
        return self._linked(request, (0, 1), (2, 3), flags=request.integer(4))

    def _linked(
        self, request: Request, old: tuple[int | None, int], new: tuple[int | None, int], *, flags: int
    ) -> bool:
        target = self._new(request, *new)
        try:
            held, path = _given(request, *old)
            if flags & _EMPTY_PATH and not path:
                try:
                    self._refuse_protected(_where(held))
                    os.link(f"/proc/self/fd/{held}", target.name, dst_dir_fd=target.folder)
                finally:
                    os.close(held)
                return False
            source = _spot(request, held, path)
            try:
                self._refuse_protected(source.path)
                if source.descriptors:
                    self._refuse_protected(os.readlink(source.name, dir_fd=source.folder))
                os.link(
                    source.name, target.name, src_dir_fd=source.folder, dst_dir_fd=target.folder,
                    follow_symlinks=bool(flags & _FOLLOW),
                )  # fmt: skip
            finally:
                source.close()
        finally:
            target.close()
        return False

    def _rename(self, request: Request) -> bool:
        return self._renamed(request, (None, 0), (None, 1), flags=0)

    def _renameat(self, request: Request) -> bool:
        return self._renamed(request, (0, 1), (2, 3), flags=0)

    def _renameat2(self, request: Request) -> bool:
        return self._renamed(request, (0, 1), (2, 3), flags=request.integer(4))

    def _renamed(
        self, request: Request, old: tuple[int | None, int], new: tuple[int | None, int], *, flags: int
    ) -> bool:
        source, target = self._new(request, *old), None
        try:
            target = self._new(request, *new)
            for one, other in ((source, target), (target, source))[: 2 if flags & _EXCHANGE else 1]:
                self._may_move(one, other)
            done = _libc.syscall(
                _RENAMEAT2[os.uname().machine], source.folder, os.fsencode(source.name), target.folder,
                os.fsencode(target.name), flags,
            )  # fmt: skip
            if done < 0:
                raise OSError(ctypes.get_errno(), "renaming")
        finally:
            source.close()
            if target is not None:
                target.close()
        return False

    def _may_move(self, source: Spot, target: Spot) -> None:
        """A folder brings along what is in it, and that was not looked at everywhere."""
        try:
            kind = os.stat(source.name, dir_fd=source.folder, follow_symlinks=False).st_mode & _KIND
        except OSError:
            return  # The renaming will say what is wrong.
        if kind == _FOLDER and self._names.is_free(source.path) and not self._names.is_free(target.path):
            # Programs copy then, and each name is looked at.
            raise OSError(errno.EXDEV, "moving out of a folder of packages")
        if target.name.rstrip("/").casefold() != ".config":
            return
        if kind == _LINK:
            self._refuse_configuration(target)
        elif kind == _FOLDER:
            seen = os.open(source.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=source.folder)
            try:
                if any(name.casefold() == "git" for name in os.listdir(seen)):
                    self._refuse_configuration(target)
            finally:
                os.close(seen)

    def _refuse_protected(self, path: str) -> None:
        if self._names.is_protected(path):
            raise OSError(errno.EROFS, "protected")

    def _refuse_configuration(self, spot: Spot) -> None:
        if self._names.is_protected(f"{spot.path}/git") and not self._names.is_protected(spot.path):
            raise OSError(errno.EROFS, "protected")

    def _new(self, request: Request, base: int | None, path: int) -> Spot:
        """Where a name is to be made or taken away."""
        spot = _spot(request, *_given(request, base, path))
        if spot.descriptors or self._names.is_protected(spot.path):
            spot.close()
            raise OSError(errno.EROFS, "protected")
        return spot


def oversee(
    channel: _socket.socket, command: int, report: Callable[[int], None], spec: dict[str, Any]
) -> None:
    """Answer for a command and all that comes of it until the last of them has ended."""
    _, rights, _, _ = channel.recvmsg(1, 64)
    channel.close()
    listener = int.from_bytes(rights[0][2][:4], "little") if rights else -1
    waking, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.signal(signal.SIGCHLD, _wake)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    overseer = Overseer(listener, spec["calls"], Names(spec))
    ready = select.poll()
    ready.register(waking, select.POLLIN)
    if listener >= 0:
        ready.register(listener, select.POLLIN)
    while not _all_ended(command, report):
        for descriptor, event in ready.poll(overseer.retry()):
            if descriptor == waking:
                os.read(waking, 512)
            elif event & select.POLLIN:
                overseer.attend()
            else:
                ready.unregister(listener)


def _wake(number: int, frame: object) -> None:
    """What matters is the byte that arrives at the pipe."""


def _all_ended(command: int, report: Callable[[int], None]) -> bool:
    while True:
        try:
            ended, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return True
        if not ended:
            return False
        if ended == command:
            report(status)


def _given(request: Request, base: int | None, path: int) -> tuple[int, str]:
    text, folder = request.text(path), request.folder(base)
    _need(request)
    return folder, text


def _need(request: Request) -> None:
    if not request.is_valid():
        raise OSError(errno.EINTR, "whoever asked has gone")


def _spot(request: Request, folder: int, path: str) -> Spot:
    """The directory that a path leads to and the name in it; takes the folder over."""
    if not path:
        os.close(folder)
        raise OSError(errno.ENOENT, "an empty path")
    stem = path.rstrip("/")
    above, slash, name = stem.rpartition("/")
    name = (name or ".") + path[len(stem) :][:1] if stem else "."
    above = above if not slash or above else "/"
    if not stem:
        above = "/"
    try:
        parent = _enter(request, folder, above)
    finally:
        os.close(folder)
    return Spot(parent, name, _where(parent))


def _enter(request: Request, folder: int, path: str) -> int:
    """Open a directory: at once when no link is on the way, else step by step as the command would."""
    if not path:
        return os.dup(folder)
    how = (ctypes.c_uint64 * 3)(os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC, 0, _NO_SYMLINKS)
    found = _libc.syscall(_OPENAT2, folder, os.fsencode(path), ctypes.byref(how), ctypes.sizeof(how))
    if found >= 0:
        return found
    if ctypes.get_errno() != errno.ELOOP:
        raise OSError(ctypes.get_errno(), "opening the directory")
    return _walk(request, folder, path)


def _walk(request: Request, folder: int, path: str) -> int:
    here = os.open("/", _LOOK) if path.startswith("/") else os.dup(folder)
    rest = [part for part in path.split("/") if part not in ("", ".")]
    links = 0
    try:
        while rest:
            part = rest.pop(0)
            if part in ("self", "thread-self") and _where(here) == "/proc":
                # Here it would be this process and not the one that asked.
                part = str(request.task)
            following = os.open(part, _LOOK, dir_fd=here)
            if os.fstat(following).st_mode & _KIND != _LINK:
                os.close(here)
                here = following
                continue
            leads = os.readlink("", dir_fd=following)
            os.close(following)
            links += 1
            if links > _MOST_LINKS:
                raise OSError(errno.ELOOP, "too many links")
            if leads.startswith("/"):
                os.close(here)
                here = os.open("/", _LOOK)
            rest = [part for part in leads.split("/") if part not in ("", ".")] + rest
        if os.fstat(here).st_mode & _KIND != _FOLDER:
            raise OSError(errno.ENOTDIR, "not a directory")
        return os.dup(here)
    finally:
        os.close(here)


def _where(folder: int) -> str:
    return os.readlink(f"/proc/self/fd/{folder}")


def _is_descriptor_folder(where: str) -> bool:
    parts = where.split("/")
    return len(parts) == 4 and parts[2] != str(os.getpid()) and parts[3] == "fd"


def _is_terminal_of_another(path: str, task: int) -> bool:
    """`/dev/tty` is another one in another session."""
    return os.readlink(path) == "/dev/tty" and os.getsid(task) != os.getsid(0)


def _unblocked(descriptor: int, flags: int) -> int:
    os.set_blocking(descriptor, not flags & os.O_NONBLOCK)
    return descriptor


def _open_late(request: Request, held: int, flags: int) -> bool:
    """Whether there is nothing more to wait for."""
    if not request.is_valid():
        os.close(held)
        return True
    try:
        found = _unblocked(os.open(f"/proc/self/fd/{held}", flags | os.O_NONBLOCK), flags)
    except OSError as error:
        if error.errno == errno.ENXIO:
            return False
        os.close(held)
        request.answer(error.errno or errno.EPERM)
        return True
    os.close(held)
    try:
        request.give(found, closes=bool(flags & os.O_CLOEXEC))
    finally:
        os.close(found)
    return True
