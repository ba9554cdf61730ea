import asyncio
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridle.host.jsonrpc import Limits, Message
from bridle.mcp.errors import ConnectionLost, TimedOut
from bridle.mcp.peer import Answerer, make_peer
from bridle.mcp.transports.base import Receiver
from bridle.types.errors import McpError
from tests.fakes.processes import eventually
from tests.fakes.virtual_time import virtual_time


class FakeTransport:
    """Keeps what was sent."""

    streams = False

    def __init__(self) -> None:
        self.sent: list[Mapping[str, Any]] = []

    async def open(self, receiver: Receiver) -> None: ...

    async def send(self, message: Message, headers: Mapping[str, str] | None = None) -> None:
        self.sent.append(message)

    async def close(self) -> None: ...

    def agree(self, revision: str) -> None: ...

    def begin(self) -> None: ...


class Bench:
    def __init__(self, **answers: Answerer) -> None:
        self.transport = FakeTransport()
        self.notified: list[tuple[str, Mapping[str, Any]]] = []
        self.noted: list[str] = []
        self.peer = make_peer(
            "s",
            self.transport,
            answers={name.replace("__", "/"): answer for name, answer in answers.items()},
            notified=lambda method, params: self.notified.append((method, params)),
            noted=self.noted.append,
        )

    def ask(self, method: str, seconds: float = 5.0, **more: Any) -> asyncio.Task[dict[str, Any]]:
        return asyncio.create_task(self.peer.request(method, limits=Limits(seconds), **more))

    async def sent(self, count: int) -> list[Mapping[str, Any]]:
        await eventually(lambda: len(self.transport.sent) >= count)
        return self.transport.sent

    def answer(self, number: int, **result: Any) -> None:
        self.peer.take({"jsonrpc": "2.0", "id": number, "result": result})


async def test_ids_count_from_zero_and_answers_may_come_in_any_order():
    bench = Bench()
    first, second = bench.ask("a"), bench.ask("b", progress=_unheard)
    sent = await bench.sent(2)
    assert sent == [
        {"jsonrpc": "2.0", "id": 0, "method": "a"},
        {"jsonrpc": "2.0", "id": 1, "method": "b", "params": {"_meta": {"progressToken": 1}}},
    ]
    bench.answer(1, n=2)
    bench.answer(0, n=1)
    assert [await first, await second] == [{"n": 1}, {"n": 2}]


async def test_batch_is_taken_apart():
    bench = Bench()
    first, second = bench.ask("a"), bench.ask("b")
    await bench.sent(2)
    bench.peer.take(
        [{"id": 1, "result": {"n": 2}}, {"method": "notifications/x"}, {"id": 0, "result": {}}, [1]]
    )
    assert [await first, await second] == [{}, {"n": 2}]
    assert bench.notified == [("notifications/x", {})]


async def test_error_keeps_code_and_data():
    bench = Bench()
    asked = bench.ask("a")
    await bench.sent(1)
    bench.peer.take({"id": 0, "error": {"code": -5, "message": "no", "data": [1]}})
    with pytest.raises(McpError, match="no") as caught:
        await asked
    assert (caught.value.code, caught.value.data) == (-5, [1])


@pytest.mark.parametrize("answer", [{"id": 0}, {"id": 0, "result": 5}, {"id": 0, "error": "no"}])
async def test_answer_without_result_is_an_error(answer: dict[str, Any]):
    bench = Bench()
    asked = bench.ask("a")
    await bench.sent(1)
    bench.peer.take(answer)
    with pytest.raises(McpError):
        await asked


async def test_progress_reaches_its_request_only():
    bench = Bench()
    told: list[Mapping[str, Any]] = []
    asked = bench.ask("a", progress=told.append)
    await bench.sent(1)
    for token in (0, 7, "0", None):
        bench.peer.take(
            {"method": "notifications/progress", "params": {"progressToken": token, "progress": token}}
        )
    bench.answer(0)
    await asked
    assert told == [{"progressToken": 0, "progress": 0}]


async def test_silence_is_given_up_and_the_server_told():
    bench = Bench()
    with pytest.raises(TimedOut, match=r"within 0\.02 s"):
        await bench.ask("a", seconds=0.02)
    sent = await bench.sent(2)
    assert sent[1] == {
        "jsonrpc": "2.0",
        "method": "notifications/cancelled",
        "params": {"requestId": 0, "reason": "timed out"},
    }
    bench.answer(0, late=True)


