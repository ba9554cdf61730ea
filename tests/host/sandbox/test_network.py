import asyncio
from base64 import b64encode
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from bridle.host.sandbox.policy import Network, Policy
from bridle.types.question import NetworkQuestion, Permitted
from tests.fakes.confined import FakePlace
from tests.fakes.http_server import listening
from tests.fakes.processes import eventually
from tests.fakes.proxy import FakeProxy

_FETCH = """
import os, sys, urllib.request
try:
    print(urllib.request.urlopen(sys.argv[1], timeout=50).read().decode(), end="")
except OSError as error:
    print(getattr(error, "code", type(error).__name__), end="")
"""
_TUNNEL = """
import socket, sys
kind, host, port = sys.argv[1], sys.argv[2], int(sys.argv[3])
s = socket.create_connection(("127.0.0.1", 3128 if kind == "connect" else 1080), 5)
if kind == "connect":
    s.sendall(f"CONNECT {host}:{port} HTTP/1.1\\r\\n\\r\\n".encode())
    answer = b""
    while b"\\r\\n\\r\\n" not in answer:
        answer += s.recv(1)
    print(answer.split()[1].decode(), end=" ")
else:
    s.sendall(b"\\x05\\x01\\x00"); s.recv(2)
    s.sendall(b"\\x05\\x01\\x00\\x03" + bytes([len(host)]) + host.encode() + port.to_bytes(2, "big"))
    answer = str(s.recv(10)[1]).encode()
    print(answer.decode(), end=" ")
if not answer.startswith((b"0", b"HTTP/1.1 200")):
    sys.exit()
s.sendall(b"GET / HTTP/1.0\\r\\n\\r\\n")
print((s.makefile("rb").read() or b"nothing").splitlines()[-1].decode(), end="")
"""


