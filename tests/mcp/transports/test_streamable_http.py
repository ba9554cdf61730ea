import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from bridle.mcp.timeouts import Timeouts
from bridle.mcp.transports.http_access import HttpAccess, RemoteServer
from bridle.mcp.transports.streamable_http import StreamableTransport
from bridle.types.errors import McpError
from bridle.types.question import Supplied
from bridle.types.services.mcp import HttpServer
from tests.fakes.mcp_http import (
    INITIALIZED,
    Asked,
    FakeEndpoint,
    Reply,
    error,
    events,
    official,
    result,
    usual,
)
from tests.fakes.mcp_session import QUICK, FakePerson, connected
from tests.fakes.processes import eventually

LEGACY = Timeouts(probes=False, connect=20.0, first_turn=20.0, first_delay=0.01, refresh_pause=0.01)
MODERN = {
    "resultType": "complete",
    "supportedVersions": ["2026-07-28"],
    "capabilities": {"tools": {}},
    "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "new", "version": "2"}},
}


@pytest.mark.parametrize("how", [(), ("json",), ("stateless",)])
async def test_official_server_is_spoken_to_without_handshake(how: tuple[str, ...]):
    async with (
        asyncio.timeout(60),
        official("http", *how) as port,
        connected(HttpServer(url=f"http://127.0.0.1:{port}/mcp")) as servers,
    ):
        (state,) = servers.status()
        assert (state.status, state.protocol) == ("connected", "2026-07-28")
        assert (await servers.call("s", "echo", {"text": "hi"}))["content"][0]["text"] == "hi"
        await servers.call("s", "grow", {})
        await eventually(lambda: "mcp__s__grown" in [tool.name for tool in servers.tools()])


async def test_official_server_with_a_handshake_may_ask_back():
    person = FakePerson(Supplied(action="accept", content={"name": "Bob"}))
    async with asyncio.timeout(60), official("http") as port:
        url = f"http://127.0.0.1:{port}/mcp"
        async with connected(HttpServer(url=url), timing=LEGACY, person=person) as servers:
            assert servers.status()[0].protocol == "2025-11-25"
            answer = await servers.call("s", "ask", {})
            assert answer["content"][0]["text"] == "accept Person(name='Bob', age=7)"
            answer = await servers.call("s", "whereabouts", {})
            assert answer["content"][0]["text"] == "file:///proj%20folder"
            await servers.call("s", "grow", {})
            await eventually(lambda: "mcp__s__grown" in [tool.name for tool in servers.tools()])


async def test_session_id_and_revision_go_with_every_request_and_the_session_is_ended():
    async with FakeEndpoint(usual) as endpoint, asyncio.timeout(50):
        async with connected(HttpServer(url=endpoint.url)) as servers:
            await servers.call("s", "echo", {})
        first, *later = [each for each in endpoint.asked if each.rpc != "server/discover"]
        assert first.rpc == "initialize" and "mcp-session-id" not in first.headers
        assert {each.headers["mcp-session-id"] for each in later} == {"session-1"}
        assert {each.headers["mcp-protocol-version"] for each in later} == {"2025-11-25"}
        assert endpoint.asked[-1].method == "DELETE"
        assert {"GET", "notifications/initialized", "tools/call"} <= set(endpoint.methods())


async def test_requests_without_handshake_say_everything_about_themselves():
    def answer(asked: Asked) -> Reply | None:
        return result(asked, MODERN) if asked.rpc == "server/discover" else usual(asked)

    async with FakeEndpoint(answer) as endpoint, asyncio.timeout(50):
        async with connected(HttpServer(url=endpoint.url)) as servers:
            await servers.call("s", "echo", {"text": "ü"})
        call = next(each for each in endpoint.asked if each.rpc == "tools/call")
        assert call.headers["mcp-method"] == "tools/call" and call.headers["mcp-name"] == "echo"
        assert call.headers["mcp-protocol-version"] == "2026-07-28"
        meta = call.message["params"]["_meta"]
        assert meta["io.modelcontextprotocol/protocolVersion"] == "2026-07-28"
        assert meta["io.modelcontextprotocol/clientInfo"]["name"] == "bridle"
        assert "elicitation" in meta["io.modelcontextprotocol/clientCapabilities"]
        assert "initialize" not in endpoint.methods() and "DELETE" not in endpoint.methods()


