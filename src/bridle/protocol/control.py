"""Requests between bridle and a host program, and their answers, in both directions."""

import asyncio
from collections.abc import Callable
from typing import Any

from msgspec import Struct

from bridle.types.errors import BridleError
from bridle.types.ids import new_uuid

Frame = dict[str, Any]


class HostRefused(BridleError):
    """The host answered a request with an error."""


class HostClosed(BridleError):
    """The host closed its side before it answered."""


class ControlRequest(Struct, frozen=True):
    """The host asks for something that is not a prompt."""

    request_id: str
    subtype: str
    request: dict[str, Any]


class ControlResponse(Struct, frozen=True):
    """The host answers one of our requests."""

    request_id: str
    answer: dict[str, Any]
    error: str | None = None


class ControlCancel(Struct, frozen=True):
    """The host no longer wants an answer."""

    request_id: str


class ControlExchange:
    """Our requests to the host. Answers may come late, in any order, twice, or never."""

    def __init__(self, send: Callable[[Frame], None]) -> None:
        self._send = send
        self._waiting: dict[str, asyncio.Future[dict[str, Any]]] = {}
        self._sent: dict[str, Frame] = {}
        self._gone = False

    def pending(self, subtype: str) -> list[Frame]:
        """The requests of a kind that have no answer yet, as they were sent."""
        return [frame for frame in self._sent.values() if frame["request"]["subtype"] == subtype]

    async def ask(self, subtype: str, **fields: Any) -> dict[str, Any]:
        """Send a request and wait for its answer; a caller that gives up withdraws the request.

        Raises:
            HostRefused: the answer is an error.
            HostClosed: there will be no answer.
        """
        if self._gone:
            raise HostClosed("The host program closed the connection.")
        request_id = new_uuid()
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._waiting[request_id] = answer
        request: Frame = {"subtype": subtype, **fields}
        frame: Frame = {"type": "control_request", "request_id": request_id, "request": request}
        self._sent[request_id] = frame
        self._send(frame)
        try:
            return await answer
        except asyncio.CancelledError:
            self._send({"type": "control_cancel_request", "request_id": request_id})
            raise
        finally:
            self._waiting.pop(request_id, None)
            self._sent.pop(request_id, None)

    def take(self, response: ControlResponse) -> None:
        """Hand an answer to its waiting request; late and repeated answers are dropped."""
        answer = self._waiting.get(response.request_id)
        if answer is None or answer.done():
            return
        if response.error is not None:
            answer.set_exception(HostRefused(response.error))
        else:
            answer.set_result(response.answer)

    def close(self) -> None:
        """The host can answer no more."""
        self._gone = True
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(HostClosed("The host program closed the connection before it answered."))


def success(request: ControlRequest, answer: Frame | None = None, **beside: Any) -> Frame:
    """The answer to a request that could be fulfilled; None is a bare acknowledgement."""
    response: Frame = {"subtype": "success", "request_id": request.request_id}
    if answer is not None:
        response["response"] = answer
    return {"type": "control_response", "response": {**response, **beside}}


def failure(request: ControlRequest, error: str, **beside: Any) -> Frame:
    """The answer to a request that could not."""
    response = {"subtype": "error", "request_id": request.request_id, "error": error, **beside}
    return {"type": "control_response", "response": response}


def unsupported(request: ControlRequest) -> Frame:
    """The answer to a request that this program does not know."""
    return failure(
        request, f"Unsupported control request subtype: {request.subtype}", error_code="unsupported_request"
    )
