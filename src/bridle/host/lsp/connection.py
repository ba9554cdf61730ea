"""A conversation with one language server over its standard streams."""

import asyncio
import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from bridle.host.jsonrpc import Limits, Message, Peer, Rules
from bridle.host.lsp.framing import LONGEST_MESSAGE, Frames, LspFault, encode
from bridle.host.process import Process
from bridle.host.reaper import Reaper

_SHELL = "/bin/sh"
_CHUNK = 256 * 1024
_MOST_COMPLAINTS = 2_000
_END_GRACE = 0.5
_CONTENT_MODIFIED = -32801
_TRIES = 3

Answer = Callable[[Any], Any]
"""What a request of the server gets."""


class Launch(Struct, frozen=True, kw_only=True):
    """How the program of a server is started."""

    argv: Sequence[str]
    cwd: str
    env: Mapping[str, str]
    pass_fds: tuple[int, ...] = ()


class LspConnection:
    """Opened once; lost when the program ends, breaks the protocol or does not read any more."""

    def __init__(
        self, *, answers: Mapping[str, Answer], notified: Callable[[str, Mapping[str, Any]], None]
    ) -> None:
        self._answers = answers
        self._peer: Peer[LspFault] = Peer("it", self._send, _RULES, answer=self._answer, notified=notified)
        self.lost = self._peer.lost
        """Done when nothing more can come, with the reason."""
        self._process: Process | None = None
        self._writer: asyncio.WriteTransport | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._readers: list[asyncio.ReadTransport] = []
        self._complaints = b""

    async def open(self, launch: Launch, reaper: Reaper) -> None:
        """Start the program.

        Raises:
            LspFault: it cannot be started.
        """
        stdin, stdout, stderr = os.pipe(), os.pipe(), os.pipe()
        try:
            self._process = _start(launch, reaper, stdin[0], stdout[1], stderr[1])
        except (OSError, ValueError) as error:
            for descriptor in (stdin[1], stdout[0], stderr[0]):
                os.close(descriptor)
            raise LspFault(f"it cannot be started: {error}") from error
        finally:
            for descriptor in (stdin[0], stdout[1], stderr[1]):
                os.close(descriptor)
        loop = asyncio.get_running_loop()
        self._writer, _ = await loop.connect_write_pipe(
            asyncio.BaseProtocol, os.fdopen(stdin[1], "wb", buffering=0)
        )
        output, complaints = await self._reader(stdout[0]), await self._reader(stderr[0])
        self._tasks = [
            asyncio.create_task(self._read(output)),
            asyncio.create_task(self._read_complaints(complaints)),
        ]
        self._process.exited.add_done_callback(lambda done: self._lose(self._ending(done.result())))

    async def request(self, method: str, params: Any, *, seconds: float) -> Any:
        """Ask the server; what changed meanwhile is asked again.

        Raises:
            LspFault: it answered with an error, or not at all.
        """
        for _ in range(_TRIES - 1):
            try:
                return await self._peer.request(method, params, limits=Limits(seconds))
            except _ContentModified:
                continue
        return await self._peer.request(method, params, limits=Limits(seconds))

    def notify(self, method: str, params: Any) -> None:
        """Send a notification; nothing is sent to a server that is gone."""
        self._peer.tell(method, params)

    async def close(self, seconds: float) -> None:
        """Ask the server to end, wait so long, then end it with everything that it started."""
        if self._process is not None and not self.lost.done():
            try:
                await self._peer.request("shutdown", limits=Limits(seconds))
                self.notify("exit", None)
                await self._process.ends_within(seconds)
            except LspFault:
                pass  # Then it is ended without being asked.
        await self._peer.close()
        if self._process is not None:
            await self._process.end(grace=_END_GRACE)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for transport in (self._writer, *self._readers):
            if transport is not None:
                transport.close()

    async def _send(self, message: Message, headers: Mapping[str, str]) -> None:
        del headers
        writer = self._writer
        if writer is None or self.lost.done() or writer.is_closing():
            return
        writer.write(encode(message))
        if writer.get_write_buffer_size() > LONGEST_MESSAGE:
            self._lose("it does not read its input")

    async def _read(self, output: asyncio.StreamReader) -> None:
        frames = Frames()
        try:
            while chunk := await output.read(_CHUNK):
                for message in frames.feed(chunk):
                    self._peer.take(message)
        except LspFault as fault:
            self._lose(str(fault))
            return
        if self._process is not None:
            # How it ended says more than that its output has.
            await self._process.ends_within(_END_GRACE)
        self._lose("it closed its output")

    def _answer(self, method: str, params: Mapping[str, Any]) -> Message | None:
        answer = self._answers.get(method)
        return None if answer is None else {"result": answer(params)}

    async def _read_complaints(self, complaints: asyncio.StreamReader) -> None:
        while chunk := await complaints.read(_CHUNK):
            self._complaints = (self._complaints + chunk)[-_MOST_COMPLAINTS:]

    async def _reader(self, descriptor: int) -> asyncio.StreamReader:
        reader = asyncio.StreamReader()
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(descriptor, "rb", buffering=0)
        )
        self._readers.append(transport)
        return reader

    def _ending(self, code: int) -> str:
        how = f"it ended with code {code}" if code >= 0 else f"it was killed by signal {-code}"
        lines = self._complaints.decode(errors="replace").strip().splitlines()
        return f"{how}: {lines[-1][:300]}" if lines else how

    def _lose(self, reason: str) -> None:
        self._peer.lose(LspFault(reason))


class _ContentModified(LspFault):
    pass


def _failed(name: str, error: Any) -> LspFault:
    match error:
        case {"code": code, "message": str() as text}:
            kind = _ContentModified if code == _CONTENT_MODIFIED else LspFault
            return kind(f"{name} answered: {text[:500]}")
        case _:
            return LspFault(f"{name} answered with an unreadable error")


_RULES = Rules(
    failed=_failed,
    timed_out=lambda name, method, time: LspFault(f"{name} did not answer {method} within {time}"),
    closed=lambda name: LspFault(f"{name} was closed"),
    cancel=("$/cancelRequest", "id"),
)


def _start(launch: Launch, reaper: Reaper, stdin: int, stdout: int, stderr: int) -> Process:
    # The shell puts its group on the list of what must end with us, then becomes the server.
    script = f'echo "+ $$" >&0; exec </dev/fd/{stdin}; exec "$@"'
    child = subprocess.Popen(
        [_SHELL, "-c", script, "sh", *launch.argv],
        stdin=reaper.pipe(),
        stdout=stdout,
        stderr=stderr,
        cwd=launch.cwd,
        env=dict(launch.env),
        pass_fds=(stdin, *launch.pass_fds),
        start_new_session=True,
    )
    return Process(child, reaper)
