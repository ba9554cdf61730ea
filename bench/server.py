"""A Messages server for measurements: one thread, ready-made answers, a time stamp for every request."""

import json
import socket
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any


class Arrival:
    """When a request was complete, and when its answer had been written."""

    __slots__ = ("answered", "arrived", "cpu", "size")

    def __init__(self, arrived: float, size: int, cpu: float) -> None:
        self.arrived = arrived
        self.size = size
        self.cpu = cpu
        self.answered = 0.0


class BenchServer:
    """Answers the n-th request with the n-th answer, the last one for ever."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self._answers: Sequence[bytes] = ()
        self.arrivals: list[Arrival] = []
        self.cpu_clock: Callable[[], float] = lambda: 0.0
        threading.Thread(target=self._accept, daemon=True).start()

    def expect(self, answers: Sequence[bytes]) -> None:
        self._answers = answers
        self.arrivals = []

    def _accept(self) -> None:
        while True:
            connection, _ = self._socket.accept()
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        stream = connection.makefile("rb")
        try:
            while head := stream.readline():
                length = 0
                while (line := stream.readline()).strip():
                    if line.lower().startswith(b"content-length:"):
                        length = int(line.split(b":")[1])
                stream.read(length)
                del head
                arrival = Arrival(time.monotonic(), length, self.cpu_clock())
                self.arrivals.append(arrival)
                answer = self._answers[min(len(self.arrivals), len(self._answers)) - 1]
                connection.sendall(answer)
                arrival.answered = time.monotonic()
        except OSError:
            return
        finally:
            stream.close()
            connection.close()


def answer(*blocks: dict[str, Any], pieces: int = 1, number: int = 0) -> bytes:
    """An answer on the wire, chunked, one chunk for each event."""
    events: list[dict[str, Any]] = [
        {
            "type": "message_start",
            "message": {
                "id": f"msg_{number}",
                "type": "message",
                "role": "assistant",
                "model": "claude-sonnet-4-5-20250929",
                "content": [],
                "stop_reason": None,
                "stop_sequence": None,
                "usage": {"input_tokens": 10, "output_tokens": 1},
            },
        }
    ]
    for index, block in enumerate(blocks):
        is_text = block["type"] == "text"
        opened = {**block, "text": ""} if is_text else {**block, "input": {}}
        events.append({"type": "content_block_start", "index": index, "content_block": opened})
        for _ in range(pieces if is_text else 1):
            delta = (
                {"type": "text_delta", "text": block["text"]}
                if is_text
                else {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
            )
            events.append({"type": "content_block_delta", "index": index, "delta": delta})
        events.append({"type": "content_block_stop", "index": index})
    stop = "tool_use" if any(block["type"] == "tool_use" for block in blocks) else "end_turn"
    events.append(
        {
            "type": "message_delta",
            "delta": {"stop_reason": stop, "stop_sequence": None},
            "usage": {"output_tokens": 20},
        }
    )
    events.append({"type": "message_stop"})
    chunks = (f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in events)
    body = b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks)
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
    return head + body + b"0\r\n\r\n"


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def call(name: str, number: int, **input: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": input}
