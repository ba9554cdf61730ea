"""A bridle that is imported once and forked for each run; started by `tests.fakes.forked`, see there.

Each message on the socket is one run: its words, folder and environment, and the descriptors of its standard
streams and of a pipe on which its process id and, at its end, its exit code are written.
"""

import atexit
import fcntl
import gc
import importlib
import io
import json
import os
import runpy
import selectors
import signal
import socket
import struct
import sys
import termios
from types import FrameType, ModuleType
from typing import Any

_FOR_TURNS = (
    "bridle.cli.main", "bridle.session.parts.permissions", "bridle.commands.catalog",
    "bridle.engine.command_claims",
    "bridle.engine.dispatch", "bridle.engine.gate", "bridle.permissions.policy", "bridle.permissions.prepare",
    "bridle.providers.anthropic", "bridle.tools.bash", "concurrent.futures.thread", "h11", "shutil",
    "tempfile", "tree_sitter", "tree_sitter_bash",
)  # fmt: skip
_IMPORTED = {
    "print": (
        "bridle.cli.headless.print_mode", "bridle.frontends.frame_facts", "bridle.commands.registry",
        "bridle.config.trust", "bridle.engine.staleness", "bridle.frontends.frame_printing",
        "bridle.hooks.table", *_FOR_TURNS,
    ),
    "terminal": (
        "bridle.cli.background.moving", "bridle.session.parts.editors", "bridle.cli.terminal.interactive",
        "bridle.cli.terminal.session", "bridle.commands.conversations", "bridle.engine.errands",
        "bridle.frontends.tui.chat", "bridle.frontends.tui.showing", "bridle.host.wall.wall", "markdown_it",
        *_FOR_TURNS,
    ),
}  # fmt: skip
"""What nearly every run needs; the rest is imported by the run that needs it, as always."""
_LARGEST = 1 << 22


def main() -> None:
    """Serve runs until the other end is closed; in a child, return to be the program."""
    kind, descriptor = sys.argv[1:]
    imported: list[str] = []
    atexit.register(_leave_alone, imported)
    for module in _IMPORTED[kind]:
        importlib.import_module(module)
    imported += sys.modules.keys() - {"__main__", "builtins", "sys"}
    _keep_for_good(dict(sys.modules))
    run = _serve(socket.socket(fileno=int(descriptor)))
    if run is not None:
        if kind == "terminal":
            os.setsid()
        _become(run)
        if kind == "terminal":
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        runpy.run_module("bridle", run_name="__main__", alter_sys=True)


def _keep_for_good(modules: dict[str, ModuleType]) -> None:
    """Hold modules from a circle that nobody looks at again."""
    circle: list[Any] = [modules]
    circle.append(circle)
    gc.collect()
    gc.freeze()


def _leave_alone(imported: list[str]) -> None:
    """Spare a run, as the last thing before its end, to take apart what it shares with all others."""
    for name in imported:
        sys.modules.pop(name, None)


def _serve(requests: socket.socket) -> dict[str, Any] | None:
    woken, wakes = os.pipe()
    os.set_blocking(woken, False)
    os.set_blocking(wakes, False)
    signal.set_wakeup_fd(wakes, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, _wake)
    selector = selectors.DefaultSelector()
    selector.register(requests, selectors.EVENT_READ)
    selector.register(woken, selectors.EVENT_READ)
    reports: dict[int, int] = {}
    while True:
        for key, _ in selector.select():
            if key.fd == woken:
                os.read(woken, 4096)
                _report_ended(reports)
                continue
            if (request := _receive(requests)) is None:
                return None
            run, descriptors = request
            if (pid := os.fork()) == 0:
                run["descriptors"] = descriptors
                return run
            *streams, report = descriptors
            for descriptor in streams:
                os.close(descriptor)
            reports[pid] = report
            os.write(report, struct.pack("i", pid))


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
    return json.loads(text), descriptors


def _report_ended(reports: dict[int, int]) -> None:
    while reports:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == 0:
            return
        report = reports.pop(pid)
        try:
            os.write(report, struct.pack("i", os.waitstatus_to_exitcode(status)))
        except BrokenPipeError:
            pass  # The test has given it up.
        os.close(report)


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
    sys.path[0] = os.getcwd()
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
