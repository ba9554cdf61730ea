"""Messages between sessions of one user on one machine, through a socket that no other user can open."""

import asyncio
import os
import socket
import stat
import struct
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from bridle.features.agents.mailbox import MOST_CHARS, as_prompt
from bridle.features.teams.received import TOO_MANY, MessageRate, announcement
from bridle.host.files import make_folders, write_atomic
from bridle.host.jsonlines import BadLine, JsonLines
from bridle.host.owners import birth, is_alive
from bridle.host.paths import bridle_dir
from bridle.host.socket_server import SocketServer, serve_unix
from bridle.types.errors import ToolError
from bridle.types.event import Noticed
from bridle.types.services.messages import AgentMessage
from bridle.types.turn import Prompt

_SECONDS = 5.0
_LINE = 8 * MOST_CHARS
_LONGEST_PATH = 100
_MOST_SESSIONS = 50
_object = msgspec.json.Decoder(dict[str, Any])


class SessionCard(Struct, frozen=True, kw_only=True):
    """A session that takes messages, as its file tells others."""

    pid: int
    birth: str
    socket: str
    about: str = ""


class PeerSocket:
    """The socket of one session; closed with it."""

    def __init__(
        self,
        session_id: str,
        *,
        env: Mapping[str, str],
        cwd: str,
        deliver: Callable[[Prompt], None],
        emit: Callable[[Noticed], None] = lambda _: None,
        inbound: str = "accept",
    ) -> None:
        self._emit = emit
        self._rate = MessageRate()
        self._session_id = session_id
        self._env = env
        self._cwd = cwd
        self._deliver = deliver
        self._inbound = inbound
        """`refuse` turns every message away, `hold` keeps it for the next turn and begins none."""
        self._token = env.get("CLAUDE_CODE_MESSAGING_TOKEN", "")
        self._server: SocketServer | None = None
        self.path = os.path.abspath(env.get("CLAUDE_CODE_MESSAGING_SOCKET") or socket_path(env, session_id))

    async def open(self) -> None:
        """Listen, and let others know.

        Raises:
            OSError: the socket cannot be made.
        """
        folder = os.path.dirname(os.path.abspath(self.path))
        make_folders(folder, private=True)
        if os.stat(folder).st_uid != os.getuid():
            raise PermissionError(f"{folder} belongs to another user")
        _remove_dead_socket(self.path)
        self._server = serve_unix(self._serve, self.path, limit=_LINE)
        pid = os.getpid()
        card = SessionCard(
            pid=pid,
            birth=birth(pid),
            socket=self.path,
            about=f"session {self._session_id[:8]} in {self._cwd}",
        )
        write_atomic(self._card(), msgspec.json.encode(card), mode=0o600)

    async def close(self) -> None:
        if self._server is not None:
            await self._server.close()
            for path in (self.path, self._card()):
                try:
                    os.unlink(path)
                except FileNotFoundError:
                    pass  # It was removed already.

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(_SECONDS):
                lines = JsonLines(reader, writer)
                problem = await self._take(lines, writer)
                await lines.send({"ok": True} if problem is None else {"error": problem})
        except (OSError, TimeoutError):
            pass  # The connection was lost, or the message was too long; nothing was taken.
        finally:
            writer.close()

    async def _take(self, lines: JsonLines, writer: asyncio.StreamWriter) -> str | None:
        """Take a message in; why not."""
        if _other_user(writer.get_extra_info("socket")):
            return "only sessions of the same user can connect"
        try:
            values = await lines.read(_object.decode) or {}
            letter = msgspec.convert(values.get("letter"), AgentMessage)
        except (BadLine, msgspec.ValidationError):
            return "not a message"
        if self._token and values.get("token") != self._token:
            return "the token is wrong"
        if self._inbound == "refuse":
            return "the other session accepts no messages (crossSessionInbound is refuse)"
        if len(letter.text) > MOST_CHARS:
            return f"more than {MOST_CHARS:,} characters"
        # No other session may pass for a sender of this one.
        known = letter.sender if letter.sender.startswith("uds:") else "another session"
        if self._rate.is_exceeded():
            return TOO_MANY
        self._rate.count()
        letter = msgspec.structs.replace(letter, sender=known)
        self._emit(announcement(letter))
        prompt = as_prompt(letter)
        self._deliver(msgspec.structs.replace(prompt, query=self._inbound != "hold"))
        return None

    def _card(self) -> str:
        return os.path.join(_cards(self._env), f"{os.getpid()}-{self._session_id[:36]}.json")


