"""Keeps one program on a pseudo terminal and shows it to clients that attach, until the program ends.

A program of its own that imports little: a session costs what it costs, what holds it should cost nothing.
"""

import os
import selectors
import signal
import socket
import sys
import time
from collections.abc import Sequence

from bridle.host.jobs import protocol, records
from bridle.host.jobs.output_log import OutputLog, last_shown
from bridle.host.jobs.program import Program
from bridle.host.liveness import birth

_GRACE_SECONDS = 8.0
_MOST_BEHIND = 4 << 20
_REPORTED = ("shells", "state", "waitingFor", "sessionId", "name", "pid", "cwd", "status")
_STATES = ("working", "blocked", "done", "failed")


def main(argv: Sequence[str]) -> int:
    """Hold the job of this folder; returns in the process that was started once the program runs."""
    folder = argv[0]
    lock = records.hold(folder)
    facts = records.read(folder)
    if lock is None or facts is None:
        os.write(2, b"the job is held already, or is gone\n")
        return 1
    listener = protocol.listen(facts["socket"], socket.SOCK_STREAM)
    ready, said = os.pipe()
    if os.fork():
        os.close(said)
        # Closed without a word, the program could not be started.
        return 0 if os.read(ready, 1) else 1
    os.setsid()
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN)
    holder = Holder(folder, facts, listener)
    _let_go_of_streams()
    os.write(said, b"+")
    os.close(said)
    os.close(ready)
    holder.run()
    return 0


class Holder:
    """One program, those who look at it, and its record on disk."""

    def __init__(self, folder: str, facts: records.Facts, listener: socket.socket) -> None:
        self._folder = folder
        self._listener = listener
        self._selector = selectors.DefaultSelector()
        self._callers: dict[int, Caller] = {}
        self._stop_at: float | None = None
        self._stopped = False
        self._shown = OutputLog(folder)
        self._address = b""
        self._wake, wakes = socket.socketpair()
        for end in (self._wake, wakes):
            end.setblocking(False)
        self._wakes = wakes
        signal.set_wakeup_fd(wakes.fileno(), warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, _note)
        signal.signal(signal.SIGTERM, _note)
        rows, columns = _size_in(facts)
        env = _environment(facts, folder)
        self._program = Program(facts["argv"], cwd=facts["cwd"], env=env, rows=rows, columns=columns)
        pid = self._program.pid
        self._facts = {key: value for key, value in facts.items() if key != "starting"}
        self._tell(
            {"pid": pid, "birth": birth(pid), "holder": os.getpid(), "holderBirth": birth(os.getpid())}
        )

    def run(self) -> None:
        """Relay until the program has ended and every client knows."""
        watched = selectors.EVENT_READ
        self._selector.register(self._listener, watched, self._accept)
        self._selector.register(self._wake, watched, self._drain_signals)
        self._selector.register(self._program.terminal, watched, self._relay)
        while (code := self._program.ended()) is None:
            self._turn()
        while data := self._program.read():
            self._show(data)
        self._finish(code)

    def _turn(self) -> None:
        left = None if self._stop_at is None else max(self._stop_at - time.monotonic(), 0.0)
        for key, events in self._selector.select(left):
            key.data(events)
        if self._stop_at is not None and time.monotonic() >= self._stop_at:
            self._stop_at = None
            self._program.send_signal(signal.SIGKILL)

    def _finish(self, code: int) -> None:
        state = "stopped" if self._stopped else "done" if code == 0 else "failed"
        self._facts = records.ended(self._facts, state=state, code=code)
        self._write()
        for caller in list(self._callers.values()):
            caller.send(protocol.message(protocol.OVER, state=state, exitCode=code))
            caller.flush_for(1.0)
            caller.connection.close()
        try:
            os.unlink(self._facts["socket"])
        except OSError:
            pass  # Another process tidied up.

    def stop(self) -> None:
        """Ask the program to end, and end it when it does not."""
        self._stopped = True
        if self._stop_at is None:
            self._stop_at = time.monotonic() + float(self._facts.get("grace", _GRACE_SECONDS))
            is_shell = self._facts.get("kind") == "shell"
            self._program.send_signal(signal.SIGHUP if is_shell else signal.SIGTERM)

    def take(self, caller: "Caller", kind: bytes, payload: bytes) -> None:
        """Do what a client asks for."""
        if kind == protocol.ATTACH:
            self._attach(caller, payload)
        elif kind == protocol.INPUT and caller.is_attached:
            self._program.type(payload)
            self._watch_terminal()
        elif kind == protocol.SIZE and caller.is_attached:
            self._resize(payload)
        elif kind == protocol.FOLLOW:
            caller.is_following = True
        elif kind == protocol.INSIDE:
            caller.is_inside = True
            if any(each.is_attached for each in self._callers.values()):
                caller.send(protocol.frame(protocol.PAINT))
        elif kind == protocol.WATCH:
            caller.is_watching = True
        elif kind == protocol.STATE and caller.is_inside:
            self._report(protocol.read_message(payload))
        elif kind == protocol.ADDRESS and caller.is_inside:
            self._address = payload
        elif kind == protocol.ADDRESS:
            caller.send(protocol.frame(protocol.ADDRESS, self._address))
        elif kind == protocol.LEAVE and caller.is_inside:
            for each in list(self._callers.values()):
                if each.is_attached:
                    each.send(protocol.frame(protocol.LEAVE))
        elif kind == protocol.STOP:
            self.stop()

    def _attach(self, caller: "Caller", payload: bytes) -> None:
        inside = [each for each in self._callers.values() if each.is_inside]
        caller.is_attached = True
        if not inside:
            caller.send(protocol.frame(protocol.OUTPUT, last_shown(self._folder)))
        self._resize(payload)
        for each in inside:
            each.send(protocol.frame(protocol.PAINT))

    def _resize(self, payload: bytes) -> None:
        rows, columns = _size_in(protocol.read_message(payload))
        self._program.resize(rows, columns)
        if (rows, columns) != _size_in(self._facts):
            self._tell({"rows": rows, "columns": columns})

    def _report(self, values: records.Facts) -> None:
        known = {key: values[key] for key in _REPORTED if key in values}
        if known.get("state", "working") not in _STATES:
            return
        if "pid" in known:
            known["birth"] = birth(known["pid"])
        self._tell(known)

    def _tell(self, values: records.Facts) -> None:
        merged = {**self._facts, **values}
        self._facts = {key: value for key, value in merged.items() if value is not None}
        self._write()
        for caller in list(self._callers.values()):
            if caller.is_watching:
                caller.send(protocol.frame(protocol.STATE))

    def _write(self) -> None:
        try:
            records.write(self._folder, self._facts)
        except OSError:
            pass  # The folder was removed or the disk is full; the program can continue without.

    def _accept(self, _events: int) -> None:
        try:
            connection, _ = self._listener.accept()
        except OSError:
            return  # They are gone already.
        if not protocol.is_own(connection):
            connection.close()
            return
        caller = Caller(connection, self)
        self._callers[connection.fileno()] = caller
        self._selector.register(connection, selectors.EVENT_READ, caller.serve)

    def drop(self, caller: "Caller") -> None:
        """Forget a client that is gone."""
        if self._callers.pop(caller.connection.fileno(), None) is not None:
            self._selector.unregister(caller.connection)
            caller.connection.close()

    def watch(self, caller: "Caller") -> None:
        """Watch a client for input, and for room to write if output waits for it."""
        waits = selectors.EVENT_WRITE if caller.waiting else 0
        if caller.connection.fileno() in self._callers:
            self._selector.modify(caller.connection, selectors.EVENT_READ | waits, caller.serve)

    def _relay(self, events: int) -> None:
        if events & selectors.EVENT_WRITE:
            self._program.flush()
            self._watch_terminal()
        if events & selectors.EVENT_READ:
            if (data := self._program.read()) is None:
                self._selector.unregister(self._program.terminal)
            elif data:
                self._show(data)

    def _watch_terminal(self) -> None:
        waits = selectors.EVENT_WRITE if self._program.wants_to_write else 0
        if self._program.terminal in self._selector.get_map():
            self._selector.modify(self._program.terminal, selectors.EVENT_READ | waits, self._relay)

    def _show(self, data: bytes) -> None:
        self._shown.add(data)
        for caller in list(self._callers.values()):
            if caller.is_attached or caller.is_following:
                caller.send(protocol.frame(protocol.OUTPUT, data))

    def _drain_signals(self, _events: int) -> None:
        if signal.SIGTERM in self._wake.recv(1024):
            self.stop()