@virtual_time()
async def test_progress_keeps_a_call_alive_only_so_long():
    bench = Bench()
    asked = asyncio.create_task(
        bench.peer.request("a", limits=Limits(2.5, idle=1.0), progress=lambda _: None)
    )
    await bench.sent(1)
    loop = asyncio.get_running_loop()
    began = loop.time()

    def has_gone_on() -> bool:
        bench.peer.take({"method": "notifications/progress", "params": {"progressToken": 0}})
        return loop.time() - began > 1.2

    await eventually(has_gone_on)
    assert not asked.done()
    with pytest.raises(TimedOut):
        await asked


async def test_cancelling_tells_the_server_and_initialize_is_never_cancelled():
    bench = Bench()
    for method in ("a", "initialize"):
        asked = bench.ask(method)
        await bench.sent(len(bench.transport.sent) + 1)
        asked.cancel()
        await asyncio.gather(asked, return_exceptions=True)
    await asyncio.sleep(0)
    assert [each["method"] for each in await bench.sent(3)] == ["a", "notifications/cancelled", "initialize"]


async def test_lost_connection_fails_what_waits_and_what_comes():
    bench = Bench()
    asked = bench.ask("a")
    await bench.sent(1)
    bench.peer.lose(ConnectionLost("gone"))
    for task in (asked, bench.ask("b")):
        with pytest.raises(ConnectionLost, match="gone"):
            await task


async def test_requests_of_the_server_are_answered():
    async def shout(params: Mapping[str, Any]) -> Mapping[str, Any]:
        return {"said": str(params.get("word")).upper()}

    async def refuse(params: Mapping[str, Any]) -> Mapping[str, Any]:
        raise McpError("never", code=-1)

    bench = Bench(shout=shout, refuse=refuse)
    for number, method in (("x", "shout"), (1, "refuse"), (2, "ping"), (3, "nonsense")):
        bench.peer.take({"jsonrpc": "2.0", "id": number, "method": method, "params": {"word": "hi"}})
    answers = {each["id"]: each.get("result", each.get("error")) for each in await bench.sent(4)}
    assert answers == {
        "x": {"said": "HI"},
        1: {"code": -1, "message": "never"},
        2: {},
        3: {"code": -32601, "message": "Method not found: nonsense"},
    }


async def test_request_of_the_server_can_be_withdrawn():
    began, ended = asyncio.Event(), asyncio.Event()

    async def wait(params: Mapping[str, Any]) -> Mapping[str, Any]:
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return {}

    bench = Bench(wait=wait)
    async with asyncio.timeout(50):
        bench.peer.take({"id": 5, "method": "wait"})
        await began.wait()
        bench.peer.take({"method": "notifications/cancelled", "params": {"requestId": 5}})
        await ended.wait()
    assert bench.transport.sent == []


async def test_server_cannot_ask_for_everything_at_once():
    async def wait(params: Mapping[str, Any]) -> Mapping[str, Any]:
        await asyncio.Event().wait()
        return {}

    bench = Bench(wait=wait)
    for number in range(100):
        bench.peer.take({"id": number, "method": "wait"})
    assert len(await bench.sent(36)) == 36
    await bench.peer.close()


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)
_KEYS = st.sampled_from(["jsonrpc", "id", "method", "params", "result", "error", "code", "message"])


@given(st.lists(_JSON | st.dictionaries(_KEYS, _JSON), max_size=8))
def test_no_message_breaks_the_conversation(messages: list[Any]):
    async def converse() -> None:
        bench = Bench()
        asked = bench.ask("a")
        await bench.sent(1)
        for message in messages:
            bench.peer.take(message)
        bench.answer(0, fine=True)
        await asyncio.gather(asked, return_exceptions=True)
        again = bench.ask("b")
        await asyncio.sleep(0)
        bench.answer(1, fine=True)
        assert await again == {"fine": True}
        await bench.peer.close()

    asyncio.run(converse())


def _unheard(told: Mapping[str, Any]) -> None:
    """Nobody looks."""
