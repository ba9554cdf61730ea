"""Processes of bridle that are forked from one that has it imported already.

They have an environment, a folder, streams, signals and an end of their own, as any process. What they do not
have is the start of an interpreter and its imports, which cost more than most tests do.
`tests/cli/test_forked.py` holds both ways against each other for every verb.
"""

import asyncio
import atexit
import marshal
import os
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
from asyncio.streams import FlowControlMixin
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from io import FileIO
from pathlib import Path
from select import select
from signal import SIGKILL, SIGTERM
from threading import Lock
from typing import NamedTuple

_HERE = Path(__file__).parent
INSTALLED = os.path.join(os.path.dirname(sys.executable), "bridle")
"""The command as users have it."""
_READ_AT_START = ("PYTHON", "LC_", "LANG", "LD_", "TZ", "MALLOC", "GLIBC")
"""Variables that an interpreter reads only once: with others than ours a program needs one of its own."""
_LONGEST_LINE = 2**24


class Forked(Process):
    """A run of the program, with what asyncio offers for processes."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.stdin = self.stdout = self.stderr = None
        self._code: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    @property
    def returncode(self) -> int | None:
        return self._code.result() if self._code.done() else None

    async def wait(self) -> int:
        return await asyncio.shield(self._code)

    def send_signal(self, signal: int) -> None:
        if self.returncode is None:
            with suppress(ProcessLookupError):  # It has ended just now.
                os.kill(self.pid, signal)

    def terminate(self) -> None:
        self.send_signal(SIGTERM)

    def kill(self) -> None:
        self.send_signal(SIGKILL)

    async def communicate(self, input: bytes | bytearray | memoryview | None = None) -> tuple[bytes, bytes]:
        written, complained, _ = await asyncio.gather(
            _everything(self.stdout), _everything(self.stderr), self._give(input or b"")
        )
        await self.wait()
        return written, complained

    async def _give(self, data: bytes | bytearray | memoryview) -> None:
        if self.stdin is not None:
            with suppress(BrokenPipeError, ConnectionResetError):
                self.stdin.write(data)
                await self.stdin.drain()
            self.stdin.close()


async def start(
    argv: Sequence[str | bytes],
    *,
    cwd: Path | str | bytes,
    env: Mapping[str, str],
    stdin: int = PIPE,
    stdout: int = PIPE,
    stderr: int = PIPE,
) -> Process:
    """Start `bridle` with these words: forked, or afresh in an environment that needs its own interpreter."""
    way = fork if can_fork(env) else start_afresh
    return await way(argv, cwd=cwd, env=env, stdin=stdin, stdout=stdout, stderr=stderr)


async def start_afresh(
    argv: Sequence[str | bytes],
    *,
    cwd: Path | str | bytes,
    env: Mapping[str, str],
    stdin: int,
    stdout: int,
    stderr: int,
) -> Process:
    """Start `bridle` as users do."""
    line = (sys.executable, "-m", "bridle", *argv)
    return await asyncio.create_subprocess_exec(
        *line, cwd=cwd, env=env, stdin=stdin, stdout=stdout, stderr=stderr, limit=_LONGEST_LINE
    )


async def fork(
    argv: Sequence[str | bytes],
    *,
    cwd: Path | str | bytes,
    env: Mapping[str, str],
    stdin: int,
    stdout: int,
    stderr: int,
) -> Process:
    """Start `bridle` in a fork of a process that has imported it."""
    (reads, gives), (takes, writes), (hears, complains) = _input(stdin), _output(stdout), _output(stderr)
    reports = await _reader(_ask(argv, cwd=cwd, env=env, streams=(reads, writes, complains)))
    process = Forked(_number(await reports.readexactly(4)))
    process.stdin = None if gives is None else await _writer(gives)
    process.stdout = None if takes is None else await _reader(takes)
    process.stderr = None if hears is None else await _reader(hears)
    _following.add(following := asyncio.create_task(_follow(reports, process)))
    following.add_done_callback(_following.discard)
    return process


def fork_in_terminal(
    argv: Sequence[str], *, cwd: Path | str, env: Mapping[str, str], terminal: int
) -> "ForkedInTerminal":
    """Start `bridle` at a terminal: in a session of its own, which the terminal controls."""
    streams = tuple(os.dup(terminal) for _ in range(3))
    return ForkedInTerminal(_ask(argv, cwd=cwd, env=env, streams=streams, terminal=True))


class ForkedInTerminal:
    """A run of the program, with what `subprocess` offers for processes."""

    def __init__(self, report: int) -> None:
        self.returncode: int | None = None
        self._report = report
        self._reading = Lock()
        self.pid = _number(os.read(report, 4))

    def poll(self) -> int | None:
        return self.wait() if select([self._report], [], [], 0)[0] else None

    def wait(self) -> int:
        with self._reading:
            if self.returncode is None:
                self.returncode = _number(os.read(self._report, 4))
                os.close(self._report)
            return self.returncode

    def send_signal(self, number: int) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(SIGKILL)


def _ask(
    argv: Sequence[str | bytes],
    *,
    cwd: Path | str | bytes,
    env: Mapping[str, str],
    streams: Sequence[int],
    terminal: bool = False,
) -> int:
    """Have a run started with these streams, which are closed here; returns the pipe that tells of it."""
    told, tells = os.pipe()
    folder, words = os.fsdecode(cwd), [os.fsdecode(word) for word in argv]
    run = {"argv": words, "cwd": folder, "path": folder, "env": dict(env), "terminal": terminal}
    text = marshal.dumps({**run, "python": False})
    requests = _server().requests
    try:
        socket.send_fds(requests, [struct.pack("i", len(text))], [*streams, tells])
        requests.sendall(text)
    finally:
        for descriptor in (*streams, tells):
            os.close(descriptor)
    return told


_following: set[asyncio.Task[None]] = set()


async def _follow(reports: asyncio.StreamReader, process: Forked) -> None:
    process._code.set_result(_number(await reports.read()))
    if process.stdin is not None:
        process.stdin.close()


def _input(stdin: int) -> tuple[int, int | None]:
    if stdin == PIPE:
        return os.pipe()
    return (os.open(os.devnull, os.O_RDONLY) if stdin == DEVNULL else os.dup(stdin)), None


def _output(wanted: int) -> tuple[int | None, int]:
    if wanted == PIPE:
        return os.pipe()
    return None, (os.open(os.devnull, os.O_WRONLY) if wanted == DEVNULL else os.dup(wanted))


async def _reader(descriptor: int) -> asyncio.StreamReader:
    reader = asyncio.StreamReader(limit=_LONGEST_LINE)
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), FileIO(descriptor, "rb")
    )
    return reader


async def _writer(descriptor: int) -> asyncio.StreamWriter:
    loop = asyncio.get_running_loop()
    transport, protocol = await loop.connect_write_pipe(FlowControlMixin, FileIO(descriptor, "wb"))
    return asyncio.StreamWriter(transport, protocol, None, loop)


async def _everything(reader: asyncio.StreamReader | None) -> bytes:
    return b"" if reader is None else await reader.read()


def _number(data: bytes) -> int:
    assert data, "the server that forks programs has ended"
    return struct.unpack("i", data)[0]


def can_fork(env: Mapping[str, str]) -> bool:
    """Whether a run in this environment may begin with an interpreter that was started in ours."""
    return _read_at_start(env) == _read_at_start(os.environ)


def _read_at_start(env: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in env.items() if name.startswith(_READ_AT_START)}


class _Server(NamedTuple):
    """The ways to a server."""

    requests: socket.socket
    address: str
    """Where other processes ask for runs."""


def command() -> str:
    """The path of an executable that is `bridle` for other programs, forked where it can be."""
    return _executable("bridle", INSTALLED, ())


def python(*modules: str) -> str:
    """The path of a Python that has some modules imported, by default all of bridle: forked where it can be.

    For programs of tests that spend their time importing large packages. Its folder has it as `python`, too.
    """
    path = _executable("python3", sys.executable, modules)
    with suppress(FileExistsError):
        os.symlink(path, os.path.join(os.path.dirname(path), "python"))
    return path


def official_python() -> str:
    """A Python that has the official packages imported, which takes longer than a second."""
    return python("claude_agent_sdk", "mcp.server.mcpserver", "uvicorn")


def _executable(name: str, real: str, modules: tuple[str, ...]) -> str:
    address = _server(modules).address
    path = os.path.join(os.path.dirname(address), name)
    if not os.path.exists(path):
        asked = (address, real, _READ_AT_START, _read_at_start(os.environ))
        text = f"#!{sys.executable} -IS\nimport sys\nsys.path.insert(0, {str(_HERE)!r})\n"
        text += f"from forked_command import main\nmain{asked!r}\n"
        with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o755), "w", encoding="utf-8") as file:
            file.write(text)
    return path


@cache
def _server(modules: tuple[str, ...] = ()) -> _Server:
    """A server of this process, which is started when it is first needed."""
    ours, theirs = socket.socketpair()
    folder = tempfile.mkdtemp(prefix="bridle-fork-")
    address = os.path.join(folder, "requests")
    with theirs, socket.socket(socket.AF_UNIX) as commands:
        commands.bind(address)
        commands.listen(64)
        passed = (theirs.fileno(), commands.fileno())
        line = [sys.executable, str(_HERE / "fork_server.py"), *map(str, passed), *modules]
        process = subprocess.Popen(line, pass_fds=passed, stdin=subprocess.DEVNULL)
    atexit.register(_end, process, ours, folder)
    return _Server(ours, address)


def _end(process: "subprocess.Popen[bytes]", requests: socket.socket, folder: str) -> None:
    requests.close()
    process.wait()
    shutil.rmtree(folder)
