"""A Messages API on 127.0.0.1 that answers from a script and misbehaves on request.

It refuses conversations whose calls and results do not match, as the real one does.

In a test: `async with MessagesServer([step("Hi"), fault(529)]) as server: ... server.url`.
As a process of its own: `python -m tests.fakes.messages_server --script steps.json [--record requests.jsonl]`
prints its port on the first line; the file holds a list of steps.
"""

import argparse
import asyncio
import gzip
import json
import ssl
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any, Literal, NamedTuple, NotRequired, Self, TypedDict

from tests.fakes import sse
from tests.fakes.pairing import flaw_of


class Step(TypedDict, total=False):
    """One answer. Everything is JSON, so that a script can be a file."""

    content: list[Any]
    """Blocks of the answer; strings are text blocks. Sent as SSE or JSON, as the request asks."""
    message: dict[str, Any]
    """More fields of the answer: model, stop_reason, usage, ..."""
    piece: int
    """Characters of each text and input delta (8)."""
    status: int
    headers: dict[str, str]
    body: Any
    """Sent instead of an answer: text as it is, anything else as JSON."""
    framing: Literal["chunked", "length", "close"]
    write: int
    """Bytes of each write to the socket (all at once)."""
    pause: float
    """Seconds between writes."""
    delay: float
    """Seconds before the first byte."""
    held: bool
    """No byte comes before the test sets `released`."""
    close_after: int
    """Close after this many bytes of the body; -1 is before any byte of the response."""
    silent_after: int
    """Send nothing more after this many bytes of the body; -1 is before any byte of the response."""
    garbage: bool
    """Answer with bytes that are not HTTP."""
    gzip: bool
    error_after: int
    """Put an error event after this many events of the stream."""
    error: dict[str, str]
    """Its `type` and `message`."""
    when: str
    """Only for a request whose body holds this text."""
    repeat: bool
    """Stays in the script after it was used."""


class Received(NamedTuple):
    """A request as it arrived."""

    method: str
    path: str
    headers: dict[str, str]
    raw: bytes
    connection: int
    """Which connection of the server carried it, counted from one."""

    @property
    def body(self) -> Any:
        return json.loads(self.raw)


class Line(TypedDict):
    """A request in the file of `--record`."""

    path: str
    headers: dict[str, str]
    body: NotRequired[Any]


Script = Iterable[Step | Callable[[Received], Step]]


def step(*content: str | Mapping[str, Any], **options: Any) -> Step:
    """An answer with these blocks; options are the other keys of `Step`."""
    made: Any = {"content": list(content), **options}
    return made


def fault(status: int, type: str = "api_error", message: str = "It failed.", **options: Any) -> Step:
    """An error answer as the API gives it."""
    body = {"type": "error", "error": {"type": type, "message": message}}
    made: Any = {"status": status, "body": body, **options}
    return made


