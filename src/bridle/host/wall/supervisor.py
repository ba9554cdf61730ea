"""Starts a judged command behind the wall, and does for it what it may do.

Landlock and filters of system calls belong to threads: a thread of ours restricts itself and starts the
command, another one answers for it with the same rights. The rest of the program remains free.
"""

import ctypes
import errno
import os
import select
import signal
import stat
import subprocess
from _thread import start_new_thread
from collections.abc import Callable
from queue import SimpleQueue
from threading import get_native_id

from bridle.host.sandbox.inside.creations import Creations
from bridle.host.sandbox.inside.kernel import check
from bridle.host.sandbox.inside.openings import Openings
from bridle.host.sandbox.inside.requests import Request
from bridle.host.wall.bounds import Bounds, OutOfBounds
from bridle.host.wall.call_receiver import CallReceiver
from bridle.host.wall.changes import Changes
from bridle.host.wall.closed_files import ClosedFile
from bridle.host.wall.filters import OPENING, TO_WRITE, judged_filter, supervised_calls
from bridle.host.wall.landlock import quick, restrict
from bridle.host.wall.read_openings import ReadOpenings
from bridle.types.sandbox import Refusal

_OWN_FOLDER_AND_MASK = 0x200
_PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS = 24, 38
_KEPT_CAPABILITIES = frozenset((0, 1, 2, 3, 4, 6, 7))
"""What decides about files and users; with the others a superuser could change the machine."""
_LAST_CAPABILITY = 40
_SECCOMP = {"x86_64": 317, "aarch64": 277, "arm64": 277}
_NEW_LISTENER, _KEEP_SPECULATION, _WAIT_UNTIL_KILLED = 1 << 3, 1 << 2, 1 << 5
_DEEDS = {
    "open": "write", "openat": "write", "creat": "write", "truncate": "write", "mkdir": "make",
    "mkdirat": "make", "mknod": "make", "mknodat": "make", "symlink": "make", "symlinkat": "make",
    "link": "make", "linkat": "make", "rename": "move", "renameat": "move", "renameat2": "move",
    "unlink": "remove", "unlinkat": "remove", "rmdir": "remove",
}  # fmt: skip

Child = subprocess.Popen[bytes]


