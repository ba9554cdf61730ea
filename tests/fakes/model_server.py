"""A service of models on 127.0.0.1 that answers from a script, in a dialect that is given to it.

`async with ModelServer(ChatApi(), [answer("Hi"), refusal(429)]) as server: ... server.url`. Requests that
break the vendor's public schema are answered with an error, as the vendor would.
"""

import asyncio
import json
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any, NamedTuple, Protocol, Self


class Received(NamedTuple):
    """A request as it arrived."""

    method: str
    path: str
    headers: dict[str, str]
    raw: bytes

    @property
    def body(self) -> Any:
        return json.loads(self.raw)


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


class ModelServer:
    """Keeps every request in the order of arrival; with `counts` it tells usage by their size."""

    def __init__(self, api: Api, script: Iterable[Line] = (), *, counts: bool = False) -> None:
        self.api = api
        self._counts = counts
        self._script = list(script)
        self._tasks: set[asyncio.Task[None]] = set()
        self.requests: list[Received] = []
        self.hung_up = asyncio.Event()
        self.arrived = asyncio.Event()
        self.port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def script(self, *steps: Line) -> None:
        self._script = list(steps)

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=2**24)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            while (request := await _receive(reader)) is not None:
                self.requests.append(request)
                self.arrived.set()
                if not await self._answer(request, reader, writer):
                    break
        except (ConnectionError, asyncio.IncompleteReadError):
            self.hung_up.set()
        except asyncio.CancelledError:
            pass  # The server is closing, and this task is the connection's own.
        finally:
            self._tasks.discard(task)
            writer.transport.abort()
            with suppress(ConnectionError):
                await writer.wait_closed()

    async def _answer(
        self, request: Received, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        line = self.api.problem(request) or (
            self._script.pop(0) if self._script else refusal(400, "no line left")
        )
        step = line if isinstance(line, Script) else line(request)
        kind, frames = self._payload(step, request)
        body = b"".join(frames)
        if step.close_after is not None or step.silent_after is not None:
            limit = step.close_after if step.close_after is not None else step.silent_after
            writer.write(_head(step, kind, {"connection": "close"}) + body[:limit])
            await writer.drain()
            if step.silent_after is not None:
                await reader.read()
                self.hung_up.set()
            return False
        writer.write(_head(step, kind, {"content-length": str(len(body))}))
        size = step.write or max(len(body), 1)
        for start in range(0, len(body), size):
            writer.write(body[start : start + size])
            await writer.drain()
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
    headers = {"content-type": kind, "x-request-id": "req_1", **framing, **step.headers}
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"HTTP/1.1 {step.status} Status\r\n{lines}\r\n".encode("latin-1")


async def _receive(reader: asyncio.StreamReader) -> Received | None:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.decode("latin-1").split("\r\n")
    method, path, _ = first.split(" ", 2)
    pairs = (line.partition(":") for line in lines if line)
    headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
    raw = await reader.readexactly(int(headers.get("content-length", "0")))
    return Received(method, path, headers, raw)


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
