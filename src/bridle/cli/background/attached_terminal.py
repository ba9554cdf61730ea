"""`bridle attach`: lends the terminal to a program that runs in the background."""

import os
import select
import signal
import socket
import sys
import termios
from collections.abc import Mapping

from bridle.cli.background.job_lookup import find_job, is_live
from bridle.cli.background.launch_settings import launch_settings
from bridle.cli.say import tell
from bridle.cli.subcommands.parser import ParsedArguments
from bridle.frontends.tui.raw_mode import enter_raw, leave_raw
from bridle.host.jobs import protocol, records
from bridle.host.jobs.launcher import JobError
from bridle.types.errors import UsageError

_DETACH = (b"\x1d", b"\x1b[93;5u", b"\x1b[27;5;93~")
"""Ctrl+] as terminals send it."""
_PASTE_BEGINS, _PASTE_ENDS = b"\x1b[200~", b"\x1b[201~"
_OFF = (
    "\x1b[?2004l\x1b[?1004l\x1b[<u\x1b[>4m\x1b[?2027l\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l"
    "\x1b[?7h\x1b[?25h\x1b[0m"
)
"""Turns off what a program may have turned on."""
_COVER, _UNCOVER = b"\x1b[?1049h", b"\x1b[?1049l"
_READ = 64 * 1024


def run_attach(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """Show a job in this terminal until it ends or is left.

    Raises:
        UsageError: this is no terminal, or background sessions are turned off.
        JobError: it cannot be attached to.
    """
    launch_settings(env)
    if not (os.isatty(0) and os.isatty(1)):
        raise UsageError("bridle attach needs a terminal; use bridle logs instead")
    _, facts = find_job(given.one("id"), env)
    return attach(facts)


def attach(facts: records.Facts) -> int:
    """Show a job in this terminal; returns the exit code.

    Raises:
        JobError: it has ended or cannot be reached.
    """
    job = facts["id"]
    if not is_live(facts):
        raise JobError(f"{job} has ended ({facts['state']}). Restart it with: bridle respawn {job}")
    try:
        connection = protocol.connect(facts["socket"])
    except OSError as error:
        raise JobError(f"can't reach {job} ({error.strerror}). List sessions with: bridle agents") from error
    with connection:
        ending = _Attached(connection, is_shell=facts.get("kind") == "shell").run()
    if ending is None:
        return tell(f"{job} is still running. Return to it with: bridle attach {job}")
    return tell(f"{job} has ended: {ending}.")


class _Attached:
    """The user's terminal while it shows a job."""

    def __init__(self, connection: socket.socket, *, is_shell: bool) -> None:
        self._connection = connection
        self._is_shell = is_shell
        self._frames = protocol.Frames()
        self._is_covered = False
        self._ending: str | None = None
        self._is_over = False
        self._is_pasting = False

    def run(self) -> str | None:
        """How the job ended, None when it was left."""
        before = enter_raw(0)
        after = termios.tcgetattr(0)
        # What a program shows is meant for a terminal as it is, line ends included.
        after[1] &= ~termios.OPOST
        termios.tcsetattr(0, termios.TCSANOW, after)
        wake, wakes = socket.socketpair()
        wakes.setblocking(False)
        held = {number: signal.signal(number, _note) for number in (signal.SIGWINCH, *_ENDING)}
        signal.set_wakeup_fd(wakes.fileno(), warn_on_full_buffer=False)
        try:
            if self._is_shell:
                _show(b"[ctrl+] leaves this running]\r\n")
            self._send(protocol.message(protocol.ATTACH, **_size()))
            while not self._is_over:
                self._turn(wake)
        finally:
            signal.set_wakeup_fd(-1)
            for number, handler in held.items():
                signal.signal(number, handler)
            self._restore()
            leave_raw(0, before)
            wake.close()
            wakes.close()
        return self._ending

    def _turn(self, wake: socket.socket) -> None:
        ready, _, _ = select.select([0, self._connection, wake], [], [])
        if wake in ready:
            numbers = wake.recv(1024)
            self._is_over = any(number in numbers for number in _ENDING)
            self._send(protocol.message(protocol.SIZE, **_size()))
        if self._connection in ready:
            self._take()
        if 0 in ready and not self._is_over:
            data = os.read(0, _READ)
            if not data or self._asks_to_leave(data):
                self._is_over = True
            else:
                self._send(protocol.frame(protocol.INPUT, data))

    def _asks_to_leave(self, data: bytes) -> bool:
        """Whether the key that detaches was typed; what is pasted may hold anything."""
        typed = b""
        while data:
            if self._is_pasting:
                _, mark, data = data.partition(_PASTE_ENDS)
                self._is_pasting = not mark
            else:
                before, mark, data = data.partition(_PASTE_BEGINS)
                typed += before
                self._is_pasting = bool(mark)
        return any(key in typed for key in _DETACH)

    def _take(self) -> None:
        try:
            data = self._connection.recv(_READ)
            frames = self._frames.feed(data)
        except (OSError, protocol.Broken):
            data, frames = b"", []
        for kind, payload in frames:
            if kind == protocol.OUTPUT:
                self._note_cover(payload)
                _show(payload)
            elif kind == protocol.LEAVE:
                self._is_over = True
            elif kind == protocol.OVER:
                self._ending = str(protocol.read_message(payload).get("state", "done"))
                self._is_over = True
        if not data and not self._is_over:
            self._ending, self._is_over = "its process ended", True

    def _send(self, data: bytes) -> None:
        try:
            self._connection.sendall(data)
        except OSError:
            self._ending, self._is_over = "connection lost", True

    def _note_cover(self, data: bytes) -> None:
        on, off = data.rfind(_COVER), data.rfind(_UNCOVER)
        if on != off:
            self._is_covered = on > off

    def _restore(self) -> None:
        """Leave below everything that was shown."""
        uncover = _UNCOVER.decode() if self._is_covered else ""
        # The beginning of the last row.
        _show(f"{_OFF}{uncover}\x1b[{_size()['rows']};1H\r\n".encode())


_ENDING = (signal.SIGTERM, signal.SIGHUP)


def _size() -> dict[str, int]:
    try:
        size = os.get_terminal_size(1)
    except OSError:
        return {"rows": 24, "columns": 80}
    return {"rows": size.lines or 24, "columns": size.columns or 80}


def _show(data: bytes) -> None:
    try:
        sys.stdout.flush()
        while data:
            data = data[os.write(1, data) :]
    except OSError:
        pass  # The terminal is gone; reading from it says so.


def _note(_number: int, _frame: object) -> None:
    """A handler wakes the loop; what to do is seen there."""
