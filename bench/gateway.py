"""The gateway: requests a second through two workers, latency that it adds, and the first byte of a stream.

python -m bench.gateway [--requests 6000] [--connections 24] [--rate 2000]
"""

import argparse
import asyncio
import json
import multiprocessing
import os
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

KEY = "bg-bench-key-0123456789"
_ANSWER = json.dumps({
    "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn",
    "content": [{"type": "text", "text": "ok"}], "usage": {"input_tokens": 10, "output_tokens": 2},
}).encode()  # fmt: skip
_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"


class _Service(asyncio.Protocol):
    """Answers each request at once."""

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        self._rest = b""

    def data_received(self, data: bytes) -> None:
        self._rest += data
        while b"\r\n\r\n" in self._rest:
            head, _, body = self._rest.partition(b"\r\n\r\n")
            at = head.lower().find(b"content-length:")
            size = int(head[at + 15 :].split(b"\r\n", 1)[0])
            if len(body) < size:
                return
            self._rest = body[size:]
            self._transport.write(_HEAD % len(_ANSWER) + _ANSWER)


def _serve(port: Any) -> None:
    async def run() -> None:
        server = await asyncio.get_running_loop().create_server(_Service, "127.0.0.1", 0)
        port.value = server.sockets[0].getsockname()[1]
        await server.serve_forever()

    import uvloop

    uvloop.run(run())


class _Client(asyncio.Protocol):
    """One connection that asks again as soon as it is answered."""

    def __init__(self, request: bytes, left: list[int], times: list[float], pause: float) -> None:
        self._request, self._left, self._times, self._pause = request, left, times, pause
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._rest = b""
        self._began = 0.0

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        self._ask()

    def data_received(self, data: bytes) -> None:
        self._rest += data
        if b'"output_tokens"' in self._rest and self._rest.rstrip().endswith(b"}"):
            assert self._rest.startswith(b"HTTP/1.1 200"), self._rest[:200]
            self._times.append(time.perf_counter() - self._began)
            self._rest = b""
            wait = self._began + self._pause - time.perf_counter()
            if wait > 0:
                asyncio.get_running_loop().call_later(wait, self._ask)
            else:
                self._ask()

    def _ask(self) -> None:
        if self._left[0] <= 0:
            self._transport.close()
            self.done.set_result(None)
            return
        self._left[0] -= 1
        self._began = time.perf_counter()
        self._transport.write(self._request)


async def _load(port: int, requests: int, connections: int, rate: int = 0) -> tuple[float, list[float]]:
    """Ask from several connections; with `rate` not more often than that a second."""
    body = json.dumps(
        {"model": "m", "max_tokens": 8, "messages": [{"role": "user", "content": "hi"}]}
    ).encode()
    head = f"POST /v1/messages HTTP/1.1\r\nhost: x\r\nx-api-key: {KEY}\r\ncontent-length: {len(body)}\r\n\r\n"
    left, times = [requests], list[float]()
    pause = connections / rate if rate else 0.0
    loop = asyncio.get_running_loop()
    began = time.perf_counter()
    made: list[_Client] = []
    for _ in range(connections):
        client = _Client(head.encode() + body, left, times, pause)
        await loop.create_connection(lambda made=client: made, "127.0.0.1", port)
        made.append(client)
    await asyncio.gather(*(client.done for client in made))
    return time.perf_counter() - began, times


def _cpu(pids: list[int]) -> float:
    ticks = 0
    for pid in pids:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def main() -> None:
    import uvloop

    parser = argparse.ArgumentParser()
    parser.add_argument("--requests", type=int, default=6_000)
    parser.add_argument("--connections", type=int, default=24)
    parser.add_argument("--rate", type=int, default=2_000)
    args = parser.parse_args()
    context = multiprocessing.get_context("fork")
    port = context.Value("i", 0)
    service = context.Process(target=_serve, args=(port,), daemon=True)
    service.start()
    while not port.value:
        time.sleep(0.01)
    with socket.create_server(("127.0.0.1", 0)) as free:
        own = free.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "gateway.yaml"
        file.write_text(
            f"listen: 127.0.0.1:{own}\nworkers: 2\nusage: {folder}/usage.sqlite\n"
            f"upstreams: {{a: {{url: 'http://127.0.0.1:{port.value}', key: k-0123456789}}}}\n"
            f"models: {{m: {{upstream: a}}}}\nusers: {{ada: {{key: {KEY}}}}}\n",
            encoding="utf-8",
        )
        command = (sys.executable, "-m", "bridle", "gateway", "--config", str(file))
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as gateway:
            _wait(own)
            try:
                _measure(uvloop, args, port.value, own, gateway.pid)
            finally:
                gateway.send_signal(signal.SIGTERM)
    service.terminate()


def _measure(uvloop: Any, args: argparse.Namespace, service: int, own: int, pid: int) -> None:
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="utf-8").split()
    pids = [pid, *map(int, children)]
    uvloop.run(_load(own, 500, args.connections))
    before = _cpu(pids)
    seconds, _ = uvloop.run(_load(own, args.requests, args.connections))
    cpu = (_cpu(pids) - before) / args.requests
    paced, through = uvloop.run(_load(own, args.requests, args.connections, args.rate))
    _, direct = uvloop.run(_load(service, args.requests, args.connections, args.rate))
    added = (_p99(through) - _p99(direct)) * 1000
    print(f"  requests a second   {args.requests / seconds:8.0f}   (clients and service included)")
    print(f"  CPU of the gateway  {cpu * 1000:8.2f} ms a request: {2 / cpu:.0f} a second on two cores")
    print(f"  added at p99        {added:8.2f} ms at {args.requests / paced:.0f} a second")
    print(f"  median              {statistics.median(through) * 1000:8.2f} ms")


def _p99(times: list[float]) -> float:
    return sorted(times)[int(len(times) * 0.99)]


def _wait(port: int) -> None:
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.05)


if __name__ == "__main__":
    main()