class Supervisor:
    """One command behind the wall."""

    def __init__(
        self,
        rules: int | None,
        bounds: Bounds,
        *,
        outputs: tuple[int, ...],
        readings: ReadOpenings | None = None,
        read_rules: int | None = None,
    ) -> None:
        self._rules = rules
        self._readings = readings
        """Where rules close files in the working folders: what the command reads there is opened for it."""
        self._read_rules = read_rules
        self._bounds = bounds
        self._outputs = tuple(os.dup(output) for output in outputs)
        """What the command prints to, for when it opens that by its name."""
        self._started: SimpleQueue[Child | OSError] = SimpleQueue()
        self._listening: SimpleQueue[int | None] = SimpleQueue()
        self._pid = self._launcher = 0
        openings, makings, changes = Openings(bounds), Creations(bounds), Changes(bounds)
        self._retry = openings.retry
        known: dict[str, Callable[[Request], bool]] = {
            "open": openings.open, "creat": openings.creat, "openat": openings.openat,
            "truncate": openings.truncate, "mkdir": makings.mkdir, "mkdirat": makings.mkdirat,
            "mknod": _without_devices(makings.mknod, 1), "mknodat": _without_devices(makings.mknodat, 2),
            "symlink": makings.symlink, "symlinkat": makings.symlinkat, "link": makings.link,
            "linkat": makings.linkat,
            "rename": makings.rename, "renameat": makings.renameat, "renameat2": makings.renameat2,
            "unlink": changes.unlink, "unlinkat": changes.unlinkat, "rmdir": changes.rmdir,
            "chmod": changes.chmod, "fchmod": changes.fchmod, "fchmodat": changes.fchmodat,
            "fchmodat2": changes.fchmodat2, "chown": changes.chown, "fchown": changes.fchown,
            "lchown": changes.lchown, "fchownat": changes.fchownat, "utimensat": changes.utimensat,
            "kill": self._signalled, "tkill": self._signalled, "tgkill": self._signalled,
            "rt_sigqueueinfo": self._signalled, "rt_tgsigqueueinfo": self._signalled,
            "pidfd_send_signal": self._signalled_by_handle, "socket": self._connected,
        }  # fmt: skip
        machine = os.uname().machine
        self._calls = {number: (name, known[name]) for number, name in supervised_calls(machine).items()}
        self.refusal: Refusal | None = None
        """The first thing that the command was kept from; it was ended then."""
        self.doubt: Refusal | None = None
        """Something that it was kept from and may do without: it counts when the command fails."""

    def spawn(self, make: Callable[[], Child]) -> Child:
        """What `make` starts, behind the wall.

        Raises:
            OSError: it cannot be started, or the kernel does not build the wall.
        """
        start_new_thread(self._launch, (make,))
        outcome = self._started.get()
        if isinstance(outcome, OSError):
            raise outcome
        return outcome

    def _launch(self, make: Callable[[], Child]) -> None:
        """Restrict this thread and start the command from it, with another one beside to answer for it."""
        listener: int | None = None
        outcome: Child | OSError = OSError(errno.EINVAL, "the command could not be started")
        try:
            self._launcher = get_native_id()
            check(quick.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "giving up new privileges")
            if self._rules is not None:
                restrict(self._rules)
            start_new_thread(self._supervise, ())
            try:
                _drop_capabilities()
                if self._read_rules is not None:
                    restrict(self._read_rules)
                listener = _filter_calls(reads=self._readings is not None)
            finally:
                self._listening.put(listener)
            outcome = make()
            self._pid = outcome.pid
        except OSError as error:
            outcome = error
        finally:
            self._started.put(outcome)

    def _supervise(self) -> None:
        """Answer for the command, in its own Landlock but not under its filter."""
        listener = self._listening.get()
        try:
            # The folder and mask of the process stay as they are when this thread changes its own.
            if listener is not None and quick.unshare(_OWN_FOLDER_AND_MASK) == 0:
                self._serve(listener)
        finally:
            # Without anyone to answer, the calls of the command fail instead of waiting.
            if listener is not None:
                os.close(listener)
            for output in self._outputs:
                os.close(output)

    def _serve(self, listener: int) -> None:
        """Answer for the command and all that comes of it until the last of them has ended."""
        ready = select.poll()
        ready.register(listener, select.POLLIN)
        free = None if self._readings is None else self._readings.free
        receiver = CallReceiver(listener, free, self._launcher)
        try:
            while True:
                for _, event in ready.poll(self._pause()):
                    if not event & select.POLLIN:
                        return
                    while (data := receiver.receive()) is not None:
                        self._attend(Request(listener, data))
                        if not receiver.waits or self._pause() is not None:
                            break
        finally:
            receiver.close()

    def _pause(self) -> int | None:
        """How long to wait for the next call: pipes that have no other end yet are tried again."""
        pauses = [self._retry(), None if self._readings is None else self._readings.retry()]
        return min((pause for pause in pauses if pause is not None), default=None)

    def _attend(self, request: Request) -> None:
        if request.task == self._launcher:
            request.proceed()  # Python may tidy up in any thread.
            return
        name, handle = self._calls[request.number]
        self._bounds.begin(request.task)
        try:
            if name in OPENING and self._opened(request, name):
                return
            if not handle(request):
                request.answer()
        except ClosedFile as error:
            self._refuse(request, name, error.path, f"read {error.path}")
        except OutOfBounds as error:
            if (usual := _would_have_failed(name, error.target)) is None:
                self._refuse(request, name, error.target)
            else:
                request.answer(usual)
        except OSError as error:
            if self._bounds.beyond is not None and error.errno == errno.EROFS:
                try:
                    self._bounds.refuse(self._bounds.beyond)
                except OutOfBounds as found:
                    if (usual := _would_have_failed(name, found.target)) is None:
                        self._refuse(request, name, found.target)
                    else:
                        request.answer(usual)
                    return
                except OSError:
                    pass  # The command would have failed anyway.
            request.answer(error.errno or errno.EPERM)

    def _opened(self, request: Request, name: str) -> bool:
        """Whether a call that opens was answered in a way of its own."""
        if self._is_own_output(request, name):
            return True
        reads = not request.integer(1 if name == "open" else 2) & TO_WRITE
        return reads and self._readings is not None and self._readings.open(request, name)

    def _refuse(self, request: Request, name: str, target: str, deed: str = "") -> None:
        if self.refusal is None:
            path = target if target.startswith("/") else None
            deed = deed or (target if path is None else f"{_DEEDS.get(name, 'change')} {target}")
            self.refusal = Refusal(deed=deed, call=name, path=path)
        try:
            # Its first calls may come before the starting thread knows its number.
            group = self._pid or os.getpgid(request.task)
            if group != os.getpgrp():
                os.killpg(group, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            pass  # It has ended; what it left behind is not part of it.
        request.answer(errno.EACCES)

    def _is_own_output(self, request: Request, name: str) -> bool:
        """Give a command that opens `/dev/stderr` what it prints to: the file itself is out of its reach."""
        path = request.text(0 if name == "open" else 1)
        if not path.startswith(("/dev/", "/proc/")):
            return False
        flags = request.integer(1 if name == "open" else 2)
        number = {"/dev/stdout": "1", "/dev/stderr": "2"}.get(path) or path.rpartition("/fd/")[2]
        if not number.isdecimal():
            return False
        try:
            facts = os.stat(f"/proc/{request.task}/fd/{number}")
        except OSError:
            return False
        for output in self._outputs:
            if os.path.samestat(facts, os.fstat(output)):
                request.give(output, closes=bool(flags & os.O_CLOEXEC))
                return True
        return False

    def _signalled(self, request: Request) -> bool:
        """Signals go to processes of the command alone; the numbers cannot change behind our back."""
        target = request.integer(0)
        own = target == 0 or self._is_own(abs(target), request.task, group=target < 0)
        if target == -1 or not own:
            raise OutOfBounds(f"send a signal to process {target}")
        request.proceed()
        return True

    def _is_own(self, pid: int, task: int, *, group: bool) -> bool:
        try:
            return os.getsid(pid) in (self._pid, os.getsid(task)) and pid != os.getpid()
        except OSError:
            # It is gone, and the kernel will say so; a group may have lost its first process only.
            return not group or pid in (self._pid, os.getpgid(task))

    def _signalled_by_handle(self, request: Request) -> bool:
        raise OutOfBounds("send a signal to another process")

    def _connected(self, request: Request) -> bool:
        """No socket is made; libraries try what the machine has without wanting to talk to anyone."""
        self.doubt = self.doubt or Refusal(deed="use the network", call="socket")
        raise PermissionError(errno.EACCES, "no network")


def _without_devices(make: Callable[[Request], bool], mode: int) -> Callable[[Request], bool]:
    """Pipes may be made; a device would lead past everything."""

    def made(request: Request) -> bool:
        if stat.S_IFMT(request.integer(mode)) in (stat.S_IFCHR, stat.S_IFBLK, stat.S_IFSOCK):
            raise PermissionError(errno.EPERM, "no devices")
        return make(request)

    return made


def _would_have_failed(name: str, path: str) -> int | None:
    """The error that a call would have met anyway: nothing is made or removed twice."""
    if name in ("mkdir", "mkdirat"):
        return errno.EEXIST if os.path.lexists(path) else None
    return errno.ENOENT if _DEEDS.get(name) == "remove" and not os.path.lexists(path) else None


def _drop_capabilities() -> None:
    """Programs that a superuser starts have no more than is left here; others have none anyway."""
    if os.geteuid() != 0:
        return
    for capability in range(_LAST_CAPABILITY + 1):
        if capability not in _KEPT_CAPABILITIES:
            quick.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)


def _filter_calls(*, reads: bool) -> int:
    """Filter the calls of this thread; the descriptor at which those to look at arrive."""
    machine = os.uname().machine
    program = judged_filter(machine, reads=reads)
    code = ctypes.create_string_buffer(program, len(program))
    head = (ctypes.c_uint64 * 2)(len(program) // 8, ctypes.addressof(code))
    usual = _NEW_LISTENER | _KEEP_SPECULATION
    for flags in (usual | _WAIT_UNTIL_KILLED, usual):
        listener = quick.syscall(_SECCOMP[machine], 1, flags, ctypes.byref(head))
        if listener >= 0:
            return listener
    return check(listener, "filtering system calls")
