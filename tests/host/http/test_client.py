import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

import pytest

from bridle.host.http.client import HttpClient, HttpFault, Limits, Request
from bridle.types.errors import ConfigError
from tests.fakes.http_server import listening
from tests.fakes.messages_server import MessagesServer, step
from tests.fakes.proxy import FakeProxy
from tests.fakes.virtual_time import virtual_time

BODY = b'{"model": "m"}'


def post(url: str, *headers: tuple[str, str]) -> Request:
    return Request("POST", f"{url}/v1/messages", headers, BODY)


@asynccontextmanager
async def client_for(
    env: dict[str, str] | None = None, resolve: Callable[[str, int], Awaitable[list[str]]] | None = None
) -> AsyncGenerator[HttpClient, None]:
    client = HttpClient(env or {}, resolve=resolve)
    try:
        async with asyncio.timeout(50):
            yield client
    finally:
        await client.close()


@asynccontextmanager
async def raw_server(answer: bytes, *, close: bool = True) -> AsyncGenerator[str, None]:
    """Answers every request with these bytes."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.IncompleteReadError):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(answer)
            if not close:
                await reader.read()
            writer.close()
            await writer.wait_closed()

    async with listening(serve) as port:
        yield f"http://127.0.0.1:{port}"


async def test_a_response_has_its_status_its_headers_and_its_body():
    async with MessagesServer([{"status": 418, "body": "short", "headers": {"X-Odd": "a"}}]) as server:
        async with client_for() as client, client.send(post(server.url, ("x-mine", "ü"))) as response:
            assert (response.status, response.headers["x-odd"]) == (418, "a")
            assert await response.read() == b"short"
        received = server.requests[0]
    assert (received.raw, received.headers["x-mine"]) == (BODY, "ü")
    assert received.headers["host"] == server.url.removeprefix("http://")


async def test_repeated_headers_are_joined():
    head = b"HTTP/1.1 200 OK\r\nA: 1\r\na: 2\r\nContent-Length: 0\r\n\r\n"
    async with raw_server(head) as url, client_for() as client, client.send(Request("GET", url)) as response:
        assert response.headers["a"] == "1, 2"


async def test_interim_responses_are_passed_over():
    wire = b"HTTP/1.1 103 Early\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
    async with raw_server(wire) as url, client_for() as client, client.send(Request("GET", url)) as response:
        assert (response.status, await response.read()) == (200, b"ok")


async def test_connections_are_kept_and_used_again():
    async with MessagesServer([step("a")] * 3) as server, client_for() as client:
        for _ in range(3):
            async with client.send(post(server.url)) as response:
                await response.read()
        assert server.connections == 1


async def test_requests_at_the_same_time_have_connections_of_their_own():
    async with MessagesServer([step("a")] * 2) as server, client_for() as client:
        async with client.send(post(server.url)) as one, client.send(post(server.url)) as two:
            await one.read()
            await two.read()
        assert server.connections == 2


async def test_a_response_that_was_not_read_to_its_end_ends_the_connection():
    async with MessagesServer([step("a" * 1000), step("a")]) as server, client_for() as client:
        async with client.send(post(server.url)):
            pass
        async with client.send(post(server.url)) as response:
            await response.read()
        assert server.connections == 2


async def test_a_kept_connection_that_died_is_replaced_without_a_word():
    async with MessagesServer([step("a"), step(close_after=-1), step("b")]) as server, client_for() as client:
        async with client.send(post(server.url)) as response:
            await response.read()
        async with client.send(post(server.url)) as response:
            assert response.status == 200
            await response.read()
        assert (len(server.requests), server.connections) == (3, 2)


async def test_a_new_connection_that_dies_is_a_fault():
    async with MessagesServer([step(close_after=-1), step("b")]) as server, client_for() as client:
        with pytest.raises(HttpFault) as caught:
            async with client.send(post(server.url)):
                pass
        assert (caught.value.reason, len(server.requests)) == ("broken", 1)


async def test_a_kept_connection_that_had_begun_to_answer_is_not_replaced():
    script = [step("a"), step(body="x" * 100, close_after=10), step("b")]
    async with MessagesServer(script) as server, client_for() as client:
        async with client.send(post(server.url)) as response:
            await response.read()
        with pytest.raises(HttpFault):
            async with client.send(post(server.url)) as response:
                await response.read()
        assert len(server.requests) == 2


async def test_cancelling_closes_the_connection_at_once():
    async with MessagesServer([step("a", silent_after=-1)]) as server, client_for() as client:

        async def send() -> None:
            async with client.send(post(server.url)):
                pass

        task = asyncio.create_task(send())
        await server.arrived.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await server.hung_up.wait()


async def test_warming_up_saves_the_first_request_the_connecting():
    async with MessagesServer([step("a")]) as server, client_for() as client:
        async with asyncio.TaskGroup() as group:
            group.create_task(client.warm_up(server.url))
            await asyncio.sleep(0)
            async with client.send(post(server.url)) as response:
                await response.read()
        assert server.connections == 1


async def test_warming_up_in_vain_is_left_to_the_request_to_report():
    async with MessagesServer() as server:
        url = server.url
    async with client_for() as client:
        await client.warm_up(url)
        with pytest.raises(HttpFault) as caught:
            async with client.send(post(url)):
                pass
    assert caught.value.reason == "connect"


async def test_silence_is_a_fault_after_its_limit():
    async with MessagesServer([step("a", silent_after=20)]) as server, client_for() as client:
        with pytest.raises(HttpFault) as caught:
            async with client.send(post(server.url), Limits(idle=0.1)) as response:
                await response.read()
        assert caught.value.reason == "idle"


@virtual_time(quiet=0.05)
async def test_a_reader_that_takes_its_time_is_not_the_services_silence():
    async with MessagesServer([step(body="x" * 2_000_000)]) as server, client_for() as client:
        size = 0
        async with client.send(post(server.url), Limits(idle=0.05)) as response:
            async for chunk in response:
                if not size:
                    with pytest.raises(TimeoutError):
                        await asyncio.wait_for(asyncio.Event().wait(), 0.15)
                size += len(chunk)
        assert size == 2_000_000


async def test_the_whole_exchange_has_a_limit_too():
    made = step("a" * 5000, write=50, pause=0.01)
    async with MessagesServer([made]) as server, client_for() as client:
        with pytest.raises(HttpFault) as caught:
            async with client.send(post(server.url), Limits(idle=5, total=0.1)) as response:
                await response.read()
        assert caught.value.reason == "idle"


@pytest.mark.parametrize("gzip", [False, True])
async def test_a_body_may_be_no_larger_than_its_limit(gzip: bool):
    async with MessagesServer([{"body": "x" * 100_000, "gzip": gzip}]) as server, client_for() as client:
        with pytest.raises(HttpFault) as caught:
            async with client.send(post(server.url), Limits(body=5000)) as response:
                await response.read()
        assert caught.value.reason == "size"


@pytest.mark.parametrize(
    "wire", [b"garbage\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", b"HTTP/1.1"]
)
async def test_what_is_not_http_is_a_fault(wire: bytes):
    async with raw_server(wire) as url, client_for() as client:
        with pytest.raises(HttpFault) as caught:
            async with client.send(Request("GET", url)) as response:
                await response.read()
        assert caught.value.reason == "broken"


async def test_an_endless_head_is_a_fault():
    async with raw_server(b"HTTP/1.1 200 OK\r\n" + b"a: b\r\n" * 50_000) as url, client_for() as client:
        with pytest.raises(HttpFault):
            async with client.send(Request("GET", url)):
                pass


async def test_redirects_are_answers_and_are_not_followed():
    made = step(status=302, body="", headers={"location": "/elsewhere"})
    async with MessagesServer([made]) as server, client_for() as client:
        async with client.send(post(server.url)) as response:
            assert (response.status, response.headers["location"]) == (302, "/elsewhere")
        assert len(server.requests) == 1


async def test_a_connection_that_nobody_accepts_is_a_fault_in_time():
    async def nowhere(_host: str, _port: int) -> list[str]:
        await asyncio.Event().wait()
        return []

    async with client_for(resolve=nowhere) as client:
        with pytest.raises(HttpFault) as caught:
            async with client.send(Request("GET", "http://example.invalid/"), Limits(connect=0.05)):
                pass
    assert caught.value.reason == "connect"


async def test_the_address_that_was_checked_is_the_one_connected():
    asked: list[tuple[str, int]] = []
    async with MessagesServer([step("a")]) as server:

        async def check(host: str, port: int) -> list[str]:
            asked.append((host, port))
            return ["127.0.0.1"]

        async with client_for(resolve=check) as client:
            url = f"http://no-such-host.invalid:{server.port}"
            async with client.send(post(url)) as response:
                assert response.status == 200
        assert asked == [("no-such-host.invalid", server.port)]
        assert server.requests[0].headers["host"] == f"no-such-host.invalid:{server.port}"


async def test_the_next_checked_address_is_tried_when_one_does_not_answer():
    async def check(_host: str, _port: int) -> list[str]:
        return ["127.0.0.9", "127.0.0.1"]

    async with MessagesServer([step("a")]) as server, client_for(resolve=check) as client:
        request = post(f"http://two.invalid:{server.port}")
        async with client.send(request) as response:
            assert response.status == 200


async def test_no_address_is_a_fault():
    async def check(_host: str, _port: int) -> list[str]:
        return []

    async with client_for(resolve=check) as client:
        with pytest.raises(HttpFault):
            async with client.send(Request("GET", "http://none.invalid/")):
                pass


@pytest.mark.parametrize("header", [("bad name", "x"), ("x", "a\r\nb: c"), ("x", "世")])
async def test_a_header_that_http_forbids_is_never_sent(header: tuple[str, str]):
    async with MessagesServer() as server, client_for() as client:
        with pytest.raises(ConfigError):
            async with client.send(post(server.url, header)):
                pass
        assert server.connections == 0


async def test_plain_requests_go_through_the_proxy_as_absolute_urls():
    async with MessagesServer([step("a")] * 2) as server, FakeProxy(server.port) as proxy:
        env = {"HTTP_PROXY": f"http://me:p%40ss@127.0.0.1:{proxy.port}", "no_proxy": "localhost"}
        async with client_for(env) as client, client.send(post("http://far.invalid")) as response:
            assert response.status == 200
            await response.read()
        assert proxy.heads[0].startswith("POST http://far.invalid/v1/messages HTTP/1.1\r\n")
        assert "proxy-authorization: basic bwu6cebzcw==" in proxy.heads[0].lower()
        assert "host: far.invalid\r\n" in proxy.heads[0].lower()


async def test_behind_a_proxy_too_the_checked_address_is_asked_for():
    async def check(_host: str, _port: int) -> list[str]:
        return ["192.0.2.7"]

    async with MessagesServer([step("a")]) as server, FakeProxy(server.port) as proxy:
        env = {"http_proxy": f"127.0.0.1:{proxy.port}"}
        async with client_for(env, check) as client, client.send(post("http://far.invalid")) as response:
            await response.read()
        assert proxy.heads[0].startswith("POST http://192.0.2.7/v1/messages")
        assert "host: far.invalid\r\n" in proxy.heads[0].lower()


async def test_hosts_that_skip_the_proxy_are_connected_directly():
    async with MessagesServer([step("a")]) as server, FakeProxy(server.port) as proxy:
        env = {"HTTP_PROXY": f"http://127.0.0.1:{proxy.port}", "NO_PROXY": "127.0.0.0/8"}
        async with client_for(env) as client, client.send(post(server.url)) as response:
            assert response.status == 200
        assert proxy.heads == []