async def test_forgotten_session_is_opened_anew_and_the_call_repeated_once():
    sessions = iter(("session-1", "session-2"))
    calls: list[str] = []

    def answer(asked: Asked) -> Reply | None:
        if asked.rpc == "initialize":
            return result(asked, INITIALIZED, **{"Mcp-Session-Id": next(sessions)})
        if asked.rpc == "tools/call":
            calls.append(asked.headers["mcp-session-id"])
            if calls[-1] == "session-1":
                return Reply(b"gone", status=404)
        return usual(asked)

    async with (
        FakeEndpoint(answer) as endpoint,
        asyncio.timeout(50),
        connected(HttpServer(url=endpoint.url)) as servers,
    ):
        called = await servers.call("s", "echo", {})
        assert called["content"][0]["text"] == "called"
        assert servers.status()[0].status == "connected"
    assert calls == ["session-1", "session-2"]


async def test_session_that_is_forgotten_again_at_once_is_an_error():
    def answer(asked: Asked) -> Reply | None:
        return Reply(b"gone", status=404) if asked.rpc == "tools/call" else usual(asked)

    async with (
        FakeEndpoint(answer) as endpoint,
        asyncio.timeout(50),
        connected(HttpServer(url=endpoint.url)) as servers,
    ):
        with pytest.raises(McpError, match="lost the session"):
            await servers.call("s", "echo", {})
    assert endpoint.methods().count("tools/call") == 2


async def test_broken_stream_is_taken_up_where_it_ended():
    def answer(asked: Asked) -> Reply | None:
        if asked.rpc == "tools/call":
            pinned.append(asked.message["id"])
            return events({"jsonrpc": "2.0", "method": "notifications/x"}, tail=b"retry: 10\n\n")
        if asked.method == "GET" and "last-event-id" in asked.headers:
            value = {"content": [{"type": "text", "text": "late"}]}
            return events({"jsonrpc": "2.0", "id": pinned[0], "result": value})
        return usual(asked)

    pinned: list[int] = []
    async with FakeEndpoint(answer) as endpoint, asyncio.timeout(50):
        async with connected(HttpServer(url=endpoint.url)) as servers:
            assert (await servers.call("s", "echo", {}))["content"][0]["text"] == "late"
        assert [each.headers.get("last-event-id") for each in endpoint.asked if each.method == "GET"][
            -1
        ] == "1"


async def test_resumed_stream_does_not_continue_the_event_that_was_cut_off():
    def answer(asked: Asked) -> Reply | None:
        if asked.rpc == "tools/call":
            pinned.append(asked.message["id"])
            head = "id: märz\nretry: 10\ndata: {}\n\n"
            return Reply(f'{head}data: {{"cut'.encode(), headers={"Content-Type": "text/event-stream"})
        if asked.method == "GET" and "last-event-id" in asked.headers:
            value = {"content": [{"type": "text", "text": "late"}]}
            return events({"jsonrpc": "2.0", "id": pinned[0], "result": value})
        return usual(asked)

    pinned: list[int] = []
    async with FakeEndpoint(answer) as endpoint, asyncio.timeout(50):
        async with connected(HttpServer(url=endpoint.url)) as servers:
            assert (await servers.call("s", "echo", {}))["content"][0]["text"] == "late"
        sent = [each.headers.get("last-event-id") for each in endpoint.asked if each.method == "GET"]
    assert sent[-1] == "märz".encode().decode("latin-1")


async def test_stream_that_ends_without_an_answer_is_an_error_and_the_server_is_tried_again():
    def answer(asked: Asked) -> Reply | None:
        if asked.rpc == "tools/call" and endpoint.methods().count("tools/call") == 1:
            return Reply(b": nothing\n\n", headers={"Content-Type": "text/event-stream"})
        return usual(asked)

    async with (
        FakeEndpoint(answer) as endpoint,
        asyncio.timeout(50),
        connected(HttpServer(url=endpoint.url)) as servers,
    ):
        with pytest.raises(McpError, match="disconnected"):
            await servers.call("s", "echo", {})
        assert (await servers.call("s", "echo", {}))["content"][0]["text"] == "called"


