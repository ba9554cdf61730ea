import asyncio
import json
from typing import Any

from websockets.asyncio.server import ServerConnection, serve
from websockets.http11 import Request, Response

from bridle.types.services.mcp import IdeWebSocketServer, WebSocketServer
from tests.fakes.mcp_http import INITIALIZED, TOOLS
from tests.fakes.mcp_session import connected
from tests.fakes.processes import eventually
from tests.fakes.proxy import FakeProxy


async def _talk(socket: ServerConnection) -> None:
    await socket.send("this is not JSON")
    async for data in socket:
        message = json.loads(data)
        answers: dict[str, Any] = {
            "initialize": INITIALIZED,
            "tools/list": TOOLS,
            "tools/call": {"content": [{"type": "text", "text": _own(socket)}]},
        }
        if message["method"] in answers:
            await socket.send(json.dumps({"id": message["id"], "result": answers[message["method"]]}))
        if message["method"] == "tools/call" and message["params"]["arguments"].get("end"):
            await socket.close()


async def test_server_is_spoken_to_over_a_websocket():
    async with asyncio.timeout(50), serve(_talk, "127.0.0.1", 0) as server:
        url = f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        async with connected(WebSocketServer(url=url, headers={"X-Own": "mine"})) as servers:
            assert servers.status()[0].status == "connected"
            assert (await servers.call("s", "echo", {}))["content"][0]["text"] == "mine"
            assert (await servers.call("s", "echo", {"end": True}))["content"][0]["text"] == "mine"
            await eventually(lambda: servers.status()[0].status != "connected" or servers.status()[0].attempt)
            assert (await servers.call("s", "echo", {}))["content"][0]["text"] == "mine"


async def test_proxy_of_the_session_is_used():
    async with asyncio.timeout(50), serve(_talk, "127.0.0.1", 0) as server:
        async with FakeProxy(server.sockets[0].getsockname()[1]) as proxy:
            env = {
                "HTTP_PROXY": f"http://me:secret@127.0.0.1:{proxy.port}",
                "http_proxy": "",
                "NO_PROXY": "x",
            }
            async with connected(WebSocketServer(url="ws://far.invalid"), env=env) as servers:
                assert servers.status()[0].status == "connected"
        assert proxy.heads[0].startswith("CONNECT far.invalid:80 ")
        assert "Basic bWU6c2VjcmV0" in proxy.heads[0]


async def test_editor_gets_its_token():
    seen: list[str | None] = []

    def look(connection: ServerConnection, request: Request) -> Response | None:
        seen.append(request.headers.get("X-Claude-Code-Ide-Authorization"))
        return None

    async with asyncio.timeout(50), serve(_talk, "127.0.0.1", 0, process_request=look) as server:
        url = f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        async with connected(IdeWebSocketServer(url=url, auth_token="secret")) as servers:
            assert servers.status()[0].status == "connected"
    assert seen == ["secret"]


async def test_refused_and_dead_sockets_have_a_state():
    def refuse(connection: ServerConnection, request: Request) -> Response:
        return connection.respond(401, "no")

    async with asyncio.timeout(50), serve(_talk, "127.0.0.1", 0, process_request=refuse) as server:
        url = f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        async with connected(WebSocketServer(url=url), WebSocketServer(url="ws://127.0.0.1:9")) as servers:
            assert [state.status for state in servers.status()] == ["needs-auth", "failed"]


def _own(socket: ServerConnection) -> str:
    return socket.request.headers.get("X-Own", "") if socket.request is not None else ""
