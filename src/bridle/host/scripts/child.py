"""The process in which a script runs, as lines that come and go."""

import asyncio
import importlib.util
import os
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from msgspec import Struct

from bridle.host.jsonlines import JsonLines
from bridle.host.process import Process
from bridle.host.reaper import Reaper
from bridle.host.sandbox.syscall_filter import is_known, quiet_filter
from bridle.host.scripts.protocol import LONGEST_LINE

_BOOTSTRAP = (
    "import sys; sys.path[:0] = sys.argv[3:]; from bridle.host.scripts.inside.child import main; main()"
)
_PACKAGES = os.path.abspath(os.path.join(os.path.dirname(__file__), *[os.pardir] * 3))
_KEPT = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
"""Without these some interpreters do not start."""
_MOST_COMPLAINTS = 2_000
_LAST_WORDS = 5.0


class Child(Struct, frozen=True, kw_only=True):
    process: Process
    lines: JsonLines
    complaints: int

    async def write(self, message: object) -> None:
        """Send a message; nothing is sent to a child that is gone."""
        try:
            await self.lines.send(message)
        except ConnectionError:
            pass  # What it said last tells why.

    async def ending(self) -> tuple[int, str]:
        """How the process ended, and what it complained of."""
        if not await self.process.ends_within(_LAST_WORDS):
            await self.process.end(grace=0)
        try:
            complaints = os.read(self.complaints, 64 * 1024)
        except BlockingIOError:
            complaints = b""
        return await self.process.wait(), complaints.decode(errors="replace")[-_MOST_COMPLAINTS:]


@asynccontextmanager
async def running_child(reaper: Reaper | None, *, seconds: float) -> AsyncGenerator[Child]:
    """Start a process that confines itself and then waits for a script; it is gone afterwards.

    Raises:
        OSError: it cannot be started.
    """
    popen = _start(seconds)
    process = Process(popen, None)
    if reaper is not None:
        process.enlist(reaper)
    assert popen.stdin is not None and popen.stdout is not None and popen.stderr is not None
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=LONGEST_LINE)
    # Only for its flow control: nothing is read from there.
    flow = asyncio.StreamReaderProtocol(asyncio.StreamReader())
    try:
        outlet, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), popen.stdout)
        inlet, _ = await loop.connect_write_pipe(lambda: flow, popen.stdin)
        os.set_blocking(popen.stderr.fileno(), False)
        writer = asyncio.StreamWriter(inlet, flow, None, loop)
        try:
            lines = JsonLines(reader, writer)
            yield Child(process=process, lines=lines, complaints=popen.stderr.fileno())
        finally:
            outlet.close()
            if not inlet.is_closing():
                inlet.abort()
    finally:
        for stream in (popen.stdin, popen.stdout, popen.stderr):
            stream.close()
        await process.end(grace=0)


def _start(seconds: float) -> subprocess.Popen[bytes]:
    engine = importlib.util.find_spec("_quickjs")
    if engine is None or engine.origin is None:
        raise FileNotFoundError("the package quickjs-ng is not installed: pip install quickjs-ng")
    place = os.path.dirname(engine.origin)
    machine = os.uname().machine
    calls = quiet_filter(machine) if sys.platform == "linux" and is_known(machine) else b""
    flags = ("-I", "-S", "-B") if sys.dont_write_bytecode else ("-I", "-S")
    return subprocess.Popen(
        [sys.executable, *flags, "-c", _BOOTSTRAP, calls.hex(), str(seconds), _PACKAGES, place],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd="/",
        env={"TZ": "UTC"} | {name: os.environ[name] for name in _KEPT if name in os.environ},
        start_new_session=True,
        bufsize=0,
    )
