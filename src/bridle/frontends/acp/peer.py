"""The editor on the other end of the standard streams: JSON-RPC, one message in each line."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec

from bridle.host.jsonrpc import PARSE_ERROR, Limits, Peer, Rules, refusal
from bridle.host.streams import Output
from bridle.types.errors import BridleError
from bridle.types.text import decode_json, encodable_value

INVALID_REQUEST = -32600
CANCELLED = -32800
AUTH_REQUIRED = -32000
NOT_FOUND = -32002

_PATIENCE = 30.0
_NO_LIMIT = 30 * 24 * 3600.0
_MOST_SHOWN = 500

Handler = Callable[[str, Mapping[str, Any]], "Awaitable[Mapping[str, Any]] | Mapping[str, Any] | None"]


class EditorError(BridleError):
    """The editor refused a request, failed at it, or is gone."""


class RequestError(BridleError):
    """A request of the editor cannot be met: the code tells programs why."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.data = data

    def to_response(self) -> Mapping[str, Any]:
        fields = refusal(self.code, str(self))
        return fields if self.data is None else {"error": {**fields["error"], "data": self.data}}


def _failed(name: str, error: Any) -> EditorError:
    message = error.get("message") if isinstance(error, dict) else None
    return EditorError(f"{name} refused: {str(message or 'the answer cannot be used')[:_MOST_SHOWN]}")


_RULES = Rules(
    failed=_failed,
    timed_out=lambda name, method, time: EditorError(f"{name} did not answer {method} within {time}."),
    closed=lambda name: EditorError(f"{name} disconnected."),
    cancel=("$/cancel_request", "requestId"),
)


class EditorPeer:
    """Writes at once and in order; reads what it is given line by line."""

    def __init__(
        self, output: Output, *, answer: Handler, notified: Callable[[str, Mapping[str, Any]], None]
    ) -> None:
        self._output = output
        self._behind: list[tuple[Mapping[str, Any], Callable[[], None]]] = []
        """What to do when an answer is written."""
        self._peer: Peer[EditorError] = Peer(
            "The editor", self._send, _RULES, answer=answer, notified=notified
        )

    def update(self, session_id: str, update: Mapping[str, Any]) -> None:
        """Report something about a session."""
        self._write(
            {
                "jsonrpc": "2.0",
                "method": "session/update",
                "params": {"sessionId": session_id, "update": update},
            }
        )

    def behind(self, result: Mapping[str, Any], work: Callable[[], None]) -> None:
        """Do something as soon as this result is sent: what it is about is known to the editor then."""
        self._behind.append((result, work))

    def notify(self, method: str, params: Mapping[str, Any]) -> None:
        self._write({"jsonrpc": "2.0", "method": method, "params": params})

    async def request(
        self, method: str, params: Mapping[str, Any], *, seconds: float | None = _PATIENCE
    ) -> Mapping[str, Any]:
        """Ask the editor; None seconds for a question to its user, who may take their time.

        Raises:
            EditorError: it refused, cannot do it, or is gone.
        """
        limits = Limits(total=_NO_LIMIT if seconds is None else seconds)
        answer = await self._peer.request(method, params, limits=limits)
        return answer if isinstance(answer, dict) else {}

    def take_line(self, line: bytes) -> None:
        """One line of the editor; what is no JSON-RPC is answered with an error."""
        if not line.strip():
            return
        try:
            message = decode_json(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            self._refuse(PARSE_ERROR, f"Parse error: {error}"[:_MOST_SHOWN])
            return
        match message:
            case {"id": dict() | list() | float() | bool()}:
                self._refuse(INVALID_REQUEST, "The id of a request must be a string or a whole number.")
            case {"method": str()} | {"id": str() | int()}:
                self._peer.take(message)
            case _:
                self._refuse(INVALID_REQUEST, "A message must be one JSON-RPC object.")

    async def close(self) -> None:
        await self._peer.close()

    def _refuse(self, code: int, text: str) -> None:
        self._write({"jsonrpc": "2.0", "id": None, **refusal(code, text)})

    async def _send(self, message: Mapping[str, Any], headers: Mapping[str, str]) -> None:
        del headers
        self._write(message)
        result = message.get("result")
        for each in [each for each in self._behind if each[0] is result]:
            self._behind.remove(each)
            each[1]()

    def _write(self, message: Mapping[str, Any]) -> None:
        try:
            line = msgspec.json.encode(message)
        except (UnicodeEncodeError, msgspec.ValidationError):
            # Half of a surrogate pair, from a model or a file name.
            line = msgspec.json.encode(encodable_value(message))
        self._output.write(line + b"\n")

    async def drain(self, seconds: float) -> None:
        """Wait until the editor has read everything, at most so long."""
        try:
            async with asyncio.timeout(seconds):
                await self._output.drain()
        except TimeoutError:
            pass  # It does not read any more.