async def send_to_session(
    path: str, letter: AgentMessage, *, env: Mapping[str, str], token: str = ""
) -> None:
    """Hand a message to another session of this user, by the very path under which that session is listed.

    No other path is connected to, whatever it leads to: a socket may be anything, and a line in it an order.

    Raises:
        ToolError: no session is listed there, it cannot be reached, or does not take it.
    """
    cards = await asyncio.to_thread(live_sessions, env, most=None)
    card = next((each for each in cards if each.socket == path), None)
    if card is None:
        raise ToolError(f"{path!r} is not one of your sessions. ListAgents lists them.")
    await send_to_socket(card.socket, letter, token=token, pid=card.pid)


async def send_to_socket(path: str, letter: AgentMessage, *, pid: int, token: str = "") -> None:
    """Hand a message to the process that opened a socket, if it is the one that is expected there.

    Raises:
        ToolError: it cannot be reached, is another one, or does not take it.
    """
    try:
        facts = os.lstat(path)
        if not stat.S_ISSOCK(facts.st_mode) or facts.st_uid != os.getuid():
            raise ToolError(f"{path} is not a socket of one of your sessions. ListAgents lists them.")
        async with asyncio.timeout(_SECONDS):
            reader, writer = await asyncio.open_unix_connection(path, limit=_LINE)
            try:
                if peer_of(writer.get_extra_info("socket")) not in (None, (pid, os.getuid())):
                    raise ToolError(f"{path} now belongs to another process. ListAgents lists your sessions.")
                lines = JsonLines(reader, writer)
                await lines.send({"letter": letter, "token": token})
                reply = await lines.read(_object.decode) or {}
            finally:
                writer.close()
    except (OSError, TimeoutError, ValueError) as fault:
        raise ToolError(f"Could not reach the session at {path} ({fault or 'no answer'}).") from fault
    if reply.get("ok") is not True:
        raise ToolError(
            f"The session at {path} did not accept the message: {reply.get('error', 'no answer')}."
        )


def live_sessions(env: Mapping[str, str], *, most: int | None = _MOST_SESSIONS) -> list[SessionCard]:
    """Sessions that take messages; the cards of dead ones are removed.

    Only cards count that this user wrote, in a folder that no other user can write to.
    """
    folder = _cards(env)
    found: list[SessionCard] = []
    try:
        names = sorted(os.listdir(folder)) if _is_private(os.lstat(folder)) else []
    except FileNotFoundError:
        return []
    for path in (os.path.join(folder, name) for name in names):
        try:
            with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
                if not _is_private(os.fstat(file.fileno())):
                    continue
                card = msgspec.json.decode(file.read(10_000), type=SessionCard)
        except (OSError, msgspec.DecodeError):
            continue  # A file of another user, or one that is being written.
        if is_alive(card.pid, card.birth):
            found.append(card)
        else:
            os.unlink(path)
    return found[:most]


def _is_private(facts: os.stat_result) -> bool:
    """Whether a folder or a plain file is the user's and no other user can change it."""
    kind = stat.S_ISDIR(facts.st_mode) or stat.S_ISREG(facts.st_mode)
    return kind and facts.st_uid == os.getuid() and not facts.st_mode & 0o022


def _cards(env: Mapping[str, str]) -> str:
    return os.path.join(bridle_dir(env), "broker", "sessions")


def socket_path(env: Mapping[str, str], session_id: str) -> str:
    """The default path of the socket of a session in this process."""
    return socket_called(env, f"{os.getpid()}-{session_id[:8]}.sock")


def socket_called(env: Mapping[str, str], name: str) -> str:
    """In the user's own folder where the name is short enough for a socket, else in another private one."""
    wanted = os.path.join(bridle_dir(env), "sockets", name)
    if len(os.fsencode(wanted)) <= _LONGEST_PATH:
        return wanted
    base = env.get("XDG_RUNTIME_DIR") or "/tmp"
    return os.path.join(base, f"bridle-{os.getuid()}", name)


def _remove_dead_socket(path: str) -> None:
    """Remove a socket file without a listener: it would block the name."""
    try:
        if stat.S_ISSOCK(os.lstat(path).st_mode):
            with socket.socket(socket.AF_UNIX) as probe:
                probe.connect(path)
    except ConnectionRefusedError:
        os.unlink(path)
    except FileNotFoundError:
        pass  # The usual case.


def _other_user(connection: Any) -> bool:
    """Whether the other end belongs to another user, if the system can say."""
    found = peer_of(connection)
    return found is not None and found[1] != os.getuid()


def peer_of(connection: Any) -> tuple[int, int] | None:
    """Process and user of the other end, where the system tells."""
    if not hasattr(socket, "SO_PEERCRED"):
        return None
    data = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    pid, uid, _ = struct.unpack("3i", data)
    return pid, uid