class Caller:
    """A client of the holder."""

    def __init__(self, connection: socket.socket, holder: Holder) -> None:
        connection.setblocking(False)
        self.connection = connection
        self.waiting = bytearray()
        self.is_attached = False
        self.is_inside = False
        self.is_watching = False
        self.is_following = False
        self._holder = holder
        self._frames = protocol.Frames()

    def send(self, data: bytes) -> None:
        """Send soon; a client that falls too far behind is disconnected, so that no other is held up."""
        self.waiting += data
        if len(self.waiting) > _MOST_BEHIND:
            self._holder.drop(self)
            return
        self._flush()

    def serve(self, events: int) -> None:
        """Send what waits and take what has come."""
        if events & selectors.EVENT_WRITE:
            self._flush()
        if not events & selectors.EVENT_READ:
            return
        try:
            data = self.connection.recv(64 * 1024)
            frames = self._frames.feed(data)
        except BlockingIOError:
            return
        except (OSError, protocol.Broken):
            data, frames = b"", []
        for kind, payload in frames:
            self._holder.take(self, kind, payload)
        if not data:
            self._holder.drop(self)

    def flush_for(self, seconds: float) -> None:
        """Send the rest, waiting for a while."""
        try:
            self.connection.settimeout(seconds)
            self.connection.sendall(self.waiting)
        except OSError:
            pass  # They are gone; there is nothing more to say.

    def _flush(self) -> None:
        try:
            while self.waiting:
                del self.waiting[: self.connection.send(self.waiting)]
        except BlockingIOError:
            pass  # The rest when they have taken this.
        except OSError:
            self.waiting.clear()
        self._holder.watch(self)


def _environment(facts: records.Facts, folder: str) -> dict[str, str]:
    """What the program is started with: a session learns its job, and that it is on a terminal of its own."""
    env = dict(os.environ)
    if facts.get("kind") == "session":
        env[records.JOB] = folder
        for name in ("TMUX", "TMUX_PANE", "STY"):
            env.pop(name, None)
    if env.get("TERM", "dumb") in ("", "dumb"):
        env["TERM"] = "xterm-256color"
    return env


def _size_in(values: records.Facts) -> tuple[int, int]:
    rows, columns = values.get("rows"), values.get("columns")
    if isinstance(rows, int) and isinstance(columns, int) and 0 < rows < 10_000 and 0 < columns < 10_000:
        return rows, columns
    return 24, 80


def _let_go_of_streams() -> None:
    null = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(null, number)
    os.close(null)


def _note(_number: int, _frame: object) -> None:
    """A handler wakes the loop; what to do is seen there."""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
