"""The messages between a leader and a teammate process, as JSON lines over a socket."""

import asyncio
import os
import socket
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal, TypeVar

import msgspec
from msgspec import Struct

from bridle.features.teams.peers import peer_of, socket_called
from bridle.host.jsonlines import BadLine, JsonLines
from bridle.host.socket_server import SocketServer, serve_unix
from bridle.types.agent import AgentDefinition
from bridle.types.permission import Mode, Rule
from bridle.types.services.messages import Contact, Delivery
from bridle.types.usage import ModelSpend

_T = TypeVar("_T")
_LONGEST_LINE = 16 * 1024 * 1024


class MemberLaunch(Struct, frozen=True, kw_only=True):
    """What a process needs to start as a member of a team."""

    agent_id: str
    name: str
    team: str
    leader: str
    """The leader's session."""
    storage: str
    """The folder of the leader's session, with the mailboxes and questions."""
    session_id: str
    """The member's own."""
    resumes: bool = False
    """Its conversation is on disk and is resumed."""
    definition: AgentDefinition
    prompt: str
    """What to do first; empty where mail says that."""
    cwd: str
    """The project."""
    at: str
    """Where in it to begin."""
    origins: tuple[str, ...] = ()
    """Where the leader's session began before it moved to a work tree."""
    mode: Mode
    rules: tuple[Rule, ...] = ()
    options: msgspec.Raw = msgspec.Raw(b"{}")
    """The options of the member's session, as the leader's session hands them down."""
    env: Mapping[str, str] = {}
    output_file: str
    trusted: bool = False


class MemberState(Struct, frozen=True, kw_only=True):
    """The state of a member."""

    status: Literal["working", "idle"] = "working"
    round: int = 0
    """How many turns have ended."""
    model: str = ""
    tool_uses: int = 0
    last_tool: str | None = None
    tokens: int = 0
    spend: Mapping[str, ModelSpend] = {}
    """What it has cost since its process began."""
    text: str = ""
    """What its last turn ended with."""
    error: str | None = None
    usage: Mapping[str, Any] = {}
    """That of its last model call."""


class Hello(Struct, frozen=True, tag="hello"):
    agent_id: str
    pid: int
    state: MemberState | None = None
    """None from a process that does not know yet who it is."""


class StateChanged(Struct, frozen=True, tag="stood"):
    state: MemberState


class MemberEvent(Struct, frozen=True, tag="happened"):
    """One of the events of a member that people and programs see at its leader's."""

    kind: Literal["tool_started", "tool_finished", "assistant_said"]
    fields: dict[str, Any]


class FilesChanged(Struct, frozen=True, tag="rang"):
    """Something new is on disk: a letter, a question or an answer."""


class SendRequest(Struct, frozen=True, tag="sending"):
    id: int
    to: str
    text: str
    summary: str
    notify: bool


class ListRequest(Struct, frozen=True, tag="listing"):
    id: int


class PermissionsGranted(Struct, frozen=True, tag="agreed"):
    """The user at the pane has allowed more than one call."""

    updates: tuple[Mapping[str, Any], ...]


class Leaving(Struct, frozen=True, tag="left"):
    """The process ends in good order."""


class Welcome(Struct, frozen=True, tag="welcome"):
    launch: MemberLaunch | None = None
    """For a process that asked who it is."""


class RequestReply(Struct, frozen=True, tag="replied"):
    id: int
    deliveries: tuple[Delivery, ...] = ()
    contacts: tuple[Contact, ...] = ()
    error: str | None = None


class RulesChanged(Struct, frozen=True, tag="granted"):
    """A change of rules that was agreed to elsewhere in the team."""

    update: Mapping[str, Any]


class Continue(Struct, frozen=True, tag="go_on"):
    """A hook wants the member to continue."""

    why: str


class Stop(Struct, frozen=True, tag="stop"):
    """Close the session and end the process."""


ToLeader = (
    Hello
    | StateChanged
    | MemberEvent
    | FilesChanged
    | SendRequest
    | ListRequest
    | PermissionsGranted
    | Leaving
)
ToMember = Welcome | FilesChanged | RequestReply | RulesChanged | Continue | Stop

_to_leader = msgspec.json.Decoder(ToLeader)
_to_member = msgspec.json.Decoder(ToMember)


class TeamConnection:
    """One end of a connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._lines = JsonLines(reader, writer)
        self._socket = writer.get_extra_info("socket")

    def say(self, message: ToLeader | ToMember) -> bool:
        """Send a message. Returns whether the connection is still open."""
        return self._lines.write(message)

    async def from_member(self) -> ToLeader | None:
        """The next message of a member; None at the end or for an invalid line."""
        return await self._next(_to_leader)

    async def from_leader(self) -> ToMember | None:
        """The next message of the leader; None at the end or for an invalid line."""
        return await self._next(_to_member)

    async def _next(self, decoder: "msgspec.json.Decoder[_T]") -> _T | None:
        try:
            return await self._lines.read(decoder.decode)
        except (OSError, BadLine):
            return None

    def peer(self) -> int | None:
        """The process on the other end, where the system tells."""
        found = peer_of(self._socket)
        return None if found is None else found[0]

    async def close(self) -> None:
        await self._lines.close()


async def dial(path: str) -> TeamConnection:
    """Connect to a leader.

    Raises:
        OSError: there is no listener.
    """
    return TeamConnection(*await asyncio.open_unix_connection(path, limit=_LONGEST_LINE))


async def take_up(connection: socket.socket) -> TeamConnection:
    """Use a connection that was made before the event loop was started."""
    return TeamConnection(*await asyncio.open_unix_connection(sock=connection, limit=_LONGEST_LINE))


def listen(path: str, answer: Callable[[TeamConnection], Awaitable[None]]) -> SocketServer:
    """Let members of this user connect.

    Raises:
        OSError: the socket cannot be made.
    """

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        found = peer_of(writer.get_extra_info("socket"))
        if found is not None and found[1] != os.getuid():
            writer.close()
            return
        await answer(TeamConnection(reader, writer))

    return serve_unix(serve, path, limit=_LONGEST_LINE)


def socket_of(env: Mapping[str, str], session_id: str) -> str:
    """Where the leader of a session listens, in this process and in a later one."""
    return socket_called(env, f"team-{session_id[:23]}.sock")
