"""JSON-RPC as the Model Context Protocol has it."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from bridle.host.jsonrpc import INTERNAL_ERROR, Message, Peer, Rules, refusal
from bridle.mcp.errors import ConnectionLost, TimedOut
from bridle.mcp.transports.base import Transport
from bridle.types.errors import McpError

Answerer = Callable[[Mapping[str, Any]], Awaitable[Mapping[str, Any]]]
"""Answers a request of the server; an McpError becomes the error that it gets."""
McpPeer = Peer[ConnectionLost]


def make_peer(
    name: str,
    transport: Transport,
    *,
    answers: Mapping[str, Answerer],
    notified: Callable[[str, Mapping[str, Any]], None],
    noted: Callable[[str], None],
) -> McpPeer:
    """A conversation over a transport; `answers` has a function for each method of this end."""

    def answer(method: str, params: Mapping[str, Any]) -> "Awaitable[Message] | Message | None":
        if method == "ping":
            return {"result": {}}
        found = answers.get(method)
        return None if found is None else _answered(found, params)

    return Peer(name, transport.send, _RULES, answer=answer, notified=notified, noted=noted)


async def _answered(answer: Answerer, params: Mapping[str, Any]) -> Message:
    try:
        return {"result": await answer(params)}
    except McpError as error:
        return refusal(INTERNAL_ERROR if error.code is None else error.code, str(error))


def _failed(name: str, error: Any) -> McpError:
    if not isinstance(error, dict):
        return McpError(f"{name} returned an invalid result.")
    code, text = error.get("code"), error.get("message")
    shown = text if isinstance(text, str) and text.strip() else f"{name} returned an error"
    return McpError(shown[:10_000], code=code if isinstance(code, int) else None, data=error.get("data"))


_RULES = Rules(
    failed=_failed,
    timed_out=lambda name, method, time: TimedOut(f"{name} did not answer {method} within {time}."),
    closed=lambda name: ConnectionLost(f"The connection to {name} was closed."),
    cancel=("notifications/cancelled", "requestId"),
    gives_reason=True,
    progress="notifications/progress",
    is_usable=lambda result: isinstance(result, dict),
    sends_empty=False,
)
