"""Starts programs in process groups of their own, and ends them with everything they started."""

import asyncio
import os
import signal
import subprocess
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import Protocol

from msgspec import Struct

from bridle.host.liveness import is_alive
from bridle.host.reaper import Reaper

_CORPSES_AFTER = 0.02
"""Seconds after which a group that is still there may be one of zombies that no process collects."""
_LOOK_AGAIN = 0.005
_AFTER_KILL = 1.0
_LAST_WORDS = 0.5
_STRANGER_PAUSE = 0.2
_MOST_COMPLAINTS = 64 * 1024
_INHERITING = Lock()


UNKNOWN_END = 256
"""The code of a program that another process has started: only that it ended can be seen."""


Spawn = Callable[[Callable[[], "subprocess.Popen[bytes]"]], "subprocess.Popen[bytes]"]
"""Calls what starts a program, from a place of its own."""


class Child(Protocol):
    """A program whose end can be waited for."""

    @property
    def pid(self) -> int: ...
    def wait(self) -> int: ...


class Process:
    """A program and its descendants in one process group."""

    def __init__(self, child: Child, reaper: Reaper | None) -> None:
        self.pid = child.pid
        """Also the id of the group."""
        self._reaper = reaper
        self._gone = False
        self.exited: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._thread = _watch_exit(child, self.exited)

    @property
    def code(self) -> int | None:
        """How the program ended, a signal as a negative number; None while it runs."""
        return self.exited.result() if self.exited.done() else None

    async def wait(self) -> int:
        """Wait for the program itself; descendants may still run."""
        return await asyncio.shield(self.exited)

    async def ends_within(self, seconds: float | None) -> bool:
        """Wait for the program, at most so long."""
        await asyncio.wait([self.exited], timeout=seconds)
        return self.exited.done()

    def has_members(self) -> bool:
        """Whether anything of the group is left."""
        if self._gone:
            return False
        try:
            os.killpg(self.pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            return True
        return True

    def enlist(self, reaper: Reaper) -> None:
        """From now on see to it that the group does not outlive us."""
        if self._reaper is None and not self._gone:
            self._reaper = reaper
            reaper.enlist(self.pid)

    async def end(self, *, grace: float) -> None:
        """End the whole group: politely, then after `grace` seconds for certain.

        Cancelling cuts the grace short. What has left the group on purpose, such as a daemon, is not reached.
        """
        try:
            self._signal(signal.SIGTERM)
            if not (gone := await self._is_gone_within(grace)):
                self._signal(signal.SIGKILL)
                gone = await self._is_gone_within(_AFTER_KILL)
        except asyncio.CancelledError:
            self._signal(signal.SIGKILL)
            raise
        if gone:
            self.forget()

    def forget(self) -> None:
        """Note that the group is gone: from now on its id may belong to another process."""
        self._gone = True
        if self._reaper is not None:
            self._reaper.forget(self.pid)

    def _signal(self, number: signal.Signals) -> None:
        if self._gone:
            return
        try:
            os.killpg(self.pid, number)
        except (ProcessLookupError, PermissionError):
            pass  # Gone already, or another user's through setuid.

    async def _is_gone_within(self, seconds: float) -> bool:
        began = time.monotonic()
        pause = _LOOK_AGAIN
        # The end of a group is not an event that can be waited for, only that of our own child.
        while not self.exited.done() or self.has_members():
            waited = time.monotonic() - began
            # Corpses are mostly collected at once, and looking at every process of a machine is dear.
            if self.exited.done() and waited >= _CORPSES_AFTER and not _has_living(self.pid):
                return True
            if waited >= seconds:
                return False
            await asyncio.sleep(min(seconds - waited, pause))
            pause *= 1.5
        return True


class Captured(Struct, frozen=True, kw_only=True):
    """What a program said and how it ended."""

    code: int
    stdout: bytes
    stderr: bytes
    cut: bool
    """There was more output than was allowed, so the program was stopped."""
    timed_out: bool


def start(
    argv: Sequence[str],
    *,
    cwd: str,
    env: Mapping[str, str],
    stdout: int,
    stderr: int | None = None,
    pass_fds: tuple[int, ...] = (),
    reaper: Reaper | None = None,
    spawn: Spawn | None = None,
) -> Process:
    """Start a program with no input in a session of its own; stderr goes where stdout goes unless given.

    With a reaper, a program that cannot be used ends with 126 or 127, as in a shell. With `spawn`, it is
    started from where that calls what it is given; nothing may be opened on the way, so that needs a reaper.

    Raises:
        OSError: the program or the directory cannot be used.
    """
    stdin = subprocess.DEVNULL if reaper is None else reaper.pipe()

    def make() -> subprocess.Popen[bytes]:
        held = spawn is not None
        return subprocess.Popen(
            argv if reaper is None else reaper.enlisting(list(argv)),
            stdin=stdin,
            stdout=stdout,
            stderr=stdout if stderr is None else stderr,
            cwd=cwd,
            env=dict(env),
            pass_fds=() if held else pass_fds,
            close_fds=not held,
            start_new_session=True,
        )

    def make_with_descriptors() -> subprocess.Popen[bytes]:
        with _only_inherited(pass_fds):
            return make()

    return Process(make() if spawn is None else spawn(make_with_descriptors), reaper)


@contextmanager
def _only_inherited(descriptors: tuple[int, ...]) -> Generator[None]:
    """Children get these descriptors and no others, without a look at which are open on their way.

    Some builds of Python would list them between `vfork` and `exec`, where nothing may be opened.
    """
    with _INHERITING:
        for name in os.listdir("/proc/self/fd"):
            if int(name) > 2:
                _inherit(int(name), int(name) in descriptors)
        try:
            yield
        finally:
            for descriptor in descriptors:
                _inherit(descriptor, False)


def _inherit(descriptor: int, inherited: bool) -> None:
    try:
        if os.get_inheritable(descriptor) != inherited:
            os.set_inheritable(descriptor, inherited)
    except OSError:
        pass  # It was closed meanwhile.


def take_over(pid: int, born: str, reaper: Reaper) -> Process | None:
    """A program in a session of its own that another process has started; None when it has ended."""
    if not born or not is_alive(pid, born):
        return None
    process = Process(_Stranger(pid, born), None)
    process.enlist(reaper)
    return process


async def run(
    argv: Sequence[str],
    *,
    cwd: str,
    env: Mapping[str, str],
    timeout: float,
    limit: int,
    reaper: Reaper | None = None,
) -> Captured:
    """Run a program to its end, or until `timeout` seconds or `limit` bytes of output are over.

    Nothing of its group is left afterwards, also when the waiting is cancelled.

    Raises:
        OSError: the program or the directory cannot be used.
    """
    output, complaints = _Intake(limit), _Intake(_MOST_COMPLAINTS)
    try:
        process = start(argv, cwd=cwd, env=env, stdout=output.inlet, stderr=complaints.inlet, reaper=reaper)
        output.close_inlet()
        complaints.close_inlet()
        try:
            ended, _ = await asyncio.wait(
                (process.exited, output.full), timeout=timeout, return_when=asyncio.FIRST_COMPLETED
            )
            if process.exited in ended:
                # A descendant may hold the pipe open for ever.
                await asyncio.wait([output.closed, complaints.closed], timeout=_LAST_WORDS)
        finally:
            if process.has_members() or process.code is None:
                await process.end(grace=0.1)
            process.forget()
        return Captured(
            code=process.code if process.code is not None else -signal.SIGKILL,
            stdout=bytes(output.data),
            stderr=bytes(complaints.data),
            cut=output.full.done(),
            timed_out=not ended,
        )
    finally:
        output.close()
        complaints.close()


class _Intake:
    """The reading end of a pipe that keeps at most `limit` bytes and lets the rest go."""

    def __init__(self, limit: int) -> None:
        self.data = bytearray()
        self._limit = limit
        self._loop = asyncio.get_running_loop()
        self.full: asyncio.Future[None] = self._loop.create_future()
        self.closed: asyncio.Future[None] = self._loop.create_future()
        self._outlet, self.inlet = os.pipe()
        os.set_blocking(self._outlet, False)
        self._loop.add_reader(self._outlet, self._read)

    def close_inlet(self) -> None:
        os.close(self.inlet)
        self.inlet = -1

    def close(self) -> None:
        if not self.closed.done():
            self._finish()
        if self.inlet >= 0:
            self.close_inlet()
        os.close(self._outlet)

    def _read(self) -> None:
        try:
            chunk = os.read(self._outlet, 256 * 1024)
        except BlockingIOError:
            return
        if not chunk:
            self._finish()
            return
        room = self._limit - len(self.data)
        self.data += chunk[:room]
        if len(chunk) > room and not self.full.done():
            self.full.set_result(None)

    def _finish(self) -> None:
        self._loop.remove_reader(self._outlet)
        self.closed.set_result(None)


class _Stranger:
    """A program that is not our child."""

    def __init__(self, pid: int, born: str) -> None:
        self.pid = pid
        self._born = born

    def wait(self) -> int:
        while is_alive(self.pid, self._born):
            time.sleep(_STRANGER_PAUSE)
        return UNKNOWN_END


def _watch_exit(child: Child, exit: asyncio.Future[int]) -> asyncio.Task[None] | None:
    """Settle `exit` when the child ends, with a thread only where the system has nothing better."""
    loop = asyncio.get_running_loop()
    try:
        handle = os.pidfd_open(child.pid)
    except (AttributeError, OSError):
        return loop.create_task(_wait_in_thread(child, exit))

    def settle() -> None:
        loop.remove_reader(handle)
        os.close(handle)
        exit.set_result(child.wait())

    loop.add_reader(handle, settle)
    return None


async def _wait_in_thread(child: Child, exit: asyncio.Future[int]) -> None:
    exit.set_result(await asyncio.to_thread(child.wait))


def _has_living(group: int) -> bool:
    """Whether a group has more than zombies, which may never be collected; True where it is unknown."""
    try:
        entries = os.listdir("/proc")
    except OSError:
        return True
    numbers = [entry for entry in entries if entry.isdecimal()]
    return not numbers or any(_lives_in(group, number) for number in numbers)


def _lives_in(group: int, pid: str) -> bool:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            state, _, its_group = file.read(4096).rpartition(b")")[2].split()[:3]
    except (OSError, ValueError):
        return False
    return int(its_group) == group and state not in (b"Z", b"X")
