import asyncio
import os
import resource
import socket
import ssl
import stat
from collections.abc import Awaitable
from pathlib import Path

import pytest

from bridle.host.socket_server import SocketServer, serve_tcp, serve_unix


async def _echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while line := await reader.readline():
        writer.write(line)
        await writer.drain()


async def _ask(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, line: bytes) -> bytes:
    writer.write(line)
    return await reader.readline()


async def _rest(reading: Awaitable[bytes]) -> bytes:
    """What still comes; nothing from a connection that was reset."""
    try:
        return await reading
    except ConnectionResetError:
        return b""


async def _leave(writer: asyncio.StreamWriter) -> None:
    writer.close()
    await writer.wait_closed()


async def test_each_connection_is_served_until_its_client_leaves():
    server = await serve_tcp(_echo, "127.0.0.1", 0)
    async with asyncio.timeout(20):
        first = await asyncio.open_connection("127.0.0.1", server.port)
        second = await asyncio.open_connection("127.0.0.1", server.port)
        assert [await _ask(*first, b"a\n"), await _ask(*second, b"b\n")] == [b"a\n", b"b\n"]
        await _leave(first[1])
        assert await _ask(*second, b"c\n") == b"c\n"
        await server.close()
        assert await second[0].read() == b""
        await _leave(second[1])


async def test_a_connection_that_was_just_accepted_is_closed_with_the_server():
    server = await serve_tcp(_echo, "127.0.0.1", 0)
    with socket.create_connection(("127.0.0.1", server.port)) as client:
        client.setblocking(False)
        await asyncio.sleep(0)  # The server has accepted it, and its task has not begun.
        await server.close()
        async with asyncio.timeout(20):
            assert await _rest(asyncio.get_running_loop().sock_recv(client, 1)) == b""


async def test_a_connection_in_its_tls_handshake_is_closed_with_the_server():
    server = await serve_tcp(_echo, "127.0.0.1", 0, tls=ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER))
    with socket.create_connection(("127.0.0.1", server.port)) as client:
        client.setblocking(False)
        loop = asyncio.get_running_loop()
        await loop.sock_sendall(client, b"\x16\x03\x01")
        await server.close()
        async with asyncio.timeout(20):
            assert await _rest(loop.sock_recv(client, 1)) == b""


async def test_a_server_that_stops_keeps_its_connections_and_takes_no_more():
    server = await serve_tcp(_echo, "127.0.0.1", 0)
    port = server.port
    async with asyncio.timeout(20):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        assert await _ask(reader, writer, b"a\n") == b"a\n"
        server.stop()
        server.stop()
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("127.0.0.1", port)
        assert await _ask(reader, writer, b"b\n") == b"b\n"
        await server.close()
        await _leave(writer)


async def test_a_connection_can_close_its_own_server():
    ended = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await server.close()
        ended.set()

    server: SocketServer = await serve_tcp(serve, "127.0.0.1", 0)
    async with asyncio.timeout(20):
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        await ended.wait()
        assert await reader.read() == b""
        await _leave(writer)


async def test_a_unix_socket_is_for_its_user_alone_and_replaces_one_that_was_left(tmp_path: Path):
    path = str(tmp_path / "s.sock")
    with socket.socket(socket.AF_UNIX) as stale:
        stale.bind(path)
    server = serve_unix(_echo, path)
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    async with asyncio.timeout(20):
        reader, writer = await asyncio.open_unix_connection(path)
        assert await _ask(reader, writer, b"a\n") == b"a\n"
        await server.close()
        await _leave(writer)


async def test_a_file_that_is_no_socket_is_not_replaced(tmp_path: Path):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(OSError):
        serve_unix(_echo, str(tmp_path / "file"))
    assert (tmp_path / "file").read_text() == "mine"


async def test_an_address_that_is_taken_is_an_error_and_leaves_nothing_open():
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(OSError):
        await serve_tcp(_echo, "127.0.0.1", taken.getsockname()[1])


async def test_a_handler_that_fails_ends_its_connection_and_no_other():
    reported: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, words: reported.append(words["exception"]))

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if await reader.readline() == b"bad\n":
            raise ValueError("bad")
        writer.write(b"good\n")

    server = await serve_tcp(serve, "127.0.0.1", 0)
    async with asyncio.timeout(20):
        bad, good = [await asyncio.open_connection("127.0.0.1", server.port) for _ in range(2)]
        bad[1].write(b"bad\n")
        assert await _rest(bad[0].read()) == b""
        good[1].write(b"fine\n")
        assert await good[0].read() == b"good\n"
        for _, writer in (bad, good):
            writer.transport.abort()
        await server.close()
    assert [str(each) for each in reported] == ["bad"]


async def test_without_descriptors_connections_wait_instead_of_ending_the_server():
    reported: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, words: reported.append(words))
    server = await serve_tcp(_echo, "127.0.0.1", 0)
    client = socket.socket()
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    lowest = os.dup(0)
    os.close(lowest)
    client.setblocking(False)
    loop = asyncio.get_running_loop()
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (lowest, limits[1]))
        await loop.sock_connect(client, ("127.0.0.1", server.port))
        for _ in range(5):
            await asyncio.sleep(0)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    async with asyncio.timeout(20):
        await loop.sock_sendall(client, b"a\n")
        assert await loop.sock_recv(client, 10) == b"a\n"
    client.close()
    await server.close()
    assert reported == []
