"""Sessions of one user write to each other through sockets."""

import asyncio
import os
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest

from bridle.features.teams.peers import PeerSocket, live_sessions, send_to_session, send_to_socket
from bridle.features.teams.received import MOST_A_MINUTE, MessageRate, announcement
from bridle.host.socket_server import serve_unix
from bridle.types.errors import ToolError
from bridle.types.event import Noticed
from bridle.types.services.messages import AgentMessage
from bridle.types.turn import Prompt

_LETTER = AgentMessage(id="l1", sender="main", text="hello", sent=0)


def _peer_socket(folder: Path, received: list[Prompt], inbound: str = "accept", **env: str) -> PeerSocket:
    variables = {"HOME": str(folder), "XDG_RUNTIME_DIR": str(folder), **env}
    return PeerSocket("s1", env=variables, cwd=str(folder), deliver=received.append, inbound=inbound)


async def test_a_message_reaches_the_other_session_and_the_socket_is_private(tmp_path: Path):
    received: list[Prompt] = []
    peer = _peer_socket(tmp_path, received)
    await peer.open()
    try:
        assert os.stat(peer.path).st_mode & 0o777 == 0o600
        assert os.stat(os.path.dirname(peer.path)).st_mode & 0o077 == 0
        (card,) = live_sessions({"HOME": str(tmp_path)})
        await send_to_socket(card.socket, _LETTER, pid=os.getpid())
    finally:
        await peer.close()

    (prompt,) = received
    assert "hello" in str(prompt.content) and prompt.query and prompt.meta
    assert 'from="another session"' in str(prompt.content)
    assert not os.path.exists(peer.path)
    assert live_sessions({"HOME": str(tmp_path)}) == []


@pytest.mark.parametrize(("inbound", "taken"), [("refuse", []), ("hold", [False]), ("accept", [True])])
async def test_the_setting_decides_about_messages(tmp_path: Path, inbound: str, taken: list[bool]):
    received: list[Prompt] = []
    peer = _peer_socket(tmp_path, received, inbound)
    await peer.open()
    try:
        if inbound == "refuse":
            with pytest.raises(ToolError, match="crossSessionInbound"):
                await send_to_socket(peer.path, _LETTER, pid=os.getpid())
        else:
            await send_to_socket(peer.path, _LETTER, pid=os.getpid())
    finally:
        await peer.close()
    assert [prompt.query for prompt in received] == taken


async def test_a_token_keeps_out_who_does_not_know_it(tmp_path: Path):
    received: list[Prompt] = []
    path = str(tmp_path / "d" / "own.sock")
    peer = _peer_socket(
        tmp_path, received, CLAUDE_CODE_MESSAGING_TOKEN="secret", CLAUDE_CODE_MESSAGING_SOCKET=path
    )
    await peer.open()
    try:
        with pytest.raises(ToolError, match="token"):
            await send_to_socket(path, _LETTER, pid=os.getpid())
        await send_to_socket(path, _LETTER, token="secret", pid=os.getpid())
    finally:
        await peer.close()
    assert len(received) == 1


async def test_an_invalid_message_is_refused_and_the_socket_stays_open(tmp_path: Path):
    received: list[Prompt] = []
    peer = _peer_socket(tmp_path, received)
    await peer.open()
    try:
        for line in (b"not json\n", b'{"letter": 1}\n', b"\n"):
            reader, writer = await asyncio.open_unix_connection(peer.path)
            writer.write(line)
            async with asyncio.timeout(50):
                reply = msgspec.json.decode(await reader.readline())
            writer.close()
            assert reply == {"error": "not a message"}
        await send_to_socket(peer.path, _LETTER, pid=os.getpid())
    finally:
        await peer.close()
    assert len(received) == 1


async def test_a_socket_that_a_dead_session_left_is_replaced(tmp_path: Path):
    first, second = _peer_socket(tmp_path, []), _peer_socket(tmp_path, [])
    await first.open()
    # A process that is killed closes its socket and leaves the name.
    os.rename(first.path, f"{first.path}.kept")
    await first.close()
    os.rename(f"{first.path}.kept", first.path)

    await second.open()
    try:
        await send_to_socket(second.path, _LETTER, pid=os.getpid())
    finally:
        await second.close()


async def test_a_file_that_is_no_socket_of_ours_is_not_written_to(tmp_path: Path):
    (tmp_path / "file").touch()
    with pytest.raises(ToolError, match="is not a socket of one of your sessions"):
        await send_to_socket(str(tmp_path / "file"), _LETTER, pid=os.getpid())


