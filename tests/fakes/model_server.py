"""A service of models on 127.0.0.1 that answers from a script, in a dialect that is given to it.

`async with ModelServer(ChatApi(), [answer("Hi"), refusal(429)]) as server: ... server.url`. Requests that
break the vendor's public schema are answered with an error, as the vendor would.
"""

import asyncio
import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, Protocol

from tests.fakes.http_server import Heard as Received
from tests.fakes.http_server import HttpServer, Wire, head


class Said(NamedTuple):
    """What a model says: blocks in the form of the Messages API, which each dialect writes in its own."""

    blocks: tuple[dict[str, Any], ...]
    stop: str
    """`end`, `calls`, `length` or `filter`."""
    piece: int
    extra: tuple[bytes, ...]
    """Frames of unknown kinds to put in the middle."""
    asked: int = 12
    """Tokens of the request as the vendor counts them; four are from its cache."""


class Script(NamedTuple):
    """One response."""

    said: Said | None = None
    status: int = 200
    headers: Mapping[str, str] = {}
    body: Any = None
    write: int = 0
    """Bytes of each write to the socket, 0 for all at once."""
    close_after: int | None = None
    """Close after this many bytes of the body."""
    silent_after: int | None = None
    cut_frames: int | None = None
    """End the body properly after this many frames."""
    tail: bytes = b""
    """Put after the frames."""


Line = Script | Callable[[Received], Script]
"""A response, or what makes it of the request."""


class Api(Protocol):
    """The vendor's side of a dialect."""

    stream_type: str

    def problem(self, request: Received) -> Script | None:
        """What the vendor objects to in a request."""
        ...

    def streams(self, request: Received) -> bool: ...

    def frames(self, said: Said) -> list[bytes]:
        """A streamed answer in the pieces that arrive one after the other."""
        ...

    def whole(self, said: Said) -> Any: ...

    def error(self, status: int, message: str, code: str) -> Any: ...


def text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


def thought(said: str) -> dict[str, Any]:
    return {"type": "thinking", "thinking": said, "signature": "c2ln"}


def call(name: str, id: str = "call_1", /, **input: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": name, "input": input}


def answer(*blocks: str | dict[str, Any], stop: str = "", piece: int = 6, **options: Any) -> Script:
    """An answer with these blocks; a string is text."""
    made = tuple(text(block) if isinstance(block, str) else block for block in blocks)
    extra = options.pop("extra", ())
    reason = stop or ("calls" if any(block["type"] == "tool_use" for block in made) else "end")
    return Script(Said(made, reason, piece, tuple(extra)), **options)


def refusal(status: int, message: str = "It failed.", code: str = "error", **options: Any) -> Script:
    """An error in the form of the vendor."""
    return Script(None, status, body=(message, code), **options)


def cut(text: str, size: int) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)]


class ModelServer(HttpServer):
    """Keeps every request in the order of arrival; with `counts` it tells usage by their size."""

    def __init__(self, api: Api, script: Iterable[Line] = (), *, counts: bool = False) -> None:
        super().__init__()
        self.api = api
        self._counts = counts
        self._script = list(script)

    @property
    def url(self) -> str:
        return self.origin

    def script(self, *steps: Line) -> None:
        self._script = list(steps)

    async def answer(self, request: Received, wire: Wire) -> bool:
        line = self.api.problem(request) or (
            self._script.pop(0) if self._script else refusal(400, "no line left")
        )
        step = line if isinstance(line, Script) else line(request)
        kind, frames = self._payload(step, request)
        body = b"".join(frames)
        if step.close_after is not None or step.silent_after is not None:
            limit = step.close_after if step.close_after is not None else step.silent_after
            await wire.send(_head(step, kind, {"connection": "close"}) + body[:limit])
            if step.silent_after is not None:
                await wire.closed()
                self.hung_up.set()
            return False
        wire.writer.write(_head(step, kind, {"content-length": str(len(body))}))
        size = step.write or max(len(body), 1)
        for start in range(0, len(body), size):
            await wire.send(body[start : start + size])
            if step.write:
                await asyncio.sleep(0)
        return True

    def _payload(self, step: Script, request: Received) -> tuple[str, list[bytes]]:
        if step.said is None:
            if isinstance(step.body, str):
                return "text/html", [step.body.encode()]
            message, code = step.body
            return "application/json", [json.dumps(self.api.error(step.status, message, code)).encode()]
        said = step.said._replace(asked=len(request.raw) // 4) if self._counts else step.said
        if not self.api.streams(request):
            return "application/json", [json.dumps(self.api.whole(said)).encode()]
        frames = self.api.frames(said)
        return self.api.stream_type, [*frames[: step.cut_frames], step.tail]


def _head(step: Script, kind: str, framing: Mapping[str, str]) -> bytes:
    return head(step.status, {"content-type": kind, "x-request-id": "req_1", **framing, **step.headers})


class SchemaError(Exception):
    """A request is not what the vendor's schema allows."""


def need(condition: object, problem: str) -> None:
    if not condition:
        raise SchemaError(problem)


def checked(check: Callable[[], None]) -> Script | None:
    try:
        check()
    except SchemaError as error:
        return refusal(400, f"schema: {error}", "invalid_request_error")
    return None


def only(value: Mapping[str, Any], allowed: str, place: str) -> None:
    unknown = set(value) - set(allowed.split())
    need(not unknown, f"{place} has unknown fields {sorted(unknown)}")