async def test_interrupted_call_closes_its_stream_where_there_was_no_handshake():
    def answer(asked: Asked) -> Reply | None:
        if asked.rpc == "server/discover":
            return result(asked, MODERN)
        if asked.rpc == "tools/call":
            return Reply(b": wait\n\n", headers={"Content-Type": "text/event-stream"}, stays=True)
        return usual(asked)

    async with FakeEndpoint(answer) as endpoint, asyncio.timeout(50):
        async with connected(HttpServer(url=endpoint.url)) as servers:
            calling = asyncio.create_task(servers.call("s", "echo", {}))
            await eventually(lambda: "tools/call" in endpoint.methods())
            await _interrupt(calling)
            await endpoint.left.wait()
        assert "notifications/cancelled" not in endpoint.methods()


async def _interrupt(calling: "asyncio.Task[Any]") -> None:
    calling.cancel()
    with pytest.raises(asyncio.CancelledError):
        await calling


async def test_interrupted_call_is_told_where_there_was_a_handshake():
    def answer(asked: Asked) -> Reply | None:
        if asked.rpc == "tools/call":
            return Reply(b": wait\n\n", headers={"Content-Type": "text/event-stream"}, stays=True)
        return usual(asked)

    async with (
        FakeEndpoint(answer) as endpoint,
        asyncio.timeout(50),
        connected(HttpServer(url=endpoint.url)) as servers,
    ):
        calling = asyncio.create_task(servers.call("s", "echo", {}))
        await eventually(lambda: "tools/call" in endpoint.methods())
        await _interrupt(calling)
        await eventually(lambda: "notifications/cancelled" in endpoint.methods())


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (Reply(b"<html>", headers={"Content-Type": "text/html"}), "Check its URL"),
        (Reply(b"{}", status=500), "status 500"),
        (Reply(b"", status=301, headers={"Location": "https://elsewhere.example/"}), "Change its URL"),
        (Reply(b"", status=307, headers={"Location": "http://127.0.0.2:1/mcp"}), "change its URL"),
        (Reply(b"", status=307, headers={"Location": "/mcp"}), "in a loop"),
    ],
)
async def test_address_that_is_no_mcp_server_is_named(reply: Reply, why: str):
    async with (
        FakeEndpoint(lambda _: reply) as endpoint,
        asyncio.timeout(50),
        connected(HttpServer(url=endpoint.url)) as servers,
    ):
        (state,) = servers.status()
        assert state.status == "failed" and state.error is not None and why in state.error


async def test_redirect_on_the_same_host_is_followed():
    def answer(asked: Asked) -> Reply | None:
        if asked.target == "/mcp":
            return Reply(status=307, headers={"Location": "/mcp/"})
        return usual(asked)

    async with (
        FakeEndpoint(answer) as endpoint,
        asyncio.timeout(50),
        connected(HttpServer(url=endpoint.url)) as servers,
    ):
        assert servers.status()[0].status == "connected"


async def test_dead_address_is_failed():
    async with asyncio.timeout(50), connected(HttpServer(url="http://127.0.0.1:9/mcp")) as servers:
        (state,) = servers.status()
        assert state.status == "failed" and "Cannot reach" in (state.error or "")


async def test_server_that_wants_a_login_needs_auth():
    reply = Reply(status=401, headers={"WWW-Authenticate": 'Bearer resource_metadata="x"'})
    async with (
        FakeEndpoint(lambda _: reply) as endpoint,
        asyncio.timeout(50),
        connected(HttpServer(url=endpoint.url)) as servers,
    ):
        assert servers.status()[0].status == "needs-auth"


class FakeAuthorizer:
    """Has no login until it was challenged."""

    def __init__(self) -> None:
        self.challenges: list[tuple[int, str]] = []

    async def headers(self, method: str, url: str) -> Mapping[str, str]:
        del method, url
        return {"Authorization": "Bearer fresh"} if self.challenges else {}

    def note_nonce(self, url: str, nonce: str) -> None:
        raise AssertionError(f"{url} has no nonces: {nonce}")

    async def challenged(self, status: int, challenge: str) -> bool:
        self.challenges.append((status, challenge))
        return len(self.challenges) == 1


async def test_authorizer_is_told_of_the_challenge_and_the_request_repeated_once():
    def answer(asked: Asked) -> Reply | None:
        if asked.headers.get("authorization") != "Bearer fresh":
            return Reply(status=401, headers={"WWW-Authenticate": "Bearer x"})
        return usual(asked)

    authorizer = FakeAuthorizer()
    async with (
        FakeEndpoint(answer) as endpoint,
        asyncio.timeout(50),
        connected(HttpServer(url=endpoint.url), authorizer=authorizer) as servers,
    ):
        assert servers.status()[0].status == "connected"
    assert authorizer.challenges == [(401, "Bearer x")]


