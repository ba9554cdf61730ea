"""Sessions that were begun on this machine and join its agent by a socket."""

import asyncio
import os
import time
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from bridle.frontends.hub.machine.client import HubClient, HubRefused, HubUnreachable
from bridle.frontends.hub.machine.encrypted_link import EncryptedLink
from bridle.frontends.hub.machine.membership import JOINED, Pointer, Pointers
from bridle.frontends.hub.machine.session_link import SessionLink
from bridle.frontends.remote.errors import RequestRefused
from bridle.frontends.remote.joining import LONGEST_LINE
from bridle.frontends.remote.shared_session import SharedSession
from bridle.host.files import make_folders
from bridle.host.jobs.protocol import is_own
from bridle.host.jsonlines import to_line
from bridle.host.socket_server import serve_unix
from bridle.types.ids import new_uuid

_QUESTIONS = ("can_use_tool", "elicitation")
_MOST_SESSIONS = 500
_HELLO_SECONDS = 10.0


class Hello(Struct, frozen=True):
    """How a session introduces itself."""

    conversation: str
    name: str
    cwd: str
    pid: int


class JoinedSession:
    """A session in another process, as it is here; implements `shared_session.SessionActions`."""

    def __init__(self, hello: Hello, send: Callable[[bytes], None]) -> None:
        self.hello = hello
        self._send = send
        self._name = hello.name
        self._state: dict[str, Any] = {"cwd": hello.cwd}
        self.shared_session = SharedSession(
            new_uuid(), self, name=lambda: self._name, state=lambda: self._state
        )

    def take(self, line: bytes) -> None:
        """What the session tells.

        Raises:
            MsgspecError: it is not what is spoken here.
        """
        match msgspec.json.decode(line, type=dict[str, Any]):
            case {"snapshot": dict(snapshot)}:
                self._begin(snapshot)
            case {"frame": dict(frame)}:
                self._take_frame(frame)
            case {"over": str(why)}:
                self.shared_session.finish(why)
            case _:
                pass

    def lost(self) -> None:
        """Its process is gone without a word."""
        self.shared_session.finish("The session has ended unexpectedly.", failed=True)

    def prompt(self, text: str, *, id: str, who: str) -> Mapping[str, Any]:
        return self._pass_on({"do": "prompt", "text": text, "id": id}, who)

    def interrupt(self, *, who: str) -> Mapping[str, Any]:
        return self._pass_on({"do": "interrupt"}, who)

    def set_mode(self, mode: str, *, who: str) -> Mapping[str, Any]:
        return self._pass_on({"do": "mode", "mode": mode}, who)

    def request(self, subtype: str, fields: Mapping[str, Any], *, who: str) -> Mapping[str, Any]:
        if subtype == "rename_session":
            return self._pass_on({"do": "prompt", "text": f"/rename {fields['title']}"}, who)
        del who
        raise RequestRefused(403, f"{subtype} can be used only where this session runs.")

    def end(self, *, who: str) -> Mapping[str, Any]:
        del who
        raise RequestRefused(403, "This session can be ended only where it runs.")

    def archive(self, *, who: str) -> Mapping[str, Any]:
        del who
        raise RequestRefused(403, "This session can be ended only where it runs.")

    async def letter(self, letter: Mapping[str, Any]) -> Mapping[str, Any]:
        del letter
        raise RequestRefused(403, "messages reach this session by its socket")

    def _begin(self, snapshot: Mapping[str, Any]) -> None:
        shared = self.shared_session
        self._note(snapshot.get("state") or {})
        if isinstance(about := snapshot.get("session"), dict):
            self._name = str(about.get("name") or self._name)
        shared.log.restart(snapshot.get("frames") or ())
        for question in snapshot.get("questions") or ():
            self._take_frame(question)

    def _take_frame(self, frame: dict[str, Any]) -> None:
        shared = self.shared_session
        match frame:
            case {
                "type": "control_request",
                "request_id": str(id),
                "request": {"subtype": str(kind)} as request,
            }:
                if kind in _QUESTIONS:
                    shared.ask(
                        id, request, lambda said, who: self._answer(id, str(frame["digest"]), said, who)
                    )
            case {"type": "control_cancel_request", "request_id": str(id)}:
                decided = frame.get("decided") or {}
                by, how = str(decided.get("by", "the session")), str(decided.get("how", "settled"))
                shared.close(id, by=by, how=how)
            case {"type": "system", "subtype": "remote_state"}:
                self._note({name: frame[name] for name in frame if name not in ("type", "subtype")})
                shared.look()
            case {"type": "system", "subtype": "session_title_changed", "title": str(title)} if title:
                self._name = title
                shared.publish(frame)
            case _:
                shared.publish(frame)

    def _answer(self, id: str, digest: str, said: Mapping[str, Any], who: str) -> bool:
        answer = {name: value for name, value in said.items() if name not in ("id", "do")}
        self._pass_on({**answer, "do": "answer", "request_id": id, "digest": digest}, who)
        return True

    def _pass_on(self, wish: Mapping[str, Any], who: str) -> Mapping[str, Any]:
        self._send(to_line({"act": {"id": new_uuid(), **wish}, "who": who}))
        return {"sent": True}

    def _note(self, state: Mapping[str, Any]) -> None:
        self._state = {"cwd": self.hello.cwd, **state, "ends": False}


