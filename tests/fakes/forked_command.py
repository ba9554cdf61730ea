"""Stands for `bridle` or `python3` where another program starts them; see `tests.fakes.forked`.

Started by an executable that `forked` writes, with as little of Python as can be. It hands its streams to the
server, which forks the run, passes signals on to that run, and ends as it does. What needs an interpreter of
its own, for its environment or its options, gets the real command.
"""

import _socket  # What `socket` adds to it takes longer to import than all the rest.
import marshal
import os
import signal
import sys
from _struct import pack, unpack
from types import FrameType

_PASSED_ON = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGWINCH)


def main(address: str, real: str, needed: tuple[str, ...], ours: dict[str, str]) -> None:
    """Be the command; `ours` are the variables of the server whose names begin with `needed`."""
    env, argv, is_python = dict(os.environ), sys.argv[1:], os.path.basename(real) != "bridle"
    differs = {name: value for name, value in env.items() if name.startswith(needed)} != ours
    if differs or (is_python and not _is_plain(argv)):
        os.execv(real, [real, *argv])
    signal.pthread_sigmask(signal.SIG_BLOCK, _PASSED_ON)
    server = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    server.connect(address)
    cwd = os.getcwd()
    path = cwd if is_python else os.path.dirname(real)
    run = {"argv": argv, "cwd": cwd, "path": path, "env": env, "terminal": False, "python": is_python}
    text = marshal.dumps(run)
    streams = [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, pack("3i", 0, 1, 2))]
    server.sendmsg([pack("i", len(text))], streams)
    server.sendall(text)
    (pid,) = unpack("i", server.recv(4))
    _let_go_of_streams()

    def pass_on(number: int, frame: FrameType | None) -> None:
        os.kill(pid, number)

    for number in _PASSED_ON:
        signal.signal(number, pass_on)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _PASSED_ON)
    (code,) = unpack("i", server.recv(4))
    if code < 0:
        if -code != signal.SIGKILL:
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)


def _is_plain(argv: list[str]) -> bool:
    """Whether `python3` is to run a script, a module or a text with no options that a start is needed for."""
    first = next((word for word in argv if word != "-B"), "-")
    return first in ("-m", "-c") or not first.startswith("-")


def _let_go_of_streams() -> None:
    """Have none of them open: their other ends see the end of the run when it ends."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in range(3):
        os.dup2(nothing, number)