async def test_login_that_ends_while_the_session_runs_is_noticed():
    def answer(asked: Asked) -> Reply | None:
        return Reply(status=401) if asked.rpc == "tools/call" else usual(asked)

    async with (
        FakeEndpoint(answer) as endpoint,
        asyncio.timeout(50),
        connected(HttpServer(url=endpoint.url)) as servers,
    ):
        with pytest.raises(McpError, match="needs a login"):
            await servers.call("s", "echo", {})
        await eventually(lambda: servers.status()[0].status == "needs-auth")


async def test_headers_of_the_configuration_and_of_the_helper_go_with_requests():
    config_headers = {"X-Own": "1", "X-Both": "own"}
    helper = """echo '{"X-Both": "helper", "X-Name": "'$CLAUDE_CODE_MCP_SERVER_NAME'"}'"""
    async with FakeEndpoint(usual) as endpoint, asyncio.timeout(50):
        config = HttpServer(url=endpoint.url, headers=config_headers, headers_helper=helper)
        async with connected(config):
            pass
        sent = endpoint.asked[-1].headers
        assert (sent["x-own"], sent["x-both"], sent["x-name"]) == ("1", "helper", "s")
        assert sent["user-agent"].startswith("bridle/")


async def test_helper_that_fails_is_named():
    async with FakeEndpoint(usual) as endpoint, asyncio.timeout(50):
        config = HttpServer(url=endpoint.url, headers_helper="echo no >&2; exit 3")
        async with connected(config) as servers:
            assert servers.status()[0].error == "The headersHelper of s exited with code 3: no."


async def test_server_without_a_common_revision_is_refused_in_a_sentence():
    def answer(asked: Asked) -> Reply | None:
        return error(asked, -32022, status=400, data={"supported": ["2031-01-01"], "requested": "x"})

    async with (
        FakeEndpoint(answer) as endpoint,
        asyncio.timeout(50),
        connected(HttpServer(url=endpoint.url)) as servers,
    ):
        assert "2031-01-01" in (servers.status()[0].error or "")
        assert "initialize" not in endpoint.methods()


async def test_question_in_a_result_is_answered_and_the_call_repeated():
    schema = {"type": "object", "properties": {"name": {"type": "string"}, "age": {"default": 7}}}

    def answer(asked: Asked) -> Reply | None:
        if asked.rpc == "server/discover":
            return result(asked, MODERN)
        if asked.rpc == "tools/call" and "inputResponses" not in asked.message["params"]:
            params = {"message": "Who?", "requestedSchema": schema}
            asks = {"who": {"method": "elicitation/create", "params": params}}
            return result(
                asked, {"resultType": "input_required", "inputRequests": asks, "requestState": "opaque"}
            )
        return usual(asked)

    person = FakePerson(Supplied(action="accept", content={"name": "Bob"}))
    async with FakeEndpoint(answer) as endpoint, asyncio.timeout(50):
        async with connected(HttpServer(url=endpoint.url), person=person) as servers:
            assert (await servers.call("s", "echo", {"a": 1}))["content"][0]["text"] == "called"
        first, second = [each.message for each in endpoint.asked if each.rpc == "tools/call"]
        assert first["id"] != second["id"] and second["params"]["arguments"] == {"a": 1}
        assert second["params"]["requestState"] == "opaque"
        assert second["params"]["inputResponses"] == {
            "who": {"action": "accept", "content": {"name": "Bob", "age": 7}}
        }


async def test_parameters_are_repeated_in_headers_where_a_tool_asks_for_it():
    schema = {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}
    bad = {"type": "object", "properties": {"n": {"type": "number", "x-mcp-header": "N"}}}
    tools = {"tools": [{"name": "sql", "inputSchema": schema}, {"name": "bad", "inputSchema": bad}]}

    def answer(asked: Asked) -> Reply | None:
        if asked.rpc == "server/discover":
            return result(asked, MODERN)
        return result(asked, tools) if asked.rpc == "tools/list" else usual(asked)

    async with FakeEndpoint(answer) as endpoint, asyncio.timeout(50):
        async with connected(HttpServer(url=endpoint.url)) as servers:
            assert [tool.name for tool in servers.tools()] == ["mcp__s__sql"]
            await servers.call("s", "sql", {"region": "weiß"})
        call = next(each for each in endpoint.asked if each.rpc == "tools/call")
        assert call.headers["mcp-param-region"] == "=?base64?d2Vpw58=?="