class MessagesServer:
    """Counts connections and keeps every request in the order of arrival."""

    def __init__(self, script: Script = (), *, tls: ssl.SSLContext | None = None, record: str | None = None):
        self._script: list[Step | Callable[[Received], Step]] = list(script)
        self._tls = tls
        self._record = record
        self._tasks: set[asyncio.Task[None]] = set()
        self.requests: list[Received] = []
        self.connections = 0
        self.hung_up = asyncio.Event()
        """Set when a client closed a connection in the middle of an answer."""
        self.arrived = asyncio.Event()
        """Set when a request arrived; a test may clear it."""
        self.released = asyncio.Event()
        """What a test sets to let held answers go."""
        self.port = 0

    @property
    def url(self) -> str:
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self.port}"

    @property
    def left(self) -> int:
        return len(self._script)

    def script(self, steps: Script) -> None:
        """Answer with these from now on."""
        self._script = list(steps)

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0, ssl=self._tls)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        tasks = tuple(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._server.wait_closed()
        # A transport that was told to close is closed when the loop comes round again.
        await asyncio.sleep(0)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # A task of our own: one that the stream makes for a coroutine counts as a fault when it is cancelled.
        self.connections += 1
        task = asyncio.create_task(self._serve(reader, writer, self.connections))
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            words = {"message": "The messages server has a defect", "exception": error}
            asyncio.get_running_loop().call_exception_handler(words)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, number: int) -> None:
        try:
            while (request := await _receive(reader, connection=number)) is not None:
                self._note(request)
                if not await self._answer(request, reader, writer):
                    break
        except (ConnectionError, asyncio.IncompleteReadError, ssl.SSLError):
            self.hung_up.set()
        finally:
            writer.transport.abort()
            with suppress(ConnectionError, ssl.SSLError):
                await writer.wait_closed()

    def _note(self, request: Received) -> None:
        self.requests.append(request)
        self.arrived.set()
        if self._record is None:
            return
        line: Line = {"path": request.path, "headers": request.headers}
        if request.raw:
            line["body"] = request.body
        with open(self._record, "a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")

    async def _answer(
        self, request: Received, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        """Send what the script says; whether the connection can carry another request."""
        made = self._next_step(request)
        await asyncio.sleep(made.get("delay", 0))
        if made.get("held"):
            await self.released.wait()
        if made.get("garbage"):
            writer.write(b"\x00\xff not http at all\r\n\r\n")
            return False
        head, body = _response(made, request, number=len(self.requests))
        limit = min(_bound(made, "close_after", len(body)), _bound(made, "silent_after", len(body)))
        if limit >= 0:
            writer.write(head)
            await _write_slowly(writer, body[:limit], made)
        if "silent_after" in made:
            await reader.read()
            self.hung_up.set()
            return False
        whole = limit == len(body) and made.get("framing") != "close"
        if not whole:
            writer.close()
            await writer.wait_closed()
        return whole

    def _next_step(self, request: Received) -> Step:
        if request.path.startswith("/v1/messages/count_tokens"):
            return {"body": {"input_tokens": len(request.raw) // 4}}
        if request.method != "POST" or not request.path.startswith("/v1/messages"):
            return fault(404, "not_found_error", f"{request.method} {request.path} is not served here.")
        if (flaw := flaw_of(request.body.get("messages", []))) is not None:
            return fault(400, "invalid_request_error", flaw)
        for index, line in enumerate(self._script):
            if callable(line):
                del self._script[index]
                return line(request)
            if line.get("when", "").encode() in request.raw:
                if not line.get("repeat"):
                    del self._script[index]
                return line
        return fault(400, "invalid_request_error", "The script of the fake server has no answer left.")


async def _receive(reader: asyncio.StreamReader, *, connection: int) -> Received | None:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.decode("latin-1").split("\r\n")
    method, path, _ = first.split(" ", 2)
    headers = {
        name.strip().lower(): value.strip() for name, _, value in (each.partition(":") for each in lines)
    }
    headers.pop("", None)
    raw = await reader.readexactly(int(headers.get("content-length", "0")))
    return Received(method, path, headers, raw, connection)


def _response(made: Step, request: Received, *, number: int) -> tuple[bytes, bytes]:
    kind, body = _payload(made, request, number=number)
    headers = {"content-type": kind, "request-id": "req_fake", **made.get("headers", {})}
    if made.get("gzip"):
        body = gzip.compress(body)
        headers["content-encoding"] = "gzip"
    match made.get("framing", "chunked" if kind == "text/event-stream" else "length"):
        case "chunked":
            headers["transfer-encoding"] = "chunked"
            body = _chunked(body)
        case "length":
            headers["content-length"] = str(len(body))
        case _:
            headers["connection"] = "close"
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"HTTP/1.1 {made.get('status', 200)} Status\r\n{lines}\r\n".encode("latin-1"), body


def _payload(made: Step, request: Received, *, number: int) -> tuple[str, bytes]:
    if "body" in made:
        body = made["body"]
        if isinstance(body, str):
            return "text/html" if body.lstrip().startswith("<") else "text/plain", body.encode()
        return "application/json", json.dumps(body).encode()
    asked = request.body
    fields = {"id": f"msg_fake_{number}", "model": asked["model"]}
    whole = sse.message(*made.get("content", []), **{**fields, **made.get("message", {})})
    if not asked.get("stream"):
        return "application/json", json.dumps(whole).encode()
    events = list(sse.events_of(whole, piece=made.get("piece", 8)))
    if "error_after" in made:
        events[made["error_after"] :] = [sse.error_event(**made.get("error", {}))]
    return "text/event-stream", sse.wire(events)


def _chunked(body: bytes) -> bytes:
    """One chunk for each event, as services send them."""
    parts = [part + b"\n\n" for part in body.split(b"\n\n") if part] if b"\n\n" in body else [body]
    return b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts if part) + b"0\r\n\r\n"


async def _write_slowly(writer: asyncio.StreamWriter, body: bytes, made: Step) -> None:
    size = made.get("write") or max(len(body), 1)
    for start in range(0, len(body), size):
        writer.write(body[start : start + size])
        await writer.drain()
        if size < len(body):
            await asyncio.sleep(made.get("pause", 0))


def _bound(made: Step, key: Literal["close_after", "silent_after"], otherwise: int) -> int:
    return min(made.get(key, otherwise), otherwise)


async def _main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--script", required=True, help="file with a JSON list of steps")
    parser.add_argument("--record", help="file that gets a JSON line for each request")
    chosen = parser.parse_args()
    with open(chosen.script, encoding="utf-8") as file:
        script: list[Step] = json.load(file)
    async with MessagesServer(script, record=chosen.record) as server:
        print(server.port, flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        asyncio.run(_main())
