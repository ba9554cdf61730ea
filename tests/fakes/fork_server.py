"""Modules that are imported once and forked for each run; started by `tests.fakes.forked`, see there.

Each message on the socket is one run: its words, folder and environment, and the descriptors of its standard
streams and of a pipe on which its process id and, at its end, its exit code are written. Other processes
connect to a second socket for one run each (`tests.fakes.forked_command`), read the same two numbers from the
connection, and the run is killed when they are.
"""

import atexit
import fcntl
import gc
import importlib
import io
import marshal
import os
import pkgutil
import runpy
import selectors
import signal
import socket
import struct
import sys
import termios
import threading
from collections.abc import Iterator
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any, NoReturn

_LARGEST = 1 << 22


def main() -> None:
    """Serve runs until the other end is closed; in a child, return to be the program."""
    requests, commands = (socket.socket(fileno=int(word)) for word in sys.argv[1:3])
    sys.path.insert(1, str(Path(__file__).parents[2]))
    for module in sys.argv[3:] or _all_of_bridle():
        importlib.import_module(module)
    del sys.path[1]
    gc.collect()
    gc.freeze()
    if (run := _serve(requests, commands)) is not None:
        if run["terminal"]:
            os.setsid()
        _become(run)
        if run["terminal"]:
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        try:
            if run["python"]:
                _be_python(run["argv"])
            else:
                runpy.run_module("bridle", run_name="__main__", alter_sys=True)
        except SystemExit as ending:
            _leave(ending.code)
            raise


def _all_of_bridle() -> Iterator[str]:
    import bridle

    for module in pkgutil.walk_packages(bridle.__path__, "bridle."):
        if not module.name.endswith(".__main__"):
            yield module.name


def _be_python(argv: list[str]) -> NoReturn:
    """Do what `python3` does with these words; `forked_command` passes on only those that are known here."""
    while argv[0] == "-B":
        sys.dont_write_bytecode = True
        del argv[0]
    match argv:
        case ["-m", module, *words]:
            sys.argv = [module, *words]
            runpy.run_module(module, run_name="__main__", alter_sys=True)
        case ["-c", code, *words]:
            sys.argv, sys.path[0] = ["-c", *words], ""
            sys.modules["__main__"] = ModuleType("__main__")
            exec(compile(code, "<string>", "exec"), vars(sys.modules["__main__"]))
        case _:
            script = os.path.abspath(argv[0])
            sys.argv, sys.path[0] = argv, os.path.dirname(script)
            runpy.run_path(script, run_name="__main__")
    sys.exit()


def _leave(code: object) -> None:
    """End as the interpreter does, but for taking apart what this run shares with all others.

    Threads are waited for, functions for the end are called, garbage is collected and streams are flushed.
    Whatever is unusual about an end is left to the interpreter.
    """
    if not isinstance(code, int | None) or sys.stdout.closed or sys.stderr.closed:
        return
    vars(threading)["_shutdown"]()
    atexit._run_exitfuncs()
    gc.collect()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:
        return
    os._exit((code or 0) & 0xFF)


def _serve(requests: socket.socket, commands: socket.socket) -> dict[str, Any] | None:
    woken, wakes = os.pipe()
    os.set_blocking(woken, False)
    os.set_blocking(wakes, False)
    signal.set_wakeup_fd(wakes, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, _wake)
    selector = selectors.DefaultSelector()
    for source in (requests, commands, woken):
        selector.register(source, selectors.EVENT_READ)
    reports: dict[int, int] = {}
    while True:
        for key, _ in selector.select():
            if key.fd == woken:
                os.read(woken, 4096)
                _report_ended(reports)
            elif key.data is not None:
                _kill(key.data, reports)
                selector.unregister(key.fd)
                os.close(key.fd)
            else:
                is_command = key.fileobj is commands
                source = commands.accept()[0] if is_command else requests
                if (request := _receive(source)) is None:
                    if is_command:
                        source.close()
                        continue
                    return None
                run, descriptors = request
                if (pid := os.fork()) == 0:
                    run["descriptors"] = descriptors
                    _forget(selector, requests, commands, source)
                    return run
                reports[pid] = _take_on(pid, descriptors, source.detach() if is_command else None, selector)


def _forget(selector: selectors.BaseSelector, *sockets: socket.socket) -> None:
    """Let nothing of the server close a descriptor later whose number the run has given to something else."""
    selector.close()
    for each in sockets:
        each.detach()


def _take_on(
    pid: int, descriptors: list[int], connection: int | None, selector: selectors.BaseSelector
) -> int:
    """Say which process a run is; returns the descriptor on which its end is told."""
    for descriptor in descriptors[:3]:
        os.close(descriptor)
    report = descriptors[3] if connection is None else os.dup(connection)
    if connection is not None:
        selector.register(connection, selectors.EVENT_READ, pid)
    _tell(report, pid)
    return report


def _kill(pid: int, reports: dict[int, int]) -> None:
    """The command that stood for a run is gone: the run goes with it, unless it has ended before."""
    if pid in reports:
        os.kill(pid, signal.SIGKILL)


def _wake(number: int, frame: FrameType | None) -> None:
    """A child has ended: the loop is woken."""


def _receive(requests: socket.socket) -> tuple[dict[str, Any], list[int]] | None:
    header, descriptors, _, _ = socket.recv_fds(requests, 4, 4)
    if not header:
        return None
    text = bytearray()
    (size,) = struct.unpack("i", header)
    while len(text) < size:
        text += requests.recv(min(_LARGEST, size - len(text)))
    return marshal.loads(text), descriptors


def _report_ended(reports: dict[int, int]) -> None:
    while reports:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == 0:
            return
        report = reports.pop(pid)
        _tell(report, os.waitstatus_to_exitcode(status))
        os.close(report)


def _tell(report: int, number: int) -> None:
    try:
        os.write(report, struct.pack("i", number))
    except (BrokenPipeError, ConnectionResetError):
        pass  # The test has given it up.


def _become(run: dict[str, Any]) -> None:
    """Be as a process is that was just started: its streams, signals, folder, environment and words."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for number, descriptor in enumerate(run["descriptors"][:3]):
        os.dup2(descriptor, number)
    os.closerange(3, 1024)
    os.chdir(run["cwd"])
    os.environ.clear()
    os.environ.update(run["env"])
    sys.argv = ["bridle", *run["argv"]]
    sys.path[0] = run["path"]
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        stream = _stream(number, getattr(sys, name))
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def _stream(number: int, before: io.TextIOWrapper) -> io.TextIOWrapper:
    """A standard stream as the interpreter makes them."""
    return io.TextIOWrapper(
        open(number, "rb" if number == 0 else "wb", closefd=False),
        before.encoding,
        before.errors,
        newline="\n",
        line_buffering=number == 2 or os.isatty(number),
        write_through=before.write_through,
    )


if __name__ == "__main__":
    main()
