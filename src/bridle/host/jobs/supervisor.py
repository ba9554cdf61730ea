"""Watches over all jobs of a user: notices what ends, keeps the roster, and writes the log.

It holds nothing that a job needs. When it is killed, jobs continue, and the next one finds their folders.
"""

import fcntl
import json
import os
import selectors
import signal
import socket
import time
from collections.abc import Sequence

from bridle.host.jobs import protocol, records
from bridle.host.jobs.paths import daemon_dir, lock_file, log_file, private_folder, roster_file, socket_file
from bridle.host.liveness import birth, is_alive

_IDLE_SECONDS = 60.0
_LARGEST_LOG = 1 << 20
_GRACE_SECONDS = 8.0
_LOOK_AGAIN_SECONDS = 1.0
_HANDOVER_SECONDS = 3.0


def main(argv: Sequence[str]) -> int:
    """Become the supervisor unless there is one; returns in the process that was started at once."""
    home = argv[0]
    private_folder(daemon_dir(home))
    if (lock := _become_only_one(home)) is None:
        return 0
    listener = protocol.listen(socket_file(home, "supervisor"), socket.SOCK_DGRAM)
    if os.fork():
        return 0
    os.setsid()
    for number in (signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    os.ftruncate(lock, 0)
    os.pwrite(lock, f"{os.getpid()} {birth(os.getpid())}\n".encode(), 0)
    null = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(null, number)
    idle = float(os.environ.get("BRIDLE_SUPERVISOR_IDLE_MS") or _IDLE_SECONDS * 1000) / 1000
    supervisor = Supervisor(home, listener, idle=idle)
    signal.signal(signal.SIGTERM, supervisor.end)
    supervisor.run()
    return 0


class Supervisor:
    """Has a connection to each holder; a connection that ends is a holder that is gone."""

    def __init__(self, home: str, listener: socket.socket, *, idle: float) -> None:
        self._home = home
        self._listener = listener
        self._idle = idle
        self._selector = selectors.DefaultSelector()
        self._watched: dict[str, socket.socket] = {}
        self._known: dict[str, str] = {}
        """How each job stood when it was last looked at."""
        self._doomed: dict[int, tuple[str, float]] = {}
        """Programs whose holder was killed: when each was born, and when it is ended for good."""
        self._busy_at = time.monotonic()
        self._is_sure = True
        """Whether all that lives is watched; otherwise nothing tells when to look again."""
        self._ends = False
        self._started = records.now_ms()

    def run(self) -> None:
        """Watch until nothing has lived for a while, or it is asked to end."""
        self._selector.register(self._listener, selectors.EVENT_READ, "")
        self._log(f"supervisor {os.getpid()} started")
        self.look()
        while not self._ends:
            for key, _ in self._selector.select(self._patience()):
                self._hear(key.data)
            self._end_doomed()
            self.look()
            if self._is_idle() and not self._has_work_after_all():
                break
        self._ends = True
        try:
            os.unlink(self._listener.getsockname())
        except FileNotFoundError:
            pass  # It was removed before the last look.
        self._log(f"supervisor {os.getpid()} ended")
        self._write_roster([records.read(folder) or {} for folder in records.folders(self._home)])

    def end(self, _number: int, _frame: object) -> None:
        """Stop watching; jobs continue."""
        self._ends = True
        try:
            # A signal alone does not end the wait.
            self._listener.sendto(b".", self._listener.getsockname())
        except OSError:
            pass  # No process can reach us any more: we are about to end anyway.

    def look(self) -> None:
        """See how all jobs stand, adopt those that are new, and write down what has changed."""
        found: list[records.Facts] = []
        for folder in records.folders(self._home):
            facts = records.settle(folder)
            if facts is None:
                continue
            found.append(facts)
            if not records.is_ended(facts) and folder not in self._watched:
                self._adopt(folder, facts)
            if records.is_ended(facts) and facts.get("why"):
                self._doom(facts)
        live = [facts for facts in found if not records.is_ended(facts)]
        self._is_sure = len(live) == len(self._watched) and not self._doomed
        if live or self._doomed:
            self._busy_at = time.monotonic()
        self._note_changes(found)

    def _adopt(self, folder: str, facts: records.Facts) -> None:
        try:
            connection = protocol.connect(facts["socket"], seconds=1.0)
            connection.sendall(protocol.frame(protocol.WATCH))
        except OSError:
            return  # It is about to start or to end: the next look tells.
        connection.setblocking(False)
        self._watched[folder] = connection
        self._selector.register(connection, selectors.EVENT_READ, folder)

    def _hear(self, folder: str) -> None:
        if not folder:
            self._drain(self._listener)
        elif not self._drain(self._watched[folder]):
            connection = self._watched.pop(folder)
            self._selector.unregister(connection)
            connection.close()

    def _drain(self, connection: socket.socket) -> bool:
        """Whether the other end is still there."""
        try:
            return bool(connection.recv(64 * 1024))
        except BlockingIOError:
            return True
        except OSError:
            return False

    def _doom(self, facts: records.Facts) -> None:
        """A program lost its terminal: it received SIGHUP, and has a while to end."""
        pid, born = int(facts.get("pid") or 0), str(facts.get("birth") or "")
        if born and pid not in self._doomed and is_alive(pid, born):
            grace = float(os.environ.get("BRIDLE_SUPERVISOR_GRACE_MS") or _GRACE_SECONDS * 1000) / 1000
            self._doomed[pid] = (born, time.monotonic() + grace)

    def _end_doomed(self) -> None:
        for pid, (born, at) in list(self._doomed.items()):
            if is_alive(pid, born) and time.monotonic() >= at:
                os.killpg(os.getpgid(pid), signal.SIGKILL)
            if not is_alive(pid, born) or time.monotonic() >= at:
                del self._doomed[pid]

    def _note_changes(self, found: list[records.Facts]) -> None:
        now = {facts["id"]: _standing(facts) for facts in found}
        if now == self._known:
            return
        for job in sorted({*now, *self._known}):
            before, after = self._known.get(job), now.get(job)
            if before != after:
                self._log(f"job {job}: {'forgotten' if after is None else after}")
        self._known = now
        self._write_roster(found)

    def _write_roster(self, found: list[records.Facts]) -> None:
        path = roster_file(self._home)
        live = {
            facts["id"]: {
                key: facts[key]
                for key in ("pid", "holder", "state", "sessionId", "name", "cwd", "startedAt", "socket")
                if key in facts
            }
            for facts in found
            if facts and not records.is_ended(facts)
        }
        supervisor = None if self._ends else {"pid": os.getpid(), "startedAt": self._started}
        try:
            # The file may hold what another program keeps there.
            whole = {**_read_object(path), "bridle": {"supervisor": supervisor, "jobs": live}}
            records.replace_file(path, json.dumps(whole).encode())
        except OSError as error:
            self._log(f"{path} cannot be written: {error.strerror}")

    def _patience(self) -> float:
        if not self._is_sure:
            return _LOOK_AGAIN_SECONDS
        return self._idle if self._watched else max(self._busy_at + self._idle - time.monotonic(), 0.01)

    def _is_idle(self) -> bool:
        return self._is_sure and not self._watched and time.monotonic() >= self._busy_at + self._idle

    def _has_work_after_all(self) -> bool:
        """No process can reach us from here on; one that tried just before must still be answered."""
        path = self._listener.getsockname()
        os.unlink(path)
        self.look()
        if self._is_sure and not self._watched:
            return False
        self._selector.unregister(self._listener)
        self._listener.close()
        self._listener = protocol.listen(path, socket.SOCK_DGRAM)
        self._selector.register(self._listener, selectors.EVENT_READ, "")
        return True

    def _log(self, text: str) -> None:
        path = log_file(self._home)
        try:
            if os.path.exists(path) and os.stat(path).st_size > _LARGEST_LOG:
                os.replace(path, f"{path}.old")
            with open(path, "a", encoding="utf-8", opener=_private) as file:
                file.write(f"{time.strftime('%Y-%m-%dT%H:%M:%S%z')} {text}\n")
        except OSError:
            pass  # There is nowhere else to say it.


def _standing(facts: records.Facts) -> str:
    why = f" ({facts['why']})" if facts.get("why") else ""
    return f"{facts.get('state')}{', ended' if records.is_ended(facts) else ''}{why}"


def running(home: str) -> tuple[int, str] | None:
    """The process of the supervisor and when it began; None when there is none."""
    try:
        with open(lock_file(home), encoding="ascii", errors="replace") as file:
            pid, born = file.read(100).split()
    except (OSError, ValueError):
        return None
    return (int(pid), born) if pid.isdigit() and is_alive(int(pid), born) else None


def _become_only_one(home: str) -> int | None:
    """The lock of the supervisor; None when there is one that can be reached.

    One that is about to end has the lock and cannot be reached any more: its place is free in a moment.
    """
    deadline = time.monotonic() + _HANDOVER_SECONDS
    while (lock := _claim(home)) is None and time.monotonic() < deadline:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as caller:
            try:
                caller.connect(socket_file(home, "supervisor"))
            except OSError:
                time.sleep(0.02)
            else:
                return None
    return lock


def _claim(home: str) -> int | None:
    """The lock of the supervisor, kept until this process and its child end.

    None when another process has it.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    lock = os.open(lock_file(home), flags, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        return None
    return lock


def _read_object(path: str) -> dict[str, object]:
    try:
        with open(path, "rb") as file:
            found = json.loads(file.read(1 << 20))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _private(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_CLOEXEC, 0o600)
