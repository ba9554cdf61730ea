"""Shows a session at the hub of this machine, through the socket of the machine's agent."""

import asyncio
import os
import stat
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from bridle.features.teams.peers import socket_called
from bridle.frontends.remote.errors import RequestRefused
from bridle.frontends.remote.local_session import LocalSession
from bridle.host.jobs.protocol import is_own
from bridle.host.jsonlines import to_line
from bridle.host.paths import bridle_dir
from bridle.types.ids import new_uuid

LONGEST_LINE = 64 * 1024 * 1024
_FIRST_WAIT = 0.5
_LONGEST_WAIT = 20.0
_BATCH_BYTES = 512 * 1024
_FAREWELL_SECONDS = 3.0
_THE_HUB = "the hub"


def agent_socket(env: Mapping[str, str]) -> str:
    """Where the agent of this machine takes sessions."""
    # Where the folder is shared, every home has a name of its own.
    from hashlib import sha256

    return socket_called(env, f"hub-{sha256(bridle_dir(env).encode()).hexdigest()[:12]}.sock")


class HubConnection:
    """Keeps one session joined: it waits for the agent, and comes back when that was restarted."""

    def __init__(
        self,
        local: LocalSession,
        conversation: str,
        env: Mapping[str, str],
        *,
        on_change: Callable[[], None],
    ) -> None:
        self.local = local
        self.is_connected = False
        self._shared = local.shared_session
        self._conversation = conversation
        self._path = agent_socket(env)
        self._on_change = on_change
        self._running = asyncio.create_task(self._run())

    async def close(self) -> None:
        """Say that the session has ended, and wait until the agent knows."""
        self._shared.finish("The session has ended.")
        if self.is_connected:
            await asyncio.wait([self._running], timeout=_FAREWELL_SECONDS)
        self._running.cancel()
        await asyncio.gather(self._running, return_exceptions=True)

    async def _run(self) -> None:
        wait = _FIRST_WAIT
        while self._shared.ended is None:
            try:
                await self._talk()
                wait = _FIRST_WAIT
            except (OSError, ValueError):
                wait = min(wait * 2, _LONGEST_WAIT)
            if self._shared.ended is None:
                await asyncio.sleep(wait)

    async def _talk(self) -> None:
        """Be joined until the session ends or the agent is gone.

        Raises:
            OSError: there is no agent.
        """
        facts = os.lstat(self._path)
        if not stat.S_ISSOCK(facts.st_mode) or facts.st_uid != os.getuid():
            raise OSError("no socket of this user")
        reader, writer = await asyncio.open_unix_connection(self._path, limit=LONGEST_LINE)
        go = self._shared.come(_THE_HUB)
        sending = asyncio.create_task(self._send(writer))
        listening = asyncio.create_task(self._listen(reader))
        try:
            if not is_own(writer.get_extra_info("socket")):
                raise OSError("the socket belongs to another user")
            self._connected(on=True)
            await asyncio.wait([sending, listening], return_when=asyncio.FIRST_COMPLETED)
        finally:
            go()
            self._connected(on=False)
            for task in (sending, listening):
                task.cancel()
            await asyncio.gather(sending, listening, return_exceptions=True)
            writer.close()

    async def _send(self, writer: asyncio.StreamWriter) -> None:
        hello = {
            "conversation": self._conversation,
            "name": self._shared.name,
            "cwd": self._shared.listing().get("cwd", ""),
            "pid": os.getpid(),
        }
        writer.write(to_line({"hello": hello}))
        log, epoch, after = self._shared.log, "", 0
        while True:
            lines = log.since(epoch, after, most=_BATCH_BYTES)
            if lines is None:
                epoch, after = log.epoch, log.last
                writer.write(self._shared.snapshot())
            elif lines:
                after += len(lines)
                writer.writelines(lines)
            elif self._shared.ended is not None:
                writer.write(to_line({"over": self._shared.ended}))
                await writer.drain()
                return
            else:
                await log.changed(after)
            await writer.drain()

    async def _listen(self, reader: asyncio.StreamReader) -> None:
        while line := await reader.readline():
            try:
                said = msgspec.json.decode(line, type=dict[str, Any])
            except msgspec.MsgspecError:
                return  # Not an agent of this version.
            match said:
                case {"act": dict(wish), "who": str(who)}:
                    self._act(wish, who)
                case _:
                    pass

    def _act(self, wish: Mapping[str, Any], who: str) -> None:
        """Do what a device asks, by the rules of this session."""
        try:
            self._shared.act(wish, who)
        except RequestRefused as refusal:
            text = f"{who} sent a request that this session refuses: {refusal}"
            frame = {"type": "system", "subtype": "informational", "content": text, "level": "warning"}
            self._shared.publish({**frame, "uuid": new_uuid()})

    def _connected(self, *, on: bool) -> None:
        self.is_connected = on
        self._on_change()