async def test_tools_are_listed_again_when_the_headers_of_a_call_do_not_fit():
    schema = {"type": "object", "properties": {"a": {"type": "string", "x-mcp-header": "A"}}}

    def answer(asked: Asked) -> Reply | None:
        if asked.rpc == "server/discover":
            return result(asked, MODERN)
        if asked.rpc == "tools/list" and "tools/call" in endpoint.methods():
            return result(asked, {"tools": [{"name": "echo", "inputSchema": schema}]})
        if asked.rpc == "tools/call" and "mcp-param-a" not in asked.headers:
            return error(asked, -32020, status=400)
        return usual(asked)

    async with (
        FakeEndpoint(answer) as endpoint,
        asyncio.timeout(50),
        connected(HttpServer(url=endpoint.url)) as servers,
    ):
        assert (await servers.call("s", "echo", {"a": "1"}))["content"][0]["text"] == "called"


async def test_answer_that_is_not_for_the_question_is_an_error():
    def answer(asked: Asked) -> Reply | None:
        if asked.rpc == "tools/call":
            return Reply({"jsonrpc": "2.0", "id": 4711, "result": {}})
        return usual(asked)

    async with (
        FakeEndpoint(answer) as endpoint,
        asyncio.timeout(50),
        connected(HttpServer(url=endpoint.url), timing=QUICK) as servers,
    ):
        with pytest.raises(McpError, match="instead of an answer"):
            await servers.call("s", "echo", {})


class _Listened:
    """Keeps the pauses between streams; nothing waits, and after `most` of them the listener stands still."""

    def __init__(self, most: int) -> None:
        self._most = most
        self.pauses: list[float] = []
        self.over = asyncio.Event()

    async def pause(self, seconds: float) -> None:
        self.pauses.append(seconds)
        if len(self.pauses) >= self._most:
            self.over.set()
            await asyncio.Event().wait()

    def take(self, message: Any) -> None:
        pass

    def lose(self, error: Exception) -> None:
        pass

    def note(self, text: str) -> None:
        pass


async def _listen(answer: Callable[[int], Reply], most: int) -> list[float]:
    """The pauses of a listener to whom a server answers its requests for a stream like this."""
    listened, asked = _Listened(most), list[Asked]()

    def reply(request: Asked) -> Reply | None:
        asked.append(request)
        return answer(len(asked))

    async with FakeEndpoint(reply) as endpoint, asyncio.timeout(50):
        access = HttpAccess(RemoteServer(name="s", url=endpoint.url, env={}))
        transport = StreamableTransport(access, pause=listened.pause)
        await transport.open(listened)
        transport.agree("2025-11-25")
        transport.begin()
        await listened.over.wait()
        assert [each.method for each in asked] == ["GET"] * most
        await transport.close()
    return listened.pauses


_NEWS = {"jsonrpc": "2.0", "method": "notifications/x"}


@pytest.mark.parametrize("tail", [b"", b": still here\n\n", b"retry: 0\n\n", b"id: 7\n\n"])
async def test_a_server_that_ends_its_stream_at_once_is_asked_less_and_less_often(tail: bytes):
    pauses = await _listen(lambda _: events(tail=tail), 8)
    assert pauses == [2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0, 60.0]


async def test_a_stream_that_brought_something_is_asked_for_again_soon_but_never_at_once():
    def answer(number: int) -> Reply:
        return events(*([_NEWS] if number in (3, 4) else []), tail=b"retry: 0\n\n")

    assert await _listen(answer, 6) == [2.0, 4.0, 1.0, 1.0, 2.0, 4.0]


async def test_a_server_may_ask_for_longer_pauses():
    pauses = await _listen(lambda _: events(_NEWS, tail=b"retry: 90000\n\n"), 2)
    assert pauses == [90.0, 90.0]


async def test_broken_streams_are_asked_for_again_with_pauses():
    broken = Reply(b"", headers={"Content-Type": "text/event-stream", "Content-Length": "10"})
    assert await _listen(lambda _: broken, 3) == [5.0, 5.0, 8.0]