@asynccontextmanager
async def _foreign(path: str) -> AsyncGenerator[list[bytes]]:
    """A socket of the user that no session opened; what it receives."""
    received: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        received.append(await reader.readline())
        writer.write(b'{"ok":true}\n')
        writer.close()

    server = serve_unix(serve, path)
    try:
        yield received
    finally:
        await server.close()


@pytest.mark.parametrize(
    "spelled",
    [
        "{folder}/other.sock",
        "{folder}/link.sock",
        "{folder}/../{name}/other.sock",
        "{folder}//other.sock",
        "other.sock",
        "./other.sock",
        "\x00other",
        "@other",
        "",
        ".",
        "/",
        "{folder}",
        "{peer}/../other.sock",
        "{peer}/",
        "{peer}\x00",
        " {peer}",
    ],
)
async def test_only_the_very_socket_of_a_session_is_connected_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spelled: str
):
    """S1: a message reaches no docker, agent or database of the user."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "link.sock").symlink_to(tmp_path / "other.sock")
    env = {"HOME": str(tmp_path)}
    peer = PeerSocket("s1", env=env, cwd="/w", deliver=lambda _: None)
    async with asyncio.timeout(50), _foreign(str(tmp_path / "other.sock")) as received:
        await peer.open()
        path = spelled.format(folder=tmp_path, name=tmp_path.name, peer=peer.path)
        with pytest.raises(ToolError, match="is not one of your sessions"):
            await send_to_session(path, _LETTER, env=env)
        await send_to_session(peer.path, _LETTER, env=env)
        await peer.close()
    assert received == []


async def test_a_socket_that_another_process_has_taken_over_gets_nothing(tmp_path: Path):
    path = str(tmp_path / "other.sock")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(path)
        listening.listen()
        with pytest.raises(ToolError, match="another process"):
            await send_to_socket(path, _LETTER, pid=1)
        with listening.accept()[0] as connection:
            connection.setblocking(False)
            async with asyncio.timeout(50):
                assert await asyncio.get_running_loop().sock_recv(connection, 100) == b""


async def test_messages_are_shown_and_only_so_many_are_taken_a_minute(tmp_path: Path):
    received: list[Prompt] = []
    shown: list[Noticed] = []
    env = {"HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path)}
    peer = PeerSocket("s1", env=env, cwd="/w", deliver=received.append, emit=shown.append)
    await peer.open()
    try:
        for _ in range(MOST_A_MINUTE):
            await send_to_socket(peer.path, _LETTER, pid=os.getpid())
        with pytest.raises(ToolError, match="try again in a minute"):
            await send_to_socket(peer.path, _LETTER, pid=os.getpid())
    finally:
        await peer.close()
    assert len(received) == MOST_A_MINUTE
    assert [each.text for each in shown] == ["Message from another session:\nhello"] * MOST_A_MINUTE


def test_messages_are_taken_again_when_a_minute_has_passed():
    times = iter([*range(MOST_A_MINUTE), 29.0, 59.9, 60.0])
    rate = MessageRate(lambda: next(times))
    for _ in range(MOST_A_MINUTE):
        rate.count()
    assert [rate.is_exceeded() for _ in range(3)] == [True, True, False]


@pytest.mark.parametrize("text", ["a\x1b]0;x\x07b", "a\u202eb", "a\rb"])
def test_what_is_shown_of_a_message_cannot_steer_a_terminal(text: str):
    shown = announcement(AgentMessage(id="l1", sender=f"uds:{text}", text=text, sent=0)).text
    assert shown.replace("\n", "").isprintable()


@pytest.mark.parametrize("how", ["link", "open", "folder", "fifo"])
async def test_a_card_that_others_could_have_written_does_not_count(tmp_path: Path, how: str):
    env = {"HOME": str(tmp_path)}
    peer = PeerSocket("s1", env=env, cwd="/w", deliver=lambda _: None)
    async with asyncio.timeout(50):
        await peer.open()
        folder = tmp_path / ".claude" / "bridle" / "broker" / "sessions"
        (card,) = folder.iterdir()
        match how:
            case "link":
                card.rename(tmp_path / "card")
                card.symlink_to(tmp_path / "card")
            case "open":
                card.chmod(0o666)
            case "folder":
                folder.chmod(0o777)
            case _:
                card.unlink()
                os.mkfifo(card)
        assert live_sessions(env) == []
        await peer.close()
