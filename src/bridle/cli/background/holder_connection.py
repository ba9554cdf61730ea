"""The connection of a background session to what holds its terminal."""

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bridle.host.jobs import protocol, records
from bridle.types.workspace import Workspace

_READ = 64 * 1024


class HolderConnection:
    """Reports the state of the session, and learns when a terminal attaches."""

    def __init__(self, job: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.job = job
        """The id of the job."""
        self._reader = reader
        self._writer = writer
        self.on_paint: Callable[[], None] = lambda: None
        self.handed: Sequence[Any] = ()
        """Commands that the conversation left running when it was moved here."""
        self.has_agreed = False
        """Whether a person agreed to a mode that asks nothing, before they moved the conversation here."""

    @classmethod
    async def open(cls, folder: str) -> "HolderConnection | None":
        """The connection; None when the holder of the terminal is gone, which ends the program anyway."""
        facts = records.read(folder)
        if facts is None:
            return None
        try:
            reader, writer = await asyncio.open_unix_connection(facts["socket"])
        except OSError:
            return None
        connection = cls(facts["id"], reader, writer)
        connection.handed = facts.get("shells") or ()
        connection.has_agreed = facts.get("agreed") is True
        connection._send(protocol.frame(protocol.INSIDE))
        connection.tell({"pid": os.getpid()})
        return connection

    def tell(self, values: Mapping[str, Any]) -> None:
        """Report the state of the session to the holder."""
        self._send(protocol.message(protocol.STATE, **values))

    def take_over(self, workspace: Workspace) -> None:
        """Adopt the running commands as jobs of this session, and confirm it to their keeper."""
        if not self.handed:
            return
        from bridle.features.background.handover import take_over

        take_over(self.handed, workspace)
        self.tell({"shells": None})

    def keep_address(self, text: str) -> None:
        """Let the holder hand out where the session is shared, which its record must not hold."""
        self._send(protocol.frame(protocol.ADDRESS, text.encode()))

    def detach(self) -> None:
        """Detach every terminal; the session continues."""
        self._send(protocol.frame(protocol.LEAVE))

    def stop(self) -> None:
        """Have the session ended."""
        self._send(protocol.frame(protocol.STOP))

    async def listen(self) -> None:
        """Read messages of the holder until it is gone."""
        frames = protocol.Frames()
        while data := await self._read():
            for kind, _ in frames.feed(data):
                if kind == protocol.PAINT:
                    self.on_paint()

    async def close(self) -> None:
        try:
            await self._writer.drain()
        except OSError:
            pass  # The holder is gone.
        self._writer.close()

    async def _read(self) -> bytes:
        try:
            return await self._reader.read(_READ)
        except OSError:
            return b""

    def _send(self, data: bytes) -> None:
        if not self._writer.is_closing():
            self._writer.write(data)
