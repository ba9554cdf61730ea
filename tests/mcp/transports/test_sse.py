import asyncio

import pytest

from bridle.host.http.event_stream import EventDecoder
from bridle.mcp.errors import ConnectionLost
from bridle.mcp.transports.http_access import decoded
from bridle.types.question import Supplied
from bridle.types.services.mcp import IdeSseServer, SseServer
from tests.fakes.mcp_http import FakeEndpoint, Reply, official
from tests.fakes.mcp_session import FakePerson, connected


async def test_official_server_is_spoken_to_over_its_older_transport():
    person = FakePerson(Supplied(action="decline"))
    async with asyncio.timeout(60), official("sse") as port:
        url = f"http://127.0.0.1:{port}/sse"
        async with connected(SseServer(url=url), IdeSseServer(url=url), person=person) as servers:
            assert [state.status for state in servers.status()] == ["connected", "connected"]
            assert servers.status()[0].protocol == "2025-11-25"
            assert (await servers.call("s", "echo", {"text": "hi"}))["content"][0]["text"] == "hi"
            assert (await servers.call("s", "ask", {}))["content"][0]["text"] == "decline None"


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (Reply(b"event: endpoint\ndata: http://127.0.0.2:1/x\n\n", stays=True), "another host"),
        (Reply(b"event: endpoint\ndata: file:///etc/passwd\n\n", stays=True), "another host"),
        (Reply(b"data: 1\n\n"), "closed its stream"),
        (Reply(status=404), "status 404"),
    ],
)
async def test_stream_that_cannot_be_used_is_failed(reply: Reply, why: str):
    async with (
        FakeEndpoint(lambda _: reply) as endpoint,
        asyncio.timeout(50),
        connected(SseServer(url=endpoint.url)) as servers,
    ):
        assert servers.status()[0].status == "failed" and why in (servers.status()[0].error or "")


async def test_login_is_asked_for():
    async with (
        FakeEndpoint(lambda _: Reply(status=401)) as endpoint,
        asyncio.timeout(50),
        connected(SseServer(url=endpoint.url)) as servers,
    ):
        assert servers.status()[0].status == "needs-auth"


def test_event_larger_than_any_message_ends_the_connection():
    events = EventDecoder(1 << 20)
    with pytest.raises(ConnectionLost):
        for _ in range(3):
            decoded(events, b"x" * (1 << 20))
