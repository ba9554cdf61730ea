"""A shell script that is given one input, and of whose output only so much is kept."""

import asyncio
import os
import os.path
import subprocess
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

from bridle.host.process import Process
from bridle.host.reaper import Reaper

_LAST_WORDS = 0.5
_GRACE = 0.5
_REPORT_EVERY = 1.0
_MOST_COMPLAINTS = 64 * 1024


class Program:
    """A running script in a process group of its own; the caller must finish or end it."""

    def __init__(
        self,
        process: Process,
        feed: "_Feed",
        output: "_Intake",
        complaints: "_Intake",
    ) -> None:
        self.process = process
        self._feed = feed
        self._output = output
        self._complaints = complaints

    @classmethod
    def start(
        cls,
        shell: str,
        script: str,
        arguments: Sequence[str],
        *,
        cwd: str,
        env: Mapping[str, str],
        input: bytes,
        most_output: int,
        reaper: Reaper | None,
    ) -> Self:
        """Start `script` in `shell`; a program that prints more than `most_output` bytes counts as flooding.

        Raises:
            OSError: the shell or the directory cannot be used.
        """
        if reaper is not None:
            reaper.pipe()  # The reaper must run before the program does.
        feed = _Feed(input)
        output, complaints = _Intake(most_output, most_output), _Intake(_MOST_COMPLAINTS, most_output)
        try:
            child = subprocess.Popen(
                [shell, "-c", script, os.path.basename(shell), *arguments],
                stdin=feed.outlet,
                stdout=output.inlet,
                stderr=complaints.inlet,
                cwd=cwd,
                env={**env, **({} if reaper is None else reaper.mark)},
                start_new_session=True,
            )
        except (OSError, ValueError):
            for pipe in (feed, output, complaints):
                pipe.close()
            raise
        for pipe in (feed, output, complaints):
            pipe.hand_over()
        process = Process(child, None)
        if reaper is not None:
            process.enlist(reaper)
        return cls(process, feed, output, complaints)

    def printed(self) -> bytes:
        """What stands on standard output so far."""
        return bytes(self._output.data)

    def complained(self) -> bytes:
        return bytes(self._complaints.data)

    @property
    def floods(self) -> bool:
        return self._output.flooded.done() or self._complaints.flooded.done()

    async def settle(
        self,
        *,
        until: Callable[[bytes], bool] | None = None,
        report: Callable[[], None] = lambda: None,
    ) -> bool:
        """Wait until it ends, floods, or has printed what `until` looks for; whether the last was the case.

        `report` is called whenever there is more output after a while. When the waiting is cancelled, it is
        ended with everything it started.
        """
        seen = self._output.expect(until) if until is not None else None
        over = [self.process.exited, self._output.flooded, self._complaints.flooded]
        try:
            await self._wait([*over, *([seen] if seen else [])], report)
        except asyncio.CancelledError:
            await self.end()
            raise
        return not any(future.done() for future in over)

    async def _wait(self, ends: list[asyncio.Future[Any]], report: Callable[[], None]) -> None:
        reported = 0
        while not (await asyncio.wait(ends, timeout=_REPORT_EVERY, return_when=asyncio.FIRST_COMPLETED))[0]:
            if (printed := len(self._output.data) + len(self._complaints.data)) != reported:
                reported = printed
                report()

    async def finish(self) -> int | None:
        """Read its last output and return the exit code, or None when it had to be ended.

        Processes that it left in its group keep running; the caller must end them.
        """
        if self.floods or self.process.code is None:
            await self.end()
            return None
        try:
            self._output.drain()
            self._complaints.drain()
            if self.process.has_members():
                # The rest of a pipeline may still be talking, a daemon may be silent for ever.
                await asyncio.wait([self._output.closed, self._complaints.closed], timeout=_LAST_WORDS)
        except asyncio.CancelledError:
            await self.end()
            raise
        self._close()
        return self.process.code

    async def end(self) -> None:
        """End the whole group."""
        self._close()
        await self.process.end(grace=_GRACE)

    def _close(self) -> None:
        for pipe in (self._feed, self._output, self._complaints):
            pipe.close()


class _Feed:
    """The writing end of a pipe that hands over one input, as fast as it is taken."""

    def __init__(self, data: bytes) -> None:
        self._rest = memoryview(data)
        self._loop = asyncio.get_running_loop()
        self.outlet, self._inlet = os.pipe()
        os.set_blocking(self._inlet, False)
        self._write()

    def hand_over(self) -> None:
        os.close(self.outlet)
        self.outlet = -1
        if self._inlet >= 0:
            self._loop.add_writer(self._inlet, self._write)

    def close(self) -> None:
        if self.outlet >= 0:
            os.close(self.outlet)
            self.outlet = -1
        self._finish()

    def _write(self) -> None:
        try:
            self._rest = self._rest[os.write(self._inlet, self._rest) :]
        except BlockingIOError:
            return
        except BrokenPipeError:
            # Not every hook wants to know.
            self._finish()
            return
        if not self._rest:
            self._finish()

    def _finish(self) -> None:
        if self._inlet >= 0:
            self._loop.remove_writer(self._inlet)
            os.close(self._inlet)
            self._inlet = -1


class _Intake:
    """The reading end of a pipe that keeps so many bytes and lets the rest go."""

    def __init__(self, kept: int, most: int) -> None:
        self.data = bytearray()
        self._kept = kept
        self._left = most
        self._until: tuple[Callable[[bytes], bool], asyncio.Future[None]] | None = None
        self._loop = asyncio.get_running_loop()
        self.flooded: asyncio.Future[None] = self._loop.create_future()
        self.closed: asyncio.Future[None] = self._loop.create_future()
        self._outlet, self.inlet = os.pipe()
        os.set_blocking(self._outlet, False)

    def hand_over(self) -> None:
        os.close(self.inlet)
        self.inlet = -1
        self._loop.add_reader(self._outlet, self._read)

    def expect(self, until: Callable[[bytes], bool]) -> asyncio.Future[None]:
        """A future for the moment at which what was printed is what `until` looks for."""
        found: asyncio.Future[None] = self._loop.create_future()
        self._until = (until, found)
        return found

    def drain(self) -> None:
        """Take what is there, without waiting for more."""
        while not self.closed.done() and not self.flooded.done() and self._read():
            pass

    def close(self) -> None:
        if self.inlet >= 0:
            os.close(self.inlet)
            self.inlet = -1
        if not self.closed.done():
            self._finish()

    def _read(self) -> bool:
        try:
            chunk = os.read(self._outlet, 64 * 1024)
        except BlockingIOError:
            return False
        if not chunk:
            self._finish()
            return False
        self.data += chunk[: self._kept - len(self.data)]
        self._left -= len(chunk)
        if self._left < 0:
            self._loop.remove_reader(self._outlet)
            if not self.flooded.done():
                self.flooded.set_result(None)
        elif self._until is not None:
            self._look()
        return True

    def _look(self) -> None:
        assert self._until is not None
        until, found = self._until
        if not found.done() and until(bytes(self.data)):
            found.set_result(None)

    def _finish(self) -> None:
        self._loop.remove_reader(self._outlet)
        os.close(self._outlet)
        self.closed.set_result(None)
