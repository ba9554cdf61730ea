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
from typing import Any, Literal, NotRequired, TypedDict

from tests.fakes import sse
from tests.fakes.http_server import Heard as Received
from tests.fakes.http_server import HttpServer, Wire, head
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


class MessagesServer(HttpServer):
    """Counts connections and keeps every request in the order of arrival."""

    def __init__(self, script: Script = (), *, tls: ssl.SSLContext | None = None, record: str | None = None):
        super().__init__(tls=tls)
        self._script: list[Step | Callable[[Received], Step]] = list(script)
        self._record = record
        self.released = asyncio.Event()
        """What a test sets to let held answers go."""

    @property
    def url(self) -> str:
        return self.origin

    @property
    def left(self) -> int:
        return len(self._script)

    def script(self, steps: Script) -> None:
        """Answer with these from now on."""
        self._script = list(steps)

    def _note(self, request: Received) -> None:
        if self._record is None:
            return
        line: Line = {"path": request.path, "headers": request.headers}
        if request.raw:
            line["body"] = request.body
        with open(self._record, "a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")

    async def answer(self, request: Received, wire: Wire) -> bool:
        """Send what the script says."""
        self._note(request)
        made = self._next_step(request)
        await asyncio.sleep(made.get("delay", 0))
        if made.get("held"):
            await self.released.wait()
        if made.get("garbage"):
            wire.writer.write(b"\x00\xff not http at all\r\n\r\n")
            return False
        begin, body = _response(made, request, number=len(self.requests))
        limit = min(_bound(made, "close_after", len(body)), _bound(made, "silent_after", len(body)))
        if limit >= 0:
            wire.writer.write(begin)
            await _write_slowly(wire, body[:limit], made)
        if "silent_after" in made:
            await wire.closed()
            self.hung_up.set()
            return False
        return limit == len(body) and made.get("framing") != "close"

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
    return head(made.get("status", 200), headers), body


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


async def _write_slowly(wire: Wire, body: bytes, made: Step) -> None:
    size = made.get("write") or max(len(body), 1)
    for start in range(0, len(body), size):
        await wire.send(body[start : start + size])
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
