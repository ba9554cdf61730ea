"""A program on a pseudo terminal, as its holder sees it."""

import errno
import fcntl
import os
import signal
import struct
import sys
import termios
from collections.abc import Mapping, Sequence

from bridle.host.stdio import for_terminal

_READ = 64 * 1024
_MOST_WAITING = 1 << 20
_INHERITED = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGPIPE, signal.SIGCHLD)


class Program:
    """Started at once; `ended` collects it."""

    def __init__(
        self, argv: Sequence[str], *, cwd: str, env: Mapping[str, str], rows: int, columns: int
    ) -> None:
        self._size = (rows, columns)
        self._waiting = bytearray()
        """What was typed and has not been read."""
        self.pid, self.terminal = os.forkpty()
        if self.pid == 0:
            _become(argv, cwd, env, rows, columns)
        os.set_blocking(self.terminal, False)
        os.set_inheritable(self.terminal, False)

    @property
    def wants_to_write(self) -> bool:
        return bool(self._waiting)

    def read(self) -> bytes | None:
        """What it has shown; empty when there is nothing now, None when its terminal is closed."""
        try:
            return os.read(self.terminal, _READ) or None
        except BlockingIOError:
            return b""
        except OSError as error:
            if error.errno == errno.EIO:
                return None
            raise

    def type(self, data: bytes) -> None:
        """Send what a user typed; a program that reads nothing loses what is too much."""
        if len(self._waiting) + len(data) <= _MOST_WAITING:
            self._waiting += data
        self.flush()

    def flush(self) -> None:
        try:
            while self._waiting:
                del self._waiting[: os.write(self.terminal, self._waiting)]
        except BlockingIOError:
            pass  # The rest when it reads again.
        except OSError:
            self._waiting.clear()

    def resize(self, rows: int, columns: int) -> None:
        """Give the terminal another size; the program is notified even when that is the one it had."""
        if (rows, columns) != self._size:
            self._size = (rows, columns)
            _set_size(self.terminal, rows, columns)
        else:
            self._signal_front(signal.SIGWINCH)

    def send_signal(self, number: signal.Signals) -> None:
        """Tell the program and whatever it runs in front."""
        self._signal_front(number)
        if self._front() != self.pid:
            _signal_group(self.pid, number)
        # What was stopped cannot end.
        _signal_group(self.pid, signal.SIGCONT)

    def ended(self) -> int | None:
        """Its exit code, negative for a signal, once it has ended; None as long as it runs."""
        found = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if found is None:
            return None
        # As long as it is not collected, no other process can have the number of its group.
        _signal_group(self.pid, signal.SIGKILL)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def _front(self) -> int:
        """The group that has the terminal, 0 when none has."""
        try:
            return os.tcgetpgrp(self.terminal)
        except OSError:
            return 0

    def _signal_front(self, number: signal.Signals) -> None:
        front = self._front()
        if front > 1:
            _signal_group(front, number)


def _signal_group(group: int, number: signal.Signals) -> None:
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        pass  # It has ended, or it is another user's program now.


def _become(argv: Sequence[str], cwd: str, env: Mapping[str, str], rows: int, columns: int) -> None:
    """Turn a fresh child into the program; never returns."""
    try:
        _set_size(0, rows, columns)
        for number in _INHERITED:
            signal.signal(number, signal.SIG_DFL)
        os.chdir(cwd)
        os.closerange(3, 256)
        os.execve(argv[0], list(argv), dict(env))
    except OSError as error:
        os.write(2, for_terminal(os.fsencode(f"{argv[0]} cannot be started in {cwd}: {error.strerror}\n")))
    finally:
        sys.stdout = sys.stderr = None
        os._exit(127)


def _set_size(terminal: int, rows: int, columns: int) -> None:
    try:
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("4H", rows, columns, 0, 0))
    except OSError:
        pass  # The terminal is closed: the program is about to end.
