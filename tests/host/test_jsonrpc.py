"""What the one JSON-RPC peer does for every protocol; tests/mcp/test_peer.py has what MCP adds."""

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from bridle.host.jsonrpc import METHOD_NOT_FOUND, Limits, Message, Peer, Rules
from bridle.types.errors import BridleError
from tests.fakes.processes import eventually

_RULES = Rules(
    failed=lambda name, error: BridleError(f"{name} failed: {error}"),
    timed_out=lambda name, method, time: BridleError(f"{name} is late with {method}: {time}"),
    closed=lambda name: BridleError(f"{name} was closed"),
    cancel=("$/cancel", "id"),
)


class Bench:
    """A peer whose other end is the test."""

    def __init__(self) -> None:
        self.sent: list[Message] = []
        self.cancelled = asyncio.Event()
        self.peer: Peer[BridleError] = Peer(
            "it", self._send, _RULES, answer=self._answer, notified=lambda _, __: None
        )

    async def _send(self, message: Message, headers: Mapping[str, str]) -> None:
        del headers
        self.sent.append(message)

    def _answer(self, method: str, params: Mapping[str, Any]) -> Any:
        match method:
            case "at once":
                return {"result": [params]}
            case "never":
                return self._never()
            case _:
                return None

    async def _never(self) -> Message:
        try:
            await asyncio.Event().wait()
        finally:
            self.cancelled.set()
        return {}

    async def asked(
        self, params: Mapping[str, Any] | None = None, seconds: float = 5.0
    ) -> "asyncio.Task[Any]":
        task = asyncio.ensure_future(self.peer.request("ask", params, limits=Limits(seconds)))
        await eventually(lambda: bool(self.sent))
        return task


@pytest.mark.parametrize("result", [None, [], "text", {"a": 1}])
async def test_any_result_is_one_where_the_protocol_has_no_rule(result: Any):
    bench = Bench()
    task = await bench.asked()
    bench.peer.take({"id": 0, "result": result, "error": None})
    assert await task == result


@pytest.mark.parametrize(("params", "sent"), [({}, {"params": {}}), (None, {})])
async def test_empty_parameters_are_sent_and_missing_ones_are_not(params: Any, sent: dict[str, Any]):
    bench = Bench()
    task = await bench.asked(params)
    assert bench.sent == [{"jsonrpc": "2.0", "id": 0, "method": "ask", **sent}]
    bench.peer.take({"id": 0, "result": 1})
    await task


async def test_cancelling_a_request_names_it_as_the_protocol_does():
    bench = Bench()
    task = await bench.asked()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await eventually(lambda: len(bench.sent) == 2)
    assert bench.sent[1] == {"jsonrpc": "2.0", "method": "$/cancel", "params": {"id": 0}}


async def test_answer_that_does_not_come_is_the_error_of_the_protocol():
    bench = Bench()
    with pytest.raises(BridleError, match=r"it is late with ask: 0\.01 s"):
        await (await bench.asked(seconds=0.01))


async def test_requests_of_the_other_end_are_answered_at_once_refused_or_taken_back():
    bench = Bench()
    for number, method in enumerate(("at once", "unknown", "never")):
        bench.peer.take({"id": number, "method": method, "params": {"n": number}})
    await eventually(lambda: len(bench.sent) == 2)
    assert bench.sent[0] == {"jsonrpc": "2.0", "id": 0, "result": [{"n": 0}]}
    assert bench.sent[1]["error"]["code"] == METHOD_NOT_FOUND
    bench.peer.take({"method": "$/cancel", "params": {"id": 2}})
    await asyncio.wait_for(bench.cancelled.wait(), 50)


async def test_what_waits_when_the_connection_is_closed_gets_its_error():
    bench = Bench()
    task = await bench.asked()
    await bench.peer.close()
    with pytest.raises(BridleError, match="it was closed"):
        await task
    with pytest.raises(BridleError, match="it was closed"):
        await bench.peer.request("again", limits=Limits(5.0))
