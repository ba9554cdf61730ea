"""Records with a program that writes sound to its standard output: 16 kHz, one channel, 16 bits."""

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence

from bridle.host.programs import PROGRAMS, find_program
from bridle.types.errors import UsageError

RATE = 16_000
_BYTES_PER_SECOND = RATE * 2
_LONGEST = 300 * _BYTES_PER_SECOND
_LAST_WORDS = 2.0
_CHUNK = 3200
_MOST_COMPLAINTS = 2000
RECORDERS: Mapping[str, tuple[str, ...]] = {
    "arecord": ("-q", "-t", "raw", "-f", "S16_LE", "-r", "16000", "-c", "1"),
    "parecord": ("--raw", "--format=s16le", "--rate=16000", "--channels=1"),
    "rec": ("-q", "-t", "raw", "-r", "16000", "-e", "signed", "-b", "16", "-c", "1", "-"),
}
"""Programs that record, the first that is there is taken; then what `bridle[voice]` installs."""


class Microphone:
    """One recording, from its start to its end."""

    def __init__(self, process: asyncio.subprocess.Process, name: str, changed: Callable[[], None]) -> None:
        self._process = process
        self._name = name
        self._changed = changed
        self._held = bytearray()
        self._complaints = bytearray()
        self._tasks = (asyncio.create_task(self._read()), asyncio.create_task(self._read_complaints()))

    @classmethod
    async def open(
        cls, recorder: Sequence[str], env: Mapping[str, str], changed: Callable[[], None]
    ) -> "Microphone":
        """Start the program that records.

        Raises:
            UsageError: there is none, or it cannot be started.
        """
        argv = _command(recorder, env)
        try:
            process = await asyncio.create_subprocess_exec(
                *argv,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                cwd="/",
                env=PROGRAMS.environment(env),
                start_new_session=True,
            )
        except OSError as error:
            raise UsageError(f"can't start {argv[0]}: {error.strerror}") from error
        return cls(process, os.path.basename(argv[0]), changed)

    @property
    def seconds(self) -> float:
        return len(self._held) / _BYTES_PER_SECOND

    async def stop(self) -> bytes:
        """End the program; the sound.

        Raises:
            UsageError: there is none.
        """
        self._signal(signal.SIGINT)
        await self._end()
        if not self._held:
            said = self._complaints.decode(errors="replace").strip().splitlines()
            why = f": {said[-1][:200]}" if said else ""
            raise UsageError(f"No sound from the microphone ({self._name}){why}")
        return bytes(self._held[: len(self._held) // 2 * 2])

    async def discard(self) -> None:
        self._signal(signal.SIGKILL)
        await self._end()
        self._held.clear()

    async def _end(self) -> None:
        _, late = await asyncio.wait(self._tasks, timeout=_LAST_WORDS)
        if late:
            self._signal(signal.SIGKILL)
            await asyncio.wait(late)
        await self._process.wait()

    def _signal(self, number: signal.Signals) -> None:
        try:
            os.killpg(self._process.pid, number)
        except (ProcessLookupError, PermissionError):
            pass  # It has ended already.

    async def _read(self) -> None:
        assert self._process.stdout is not None
        while data := await self._process.stdout.read(_CHUNK):
            # What comes after the longest recording is still taken off the pipe: one that is left full never
            # closes, and the end of the program would be waited for without end.
            if len(self._held) < _LONGEST:
                self._held += data
                self._changed()
            else:
                self._signal(signal.SIGKILL)
        self._changed()

    async def _read_complaints(self) -> None:
        assert self._process.stderr is not None
        while data := await self._process.stderr.read(_MOST_COMPLAINTS):
            self._complaints = (self._complaints + data)[-_MOST_COMPLAINTS:]


def _command(recorder: Sequence[str], env: Mapping[str, str]) -> list[str]:
    """The program that the user chose, else the first that is there."""
    if recorder:
        found = recorder[0] if os.path.isabs(recorder[0]) else find_program(recorder[0], env)
        if found is None:
            raise UsageError(f"The recorder {recorder[0]} was not found: check bridleVoice.recorder.")
        return [found, *recorder[1:]]
    for name, words in RECORDERS.items():
        if (found := find_program(name, env)) is not None:
            return [found, *words]
    from importlib.util import find_spec

    if find_spec("sounddevice") is not None:
        return [sys.executable, "-P", "-m", "bridle", "--record-sound"]
    raise UsageError(f"No recorder found: install one of {', '.join(RECORDERS)}, or bridle[voice].")