@asynccontextmanager
async def _server() -> AsyncGenerator[int]:
    """A web server on this machine that says hello."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello")
        await writer.drain()
        writer.close()

    async with listening(serve) as port:
        yield port


async def _fetch(place: FakePlace, url: str) -> str:
    return (await place.run(place.person.python, "-I", "-c", _FETCH, url)).output


async def _tunnel(place: FakePlace, kind: str, host: str, port: int) -> str:
    return (await place.run(place.person.python, "-I", "-c", _TUNNEL, kind, host, str(port))).output


async def test_allowed_name_is_reached_in_every_way(place: FakePlace):
    async with _server() as port:
        place.open(Policy(network=Network(mode="proxy", allowed=(f"localhost:{port}",))))
        assert await _fetch(place, f"http://localhost:{port}/") == "hello"
        assert await _tunnel(place, "connect", "localhost", port) == "200 hello"
        assert await _tunnel(place, "socks", "localhost", port) == "0 hello"
    assert place.questions == []


async def test_denied_name_and_other_ports_are_refused(place: FakePlace):
    async with _server() as port:
        allowed, denied = (f"localhost:{port}",), ("*.localhost", "127.0.0.2")
        place.open(Policy(network=Network(mode="proxy", allowed=allowed, denied=denied, strict=True)))
        assert await _fetch(place, f"http://a.localhost:{port}/") == "403"
        assert await _fetch(place, f"http://127.0.0.1:{port}/") != "hello"
        assert (await _tunnel(place, "connect", "localhost", port + 1)).startswith("403")
        assert (await _tunnel(place, "socks", "127.0.0.1", port)).startswith("2")
        assert (await _tunnel(place, "connect", "169.254.169.254", 80)).startswith("403")
    assert place.questions == []


async def test_unknown_name_is_asked_about_once(place: FakePlace):
    place.open(Policy(network=Network(mode="proxy")))
    for _ in range(2):
        assert (await _tunnel(place, "connect", "unknown.invalid", 443)).startswith("403")
    assert place.questions == [NetworkQuestion(host="unknown.invalid", port=443)]
    assert place.sandbox is not None
    assert "unknown.invalid:443" in place.sandbox.annotate("", failed=True)


async def test_permission_does_not_open_this_machine(place: FakePlace):
    place.answer = Permitted()
    async with _server() as port:
        place.open(Policy(network=Network(mode="proxy")))
        assert await _tunnel(place, "connect", "localhost", port) == "403 "
    assert len(place.questions) == 1


async def test_nothing_else_leads_out(place: FakePlace):
    async with _server() as port:
        place.open(Policy(network=Network(mode="proxy", allowed=("localhost",))))
        said = await place.run(
            place.person.python, "-I", "-c",
            "import socket\n"
            f"v4, v6 = (('127.0.0.1', {port}), ('192.0.2.1', 80)), (('2001:db8::1', 80),)\n"
            "for family, address in (*((2, a) for a in v4), *((10, a) for a in v6)):\n"
            "    try: socket.socket(family, 1).connect(address); print('reached', address)\n"
            "    except OSError: pass\n"
            "try: socket.socket(2, 2).sendto(b'x', ('192.0.2.1', 53)); print('sent')\n"
            "except OSError: pass\n"
            "try: print(socket.getaddrinfo('example.org', 80))\n"
            "except OSError: pass\n"
            "print('done')",
        )  # fmt: skip
    assert said.output == "done\n"


async def test_without_a_network_there_is_no_proxy(place: FakePlace):
    place.open(Policy(network=Network(mode="off")))
    said = await place.bash("env | grep -ci proxy; echo > /dev/tcp/127.0.0.1/3128")
    assert said.output.startswith("0\n")
    assert said.code != 0


async def test_commands_reach_their_own_servers(place: FakePlace):
    place.open(Policy(network=Network(mode="proxy")))
    said = await place.run(
        place.person.python, "-I", "-c",
        "import socket\n"
        "server = socket.create_server(('127.0.0.1', 0))\n"
        "client = socket.create_connection(server.getsockname())\n"
        "server.accept()[0].sendall(b'mine'); print(client.recv(4).decode())",
    )  # fmt: skip
    assert said.output == "mine\n"


async def test_proxy_of_the_user_takes_the_place_of_ours(place: FakePlace):
    async with _server() as port:
        place.open(Policy(network=Network(mode="proxy", strict=True, http_port=port)))
        assert await _fetch(place, "http://anything.invalid/") == "hello"


async def test_network_serves_what_was_left_running_and_ends_with_it(place: FakePlace):
    async with _server() as port:
        place.open(Policy(network=Network(mode="proxy", allowed=(f"localhost:{port}",))))
        script = f'({place.person.python} -I -c "$0" http://localhost:{port}/ > late) & sleep 0; exit 0'
        assert (await place.run("/bin/bash", "-c", script, _FETCH)).code == 0
        late = place.project / "late"
        await eventually(lambda: late.exists() and late.read_text() == "hello")


@pytest.mark.parametrize("user", ["", "me:p%40ss@"])
async def test_proxy_of_the_house_is_the_way_out(place: FakePlace, user: str):
    """Names that mean nothing here are left to it; so are plain requests and tunnels alike."""
    async with _server() as port, FakeProxy(port) as house:
        place.env = {"HTTPS_PROXY": f"http://{user}127.0.0.1:{house.port}", "NO_PROXY": "direct.invalid"}
        place.env["http_proxy"] = place.env["HTTPS_PROXY"]
        place.open(Policy(network=Network(mode="proxy", allowed=("*.invalid",))))
        assert await _fetch(place, "http://inner.invalid/") == "hello"
        assert await _tunnel(place, "connect", "inner.invalid", 443) == "200 hello"
        assert await _tunnel(place, "socks", "inner.invalid", 22) == "0 hello"
        assert await _fetch(place, "http://direct.invalid/") == "502"
        assert await _fetch(place, "http://other.example/") == "403"
    firsts = [head.split("\r\n")[0] for head in house.heads]
    assert firsts == [
        "GET http://inner.invalid/ HTTP/1.1",
        "CONNECT inner.invalid:443 HTTP/1.1",
        "CONNECT inner.invalid:22 HTTP/1.1",
    ]
    known = ["basic " + b64encode(b"me:p@ss").decode().lower() in head.lower() for head in house.heads]
    assert known == [bool(user)] * 3


async def test_proxy_of_the_house_does_not_lead_back_to_this_machine(place: FakePlace):
    async with _server() as port, FakeProxy(port) as house:
        place.env = {"HTTPS_PROXY": f"http://127.0.0.1:{house.port}"}
        place.answer = Permitted()
        place.open(Policy(network=Network(mode="proxy")))
        assert await _tunnel(place, "connect", "localhost", port) == "403 "
        assert await _tunnel(place, "connect", "169.254.169.254", 80) == "403 "
    assert house.heads == []


async def test_proxy_of_the_house_that_refuses_is_told_from_ours(place: FakePlace):
    async with _server() as port, FakeProxy(port, refusal="407 Proxy Authentication Required") as house:
        place.env = {"HTTPS_PROXY": f"http://127.0.0.1:{house.port}"}
        place.open(Policy(network=Network(mode="proxy", allowed=("a.invalid",))))
        assert await _tunnel(place, "connect", "a.invalid", 443) == "502 "


async def test_permission_holds_for_the_command_or_the_session_as_answered(place: FakePlace):
    asking = f"{_TUNNEL}\nimport os"
    async with _server() as port, FakeProxy(port) as house:
        place.env = {"HTTPS_PROXY": f"http://127.0.0.1:{house.port}"}
        place.open(Policy(network=Network(mode="proxy")))
        place.answer = Permitted()
        script = f'for i in 1 2; do {place.person.python} -I -c "$0" connect once.invalid 443; done'
        assert (await place.run("/bin/bash", "-c", script, asking)).output == "200 hello200 hello"
        assert len(place.questions) == 1
        assert await _tunnel(place, "connect", "once.invalid", 443) == "200 hello"
        assert len(place.questions) == 2
        place.answer = Permitted(updates=place.questions[-1].suggestions[:1])
        for _ in range(2):
            assert await _tunnel(place, "connect", "always.invalid", 443) == "200 hello"
        assert len(place.questions) == 3


def test_suggestions_are_rules_that_later_sessions_read():
    session, kept = NetworkQuestion(host="a.example", port=443).suggestions
    assert (session["destination"], kept["destination"]) == ("session", "localSettings")
    assert kept["rules"] == [{"toolName": "WebFetch", "ruleContent": "domain:a.example"}]
