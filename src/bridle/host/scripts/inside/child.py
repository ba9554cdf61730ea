"""The child of a script: takes its hands off the machine, then runs what it is given.

Its arguments are a program for the kernel's filter of system calls, as hexadecimal digits or empty, and the
seconds for which a script may compute until it waits for something.
Lines of JSON go both ways over the standard streams; `prelude.js` reads and writes them.
"""

from __future__ import annotations

import os
import resource
import sys
import time

import _quickjs

from bridle.host.sandbox.inside.rights import drop_privileges, enter_landlock, filter_calls
from bridle.host.scripts.inside.limits import MEMORY, OUT_OF_MEMORY, OWN_LINES

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from collections.abc import Callable, Iterator
    from typing import Any
else:
    # The same without its enumerations, which take longer to import than everything else here.
    import _signal as signal

_STACK = 1024 * 1024
_MORE_TO_SAY_SO = 16 * 1024 * 1024
_BESIDES = 192 * 1024 * 1024
"""Address space for the interpreter and for copies of what is sent."""
_GRACE = 2
"""Seconds until the kernel ends what does not even listen to the engine."""
_CHUNK = 256 * 1024


def main() -> None:
    """Be confined, then run the script that comes over standard input to its end."""
    with open(os.path.join(os.path.dirname(__file__), "prelude.js"), encoding="utf-8") as file:
        prelude = file.read()
    confine(bytes.fromhex(sys.argv[1]))
    try:
        _run(prelude, _lines(), seconds=float(sys.argv[2]))
    except BrokenPipeError:
        pass  # The parent is gone.
    except MemoryError:
        os._exit(OUT_OF_MEMORY)
    # Taking a large heap apart in good order has no benefit.
    os._exit(0)


def confine(call_filter: bytes) -> None:
    """Give up files, sockets, processes and most memory; if one way is lacking, the others remain."""
    closed = {"least": 0, "readable": (), "writable": (), "no_tcp": True, "scoped": True}
    if sys.platform == "linux":
        _try(drop_privileges)
        _try(enter_landlock, closed)
    _try(resource.setrlimit, resource.RLIMIT_AS, (MEMORY + _BESIDES,) * 2)
    for what in (resource.RLIMIT_CORE, resource.RLIMIT_FSIZE, resource.RLIMIT_NOFILE, resource.RLIMIT_NPROC):
        _try(resource.setrlimit, what, (0, 0))
    if call_filter:
        _try(filter_calls, call_filter)


def _try(step: Callable[..., object], *given: object) -> None:
    try:
        step(*given)
    except (OSError, ValueError):
        pass  # Not on this system, or refused by the environment.


def _run(prelude: str, lines: Iterator[str], *, seconds: float) -> None:
    context = _quickjs.Context()
    context.set_memory_limit(MEMORY)
    context.set_max_stack_size(_STACK)
    port: Callable[..., Any] = context.eval(prelude)
    context.set_time_limit(seconds)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds + _GRACE)
    if (first := next(lines, None)) is None:
        return
    kind = "syntax"
    try:
        body = context.eval("\n" * OWN_LINES + f"(async () => {{{port('begin', first)}\n}})")
        kind = "thrown"
        port("run", body)
        _converse(context, port, lines, seconds)
    except _quickjs.JSException as error:
        context.set_memory_limit(MEMORY + _MORE_TO_SAY_SO)
        _tell_fault(port, kind, str(error), seconds)


def _converse(context: Any, port: Callable[..., Any], lines: Iterator[str], seconds: float) -> None:
    while True:
        began = time.process_time()
        while context.execute_pending_job():
            if time.process_time() - began > seconds:
                return _tell_fault(port, "time", "interrupted", seconds)
        _send(port("drain"))
        if port("isOver") or (line := next(lines, None)) is None:
            return None
        signal.setitimer(signal.ITIMER_VIRTUAL, seconds + _GRACE)
        port("settle", line)


def _tell_fault(port: Callable[..., Any], kind: str, error: str, seconds: float) -> None:
    message, _, stack = error.partition("\n")
    if "interrupted" in message:
        kind, message = "time", f"it runs for more than {seconds:g} s without waiting for an agent"
    try:
        port("fail", kind, message, stack)
        _send(port("drain"))
    except _quickjs.JSException as again:
        raise MemoryError from again


def _lines() -> Iterator[str]:
    held = b""
    while chunk := os.read(0, _CHUNK):
        *whole, held = (held + chunk).split(b"\n")
        for line in whole:
            yield line.decode()


def _send(text: str) -> None:
    data = memoryview(text.encode())
    while data:
        data = data[os.write(1, data) :]