class JoinedSessions:
    """Takes sessions of this machine in and shows them at its hub."""

    def __init__(
        self,
        client: HubClient,
        pointers: Pointers,
        path: str,
        *,
        uploads: str,
        machine: str,
        seal: Callable[[str], EncryptedLink | None],
        note: Callable[[str], None],
    ) -> None:
        self._client = client
        self._pointers = pointers
        self._path = path
        self._uploads = uploads
        self._machine = machine
        self._seal = seal
        self._note = note
        self._count = 0

    async def serve(self) -> None:
        """Take sessions in until cancelled."""
        make_folders(os.path.dirname(self._path), private=True)
        if await _is_served(self._path):
            self._note("another agent of this machine shows its sessions")
            await asyncio.Event().wait()
        server = serve_unix(self._take_in, self._path, limit=LONGEST_LINE)
        try:
            await asyncio.Event().wait()
        finally:
            await server.close()

    async def _take_in(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if not is_own(writer.get_extra_info("socket")) or self._count >= _MOST_SESSIONS:
            return
        self._count += 1
        try:
            async with asyncio.timeout(_HELLO_SECONDS):
                line = await reader.readline()
            hello = msgspec.convert(msgspec.json.decode(line, type=dict[str, Any]).get("hello"), Hello)
            await self._show(hello, reader, writer)
        except (OSError, TimeoutError, ValueError, msgspec.MsgspecError):
            return  # It is gone, or no session of this version.
        except (HubRefused, HubUnreachable) as fault:
            self._note(f"a session can't be shown at the hub: {fault}")
        finally:
            self._count -= 1

    async def _show(self, hello: Hello, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        joined = JoinedSession(hello, writer.write)
        shared = joined.shared_session
        reading = asyncio.create_task(_read(joined, reader))
        linking = asyncio.create_task(self._link(joined))
        try:
            await asyncio.wait([reading, linking], return_when=asyncio.FIRST_COMPLETED)
            if reading.done():
                joined.lost()
            await linking
        finally:
            for task in (reading, linking):
                task.cancel()
            await asyncio.gather(reading, linking, return_exceptions=True)
        self._note(f"{shared.name} has ended")

    async def _link(self, joined: JoinedSession) -> None:
        hello, shared = joined.hello, joined.shared_session
        metadata = {"machine": self._machine, "folder": hello.cwd, "joined": True}
        known = await asyncio.to_thread(self._pointers.of_conversation, hello.conversation, time.time())
        if known is not None:
            try:
                return await self._show_as(known.session, joined, metadata)
            except HubRefused as refusal:
                if refusal.status not in (403, 404):
                    raise
                # The hub has forgotten it: it gets a new name there.
                await asyncio.to_thread(self._pointers.clear, known.session)
        title = shared.name if self._seal("") is None else ""
        await self._show_as(await self._client.create(title, ["joined"]), joined, metadata)

    async def _show_as(self, session: str, joined: JoinedSession, metadata: Mapping[str, Any]) -> None:
        hello, shared = joined.hello, joined.shared_session
        pointer = Pointer(session, hello.conversation, hello.cwd, JOINED, time.time())
        await asyncio.to_thread(self._pointers.write, pointer)
        self._note(f"{shared.name} has joined")
        link = SessionLink(
            self._client, session, shared, folder=self._uploads, metadata=metadata,
            sealed=self._seal(session), note=self._note,
        )  # fmt: skip
        await link.run()


async def _read(joined: JoinedSession, reader: asyncio.StreamReader) -> None:
    try:
        while joined.shared_session.ended is None and (line := await reader.readline()):
            joined.take(line)
    except (OSError, ValueError, msgspec.MsgspecError):
        return  # The connection broke, or the session is of another version.


async def _is_served(path: str) -> bool:
    try:
        _, writer = await asyncio.open_unix_connection(path)
    except OSError:
        return False
    writer.close()
    return True
