"""Servers that are programs: one JSON message a line over their standard streams."""

import asyncio
import os
import os.path
import subprocess
from collections.abc import Mapping, Sequence

from msgspec import Struct

from bridle.config.variables import may_hold_credential
from bridle.host.jsonlines import LineBuffer, to_line
from bridle.host.jsonrpc import NO_HEADERS, Message
from bridle.host.process import Process
from bridle.host.reaper import Reaper
from bridle.host.secrets import is_secret_name
from bridle.host.shell import child_markers, quote
from bridle.mcp.errors import ConnectionLost
from bridle.mcp.transports.base import LONGEST_MESSAGE, Receiver, decode
from bridle.types.errors import McpError, ToolError
from bridle.types.sandbox import Sandbox
from bridle.types.services.mcp import StdioServer
from bridle.types.variables import ENTRYPOINT, is_on

_SHELL = "/bin/sh"
_AFTER_CLOSE = 1.0
"""Seconds that a server has to exit once its input is closed."""
_AFTER_TERM = 1.0
_CHUNK = 256 * 1024
_FLOOD = 4 * 1024 * 1024
_FLOOD_PAUSE = 0.2
"""A server that sends so much in a row unasked is listened to less."""
_LONGEST_NOTE = 2_000
_BASELINE = frozenset(
    ("HOME", "LANG", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER", "XDG_RUNTIME_DIR")
)


class LaunchContext(Struct, frozen=True, kw_only=True):
    """What a program is started in."""

    cwd: str
    env: Mapping[str, str]
    reaper: Reaper
    sandbox: Sandbox | None = None


class StdioTransport:
    """Starts the server in a process group of its own and ends it with everything that it started."""

    streams = False

    def __init__(self, name: str, server: StdioServer, context: LaunchContext) -> None:
        self._name = name
        self._server = server
        self._context = context
        self._process: Process | None = None
        self._input: _Inlet | None = None
        self._output: _Outlet | None = None
        self._complaints: _Outlet | None = None
        self._watching: asyncio.Task[None] | None = None

    async def open(self, receiver: Receiver) -> None:
        if self._process is not None:
            raise McpError(f"{self._name} is already running.")
        argv, env = self._command()
        stdin, stdout, stderr = os.pipe(), os.pipe(), os.pipe()
        try:
            self._process = self._start(argv, env, stdin[0], stdout[1], stderr[1])
        except (OSError, ValueError, ToolError) as error:
            for descriptor in (stdin[1], stdout[0], stderr[0]):
                os.close(descriptor)
            raise ConnectionLost(f"Could not start {self._name}: {error}.") from error
        finally:
            for descriptor in (stdin[0], stdout[1], stderr[1]):
                os.close(descriptor)
        self._input = _Inlet(stdin[1])
        self._output = _Outlet(stdout[0], _Lines(receiver), flood=_FLOOD)
        self._complaints = _Outlet(stderr[0], _Complaints(receiver), flood=_FLOOD)
        self._watching = asyncio.create_task(self._watch(self._process, receiver))

    async def send(self, message: Message, headers: Mapping[str, str] = NO_HEADERS) -> None:
        del headers
        if self._input is None or self._input.closed:
            raise ConnectionLost(f"{self._name} is not running.")
        if self._output is not None:
            self._output.expect()
        await self._input.write(to_line(message))

    async def close(self) -> None:
        """End the server: its input is closed, then it is asked to end, then it is killed."""
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.gather(self._watching, return_exceptions=True)
        if self._input is not None:
            self._input.close()
        try:
            if self._process is not None:
                await self._process.ends_within(_AFTER_CLOSE)
                await self._process.end(grace=_AFTER_TERM)
        finally:
            for outlet in (self._output, self._complaints):
                if outlet is not None:
                    outlet.close()

    def agree(self, revision: str) -> None:
        """The wire is the same for every revision."""

    def begin(self) -> None:
        """Listening has begun with the program."""

    def _command(self) -> tuple[list[str], dict[str, str]]:
        """The command line and its environment.

        Raises:
            ConnectionLost: there is no such program.
        """
        server, context = self._server, self._context
        markers = {**child_markers("harness"), "CLAUDE_PROJECT_DIR": context.cwd}
        env = {**_inherited(context.env), **markers, **server.env}
        argv = [server.command, *server.args]
        if prefix := context.env.get("CLAUDE_CODE_SHELL_PREFIX"):
            argv = [_SHELL, "-c", f"{prefix} {quote(' '.join(map(quote, argv)))}"]
        elif (program := _find(server.command, cwd=context.cwd, env=env)) is None:
            raise ConnectionLost(f"Could not start {self._name}: {server.command!r} is not on the PATH.")
        else:
            argv[0] = program
        return argv, env

    def _start(
        self, argv: Sequence[str], env: Mapping[str, str], stdin: int, stdout: int, stderr: int
    ) -> Process:
        context = self._context
        pass_fds: tuple[int, ...] = (stdin,)
        if context.sandbox is not None:
            confined = context.sandbox.confine(argv, cwd=context.cwd, env=env)
            argv, env, pass_fds = confined.argv, confined.env, (*pass_fds, *confined.pass_fds)
        # The shell puts its group on the list of what must end with us, then becomes the server.
        script = f'echo "+ $$" >&0; exec </dev/fd/{stdin}; exec "$@"'
        child = subprocess.Popen(
            [_SHELL, "-c", script, "sh", *argv],
            stdin=context.reaper.pipe(),
            stdout=stdout,
            stderr=stderr,
            cwd=context.cwd,
            env=dict(env),
            pass_fds=pass_fds,
            start_new_session=True,
        )
        return Process(child, context.reaper)

    async def _watch(self, process: Process, receiver: Receiver) -> None:
        """Tell when the server is gone: its output has ended, or it has."""
        assert self._output is not None
        await asyncio.wait([self._output.ended, process.exited], return_when=asyncio.FIRST_COMPLETED)
        if process.exited.done():
            # What it said last may say why.
            await asyncio.wait([self._output.ended], timeout=0.5)
        else:
            await process.ends_within(0.5)
        if self._output.ended.done() and (fault := self._output.ended.result()):
            receiver.lose(ConnectionLost(f"{self._name} {fault}."))
        elif process.code is None:
            receiver.lose(ConnectionLost(f"{self._name} closed its output."))
        else:
            how = f"with code {process.code}" if process.code >= 0 else f"by signal {-process.code}"
            receiver.lose(ConnectionLost(f"{self._name} exited {how}."))


class _Lines:
    """Gives on the lines that are messages."""

    def __init__(self, receiver: Receiver) -> None:
        self._receiver = receiver
        self._buffer = LineBuffer(LONGEST_MESSAGE)

    def feed(self, chunk: bytes) -> str:
        """Why nothing more can be read; empty when all is well."""
        for line in self._buffer.feed(chunk):
            if line.strip():
                self._read(line)
        too_long = self._buffer.is_overfull
        return f"sent a message of more than {LONGEST_MESSAGE >> 20} MiB" if too_long else ""

    def _read(self, line: bytes) -> None:
        try:
            message = decode(line)
        except ValueError:
            self._receiver.note(line[:_LONGEST_NOTE].decode("utf-8", "replace"))
        else:
            self._receiver.take(message)


class _Complaints:
    """Standard error, a line at a time."""

    def __init__(self, receiver: Receiver) -> None:
        self._receiver = receiver
        self._buffer = LineBuffer(_LONGEST_NOTE, cut=True)

    def feed(self, chunk: bytes) -> str:
        # Only the end is ever shown.
        for line in self._buffer.feed(chunk)[-100:]:
            if line.strip():
                self._receiver.note(line[:_LONGEST_NOTE].decode("utf-8", "replace"))
        return ""


class _Outlet:
    """The reading end of a pipe."""

    def __init__(self, descriptor: int, reader: _Lines | _Complaints, *, flood: int) -> None:
        self._descriptor = descriptor
        self._reader = reader
        self._flood = flood
        self._unasked = 0
        self._pause: asyncio.TimerHandle | None = None
        self._loop = asyncio.get_running_loop()
        self.ended: asyncio.Future[str] = self._loop.create_future()
        """Done when no more can come, with the reason if there is one."""
        os.set_blocking(descriptor, False)
        self._loop.add_reader(descriptor, self._read)

    def expect(self) -> None:
        """Something was asked, so what comes now is wanted."""
        self._unasked = 0

    def close(self) -> None:
        if self._descriptor < 0:
            return
        self._loop.remove_reader(self._descriptor)
        if self._pause is not None:
            self._pause.cancel()
        os.close(self._descriptor)
        self._descriptor = -1
        if not self.ended.done():
            self.ended.set_result("")

    def _read(self) -> None:
        try:
            chunk = os.read(self._descriptor, _CHUNK)
        except BlockingIOError:
            return
        except OSError:
            chunk = b""
        fault = self._reader.feed(chunk) if chunk else ""
        if not chunk or fault:
            self._loop.remove_reader(self._descriptor)
            self.ended.set_result(fault)
            return
        self._unasked += len(chunk)
        if self._unasked > self._flood:
            self._unasked = 0
            self._loop.remove_reader(self._descriptor)
            self._pause = self._loop.call_later(_FLOOD_PAUSE, self._resume)

    def _resume(self) -> None:
        self._loop.add_reader(self._descriptor, self._read)


class _Inlet:
    """The writing end of a pipe; a server that does not read makes writers wait, not the session."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._pending = bytearray()
        self._waiting: list[asyncio.Future[None]] = []
        self._loop = asyncio.get_running_loop()
        self._watched = False
        os.set_blocking(descriptor, False)

    @property
    def closed(self) -> bool:
        return self._descriptor < 0

    async def write(self, data: bytes) -> None:
        """Return when everything that was written so far is out, or no one reads any more."""
        self._pending += data
        self._flush()
        if self._pending and not self.closed:
            done: asyncio.Future[None] = self._loop.create_future()
            self._waiting.append(done)
            await done

    def close(self) -> None:
        if self._descriptor < 0:
            return
        self._loop.remove_writer(self._descriptor)
        os.close(self._descriptor)
        self._descriptor = -1
        self._settle()

    def _flush(self) -> None:
        while self._pending:
            try:
                written = os.write(self._descriptor, self._pending[:65536])
            except BlockingIOError:
                self._loop.add_writer(self._descriptor, self._flush)
                self._watched = True
                return
            except OSError:
                # The server has closed its input or is gone; its exit tells more.
                self.close()
                return
            del self._pending[:written]
        if self._watched:
            self._loop.remove_writer(self._descriptor)
            self._watched = False
        self._settle()

    def _settle(self) -> None:
        waiting, self._waiting = self._waiting, []
        for done in waiting:
            if not done.done():
                done.set_result(None)


def _inherited(env: Mapping[str, str]) -> dict[str, str]:
    """What a server sees of the session's environment besides what its configuration adds."""
    if is_on(env, "CLAUDE_CODE_MCP_ALLOWLIST_ENV"):
        shown = (*_BASELINE, ENTRYPOINT, "CLAUDE_CODE_SESSION_ID")
        return {name: value for name, value in env.items() if name in shown or name.startswith("LC_")}
    return {
        name: value
        for name, value in env.items()
        if not name.startswith(("OTEL_", "BASH_FUNC_")) and not _is_account_secret(name)
    }


def _is_account_secret(name: str) -> bool:
    """Whether a variable by its name holds a key, token or password of a model service or a cloud account."""
    return may_hold_credential(name) and is_secret_name(name)


def _find(command: str, *, cwd: str, env: Mapping[str, str]) -> str | None:
    if "/" in command:
        path = os.path.join(cwd, os.path.expanduser(command))
        return path if os.path.isfile(path) and os.access(path, os.X_OK) else None
    folders = env.get("PATH", os.defpath).split(os.pathsep)
    places = (os.path.join(cwd, folder, command) for folder in folders if os.path.isabs(folder))
    return next((path for path in places if os.path.isfile(path) and os.access(path, os.X_OK)), None)
