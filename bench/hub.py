"""The hub: memory with idle sessions, latency of streams, reconnecting, catching up, first load of the page.

python -m bench.hub [--sessions 1000] [--machines 50] [--streaming 200] [--browsers 20] [--rate 50]
"""

import argparse
import asyncio
import json
import os
import resource
import signal
import sqlite3
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from bridle.frontends.hub import identity
from bridle.frontends.hub.database import connect, database_path
from bridle.frontends.hub.machine.client import Backoff
from bridle.frontends.hub.pages import FILES
from bridle.types.ids import new_uuid
from tests.fakes.devtools import tab

_GATHER = 0.1
"""How long a machine collects events, as `uploading.py` does."""
_CATCH_UP = 10_000
_BATCH = 500


class Hub:
    """`bridle hub serve` on a port that stays the same."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = 0
        self._process: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        env = {**os.environ, "CLAUDE_CONFIG_DIR": str(self.folder)}
        line = (sys.executable, "-m", "bridle", "hub", "serve", "--listen", f"127.0.0.1:{self.port}")
        self._process = await asyncio.create_subprocess_exec(*line, env=env, stdout=asyncio.subprocess.PIPE)
        assert self._process.stdout is not None
        said = (await self._process.stdout.readline()).decode()
        self.port = urlsplit(next(each for each in said.split() if "://" in each).rstrip(",")).port or 0

    async def end(self, number: signal.Signals) -> None:
        assert self._process is not None
        self._process.send_signal(number)
        await self._process.wait()

    @property
    def resident(self) -> float:
        """Megabytes."""
        assert self._process is not None
        text = Path(f"/proc/{self._process.pid}/status").read_text(encoding="ascii")
        return int(text.split("VmRSS:")[1].split()[0]) / 1024

    @property
    def seconds(self) -> float:
        """Processor time so far."""
        assert self._process is not None
        fields = (
            Path(f"/proc/{self._process.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        )
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def code(self, kind: Any, role: str) -> str:
        path = database_path(str(self.folder / "bridle" / "hub"))
        with closing(connect(path)) as base:
            return _transact(base, kind, role)


def _transact(base: sqlite3.Connection, kind: Any, role: str) -> str:
    base.execute("BEGIN IMMEDIATE")
    code = identity.make_code(base, kind=kind, role=role, name="")
    base.execute("COMMIT")
    return code


class Connection:
    """One kept connection with requests one after the other."""

    def __init__(self, port: int, key: str) -> None:
        self._port, self._key = port, key
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, method: str, path: str, body: Any = None) -> Any:
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self._port)
        reader, writer = self._streams
        data = b"" if body is None else json.dumps(body).encode()
        writer.write(head(method, path, self._key, len(data)) + data)
        answer = await reader.readuntil(b"\r\n\r\n")
        size = int(answer.lower().partition(b"content-length:")[2].split(b"\r\n", 1)[0] or 0)
        said = await reader.readexactly(size)
        assert answer.split(b" ", 2)[1] in (b"200", b"204"), (answer, said)
        return json.loads(said) if said else None

    def close(self) -> None:
        if self._streams is not None:
            self._streams[1].close()


def head(method: str, path: str, key: str, size: int = 0) -> bytes:
    auth = f"authorization: Bearer {key}\r\n" if key else ""
    return f"{method} {path} HTTP/1.1\r\nhost: 127.0.0.1\r\n{auth}content-length: {size}\r\n\r\n".encode()


class Worker:
    """A session of a machine: it listens, and sends when it is told to."""

    def __init__(self, id: str, token: str) -> None:
        self.id, self.token = id, token
        self.connected = asyncio.Event()

    async def listen(self, hub: Hub) -> None:
        backoff = Backoff(first=1.0, most=30.0, give_up=None)
        while True:
            try:
                reader, writer = await asyncio.open_connection("127.0.0.1", hub.port)
                writer.write(head("GET", f"/v1/code/sessions/{self.id}/worker/events/stream", self.token))
                while data := await reader.read(65_536):
                    if b"keepalive" in data:
                        self.connected.set()
                        backoff.reset()
            except OSError:
                pass
            self.connected.clear()
            await asyncio.sleep(backoff.next() or 0.0)

    async def send(self, hub: Hub, rate: int, until: float) -> int:
        """So many events a second, in the batches in which a machine sends them."""
        connection, sent = Connection(hub.port, self.token), 0
        path, start = f"/v1/code/sessions/{self.id}/worker/events", time.perf_counter()
        while (now := time.perf_counter()) < until:
            count = int((now - start) * rate) - sent
            if count:
                # Each event counts from when it happened, not from when it was sent.
                events = [_event(start + (sent + n + 1) / rate) for n in range(count)]
                await connection.ask("POST", path, {"events": events})
                sent += count
            await asyncio.sleep(_GATHER)
        connection.close()
        return sent


def _event(at: float) -> Mapping[str, Any]:
    delta = {
        "type": "content_block_delta",
        "index": 0,
        "delta": {"type": "text_delta", "text": "some words " * 6},
    }
    return {"type": "stream_event", "uuid": new_uuid(), "event": delta, "at": at}


async def main() -> None:
    options = _options()
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with tempfile.TemporaryDirectory() as folder:
        hub = Hub(Path(folder))
        await hub.start()
        empty = hub.resident
        try:
            workers = await _workers(hub, options)
            device = await Connection(hub.port, "").ask(
                "POST", "/api/pair", {"code": hub.code("device", "start")}
            )
            listening = [asyncio.create_task(each.listen(hub)) for each in workers]
            await asyncio.gather(*(each.connected.wait() for each in workers))
            print(f"  {len(workers)} idle sessions     {hub.resident:6.0f} MB (empty {empty:.0f}; 300 asked)")
            await _stream(hub, workers, device["key"], options)
            await _reconnect(hub, workers)
            await _catch_up(hub, workers[-1], device["key"])
            await _first_load(hub, Path(folder))
            for task in listening:
                task.cancel()
            await asyncio.gather(*listening, return_exceptions=True)
        finally:
            await hub.end(signal.SIGKILL)


async def _workers(hub: Hub, options: argparse.Namespace) -> list[Worker]:
    async def machine(number: int) -> list[Worker]:
        joined = await Connection(hub.port, "").ask("POST", "/api/join", {"code": hub.code("machine", "")})
        connection, made = Connection(hub.port, joined["key"]), list[Worker]()
        wanted = {"machine_name": f"box {number}", "directory": "/repo", "branch": "main", "max_sessions": 32}
        await connection.ask("POST", "/v1/environments/bridge", wanted)
        for _ in range(options.sessions // options.machines):
            session = await connection.ask("POST", "/v1/code/sessions", {"title": "Idle", "bridge": {}})
            id = session["session"]["id"]
            bridge = await connection.ask("POST", f"/v1/code/sessions/{id}/bridge")
            made.append(Worker(id, bridge["worker_jwt"]))
        connection.close()
        return made

    return [each for group in [await machine(n) for n in range(options.machines)] for each in group]


async def _stream(hub: Hub, workers: list[Worker], key: str, options: argparse.Namespace) -> None:
    streaming, delays = workers[: options.streaming], list[float]()
    share = max(1, len(streaming) // options.browsers)
    groups = [streaming[at : at + share] for at in range(0, len(streaming), share)]
    reading = [asyncio.create_task(_browse(hub, group, key, delays)) for group in groups]
    await asyncio.sleep(1.0)
    before, start = hub.seconds, time.perf_counter()
    sent = sum(
        await asyncio.gather(*(each.send(hub, options.rate, start + options.seconds) for each in streaming))
    )
    took = time.perf_counter() - start
    deadline = time.perf_counter() + 60
    while len(delays) < sent and time.perf_counter() < deadline:
        await asyncio.sleep(0.05)
    for task in reading:
        task.cancel()
    await asyncio.gather(*reading, return_exceptions=True)
    delays.sort()
    median, late = (delays[int(len(delays) * part)] * 1000 for part in (0.5, 0.99))
    print(
        f"  {len(streaming)} sessions stream  {sent / took:6.0f} events/s to {len(groups)} browsers, "
        f"{len(delays)} of {sent} arrived, median {median:.0f} ms, p99 {late:.0f} ms (250 asked), "
        f"{(hub.seconds - before) / took:.2f} cores"
    )


async def _browse(hub: Hub, group: list[Worker], key: str, delays: list[float]) -> None:
    """A browser: one stream for all sessions that it shows."""
    follow = ",".join(f"{each.id.replace('cse_', 'session_')}:0" for each in group)
    async for line in _lines(hub, f"/api/stream?follow={follow}", key):
        now = time.perf_counter()
        if line.startswith(b'data: {"session"'):
            delays.extend(now - event["frame"]["at"] for event in json.loads(line[6:])["events"])


async def _reconnect(hub: Hub, workers: list[Worker]) -> None:
    await hub.end(signal.SIGKILL)
    for each in workers:
        each.connected.clear()
    start = time.perf_counter()
    await hub.start()
    begun = time.perf_counter() - start
    await asyncio.gather(*(each.connected.wait() for each in workers))
    print(
        f"  {len(workers)} workers are back    {time.perf_counter() - start:6.1f} s after kill -9 (30 asked; "
        f"the hub took {begun:.1f} of it)"
    )


async def _catch_up(hub: Hub, worker: Worker, key: str) -> None:
    connection = Connection(hub.port, worker.token)
    for _ in range(_CATCH_UP // _BATCH):
        content = [{"type": "text", "text": "words " * 20}]
        events = [
            {"type": "assistant", "uuid": new_uuid(), "message": {"role": "assistant", "content": content}}
            for _ in range(_BATCH)
        ]
        await connection.ask("POST", f"/v1/code/sessions/{worker.id}/worker/events", {"events": events})
    connection.close()
    start, found = time.perf_counter(), 0
    async for line in _lines(hub, f"/api/stream?follow={worker.id.replace('cse_', 'session_')}:0", key):
        if line.startswith(b'data: {"session"'):
            found += len(json.loads(line[6:])["events"])
        if found >= _CATCH_UP:
            break
    print(f"  {found} events         {time.perf_counter() - start:6.2f} s to catch up (1 asked)")


async def _lines(hub: Hub, path: str, key: str) -> AsyncGenerator[bytes]:
    reader, writer = await asyncio.open_connection("127.0.0.1", hub.port, limit=2**26)
    try:
        writer.write(head("GET", path, key))
        while line := await reader.readline():
            yield line
    finally:
        writer.close()


async def _first_load(hub: Hub, folder: Path) -> None:
    size = sum((Path(place) / name).stat().st_size for place, name, _ in FILES.values())
    async with _browser(folder) as page:
        address = f"http://127.0.0.1:{hub.port}/"
        await page.open(f"{address}#pair={hub.code('device', 'start')}")
        await page.press("Pair")
        await page.until("document.querySelectorAll('.card').length > 0")
        # The second time it is what a paired phone sees, without what the browser has kept.
        await page.send("Network.enable")
        await page.send("Network.setCacheDisabled", cacheDisabled=True)
        await page.send("Network.setBypassServiceWorker", bypass=True)
        await page.send("Page.enable")
        await page.send(
            "Page.addScriptToEvaluateOnNewDocument",
            source="new MutationObserver(() => { "
            "if (!window.usable && document.querySelector('.card')) "
            "window.usable = performance.now(); }).observe(document, { childList: true, subtree: true });",
        )
        await page.send("Page.reload", ignoreCache=True)
        usable = await page.until("window.usable || 0")
    print(f"  first load          {size / 1000:6.0f} KB (150), usable after {usable:.0f} ms (1000)")


@asynccontextmanager
async def _browser(folder: Path) -> AsyncGenerator[Any]:
    async with tab(folder) as page:
        await page.size(390, 844)
        yield page


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    usual = {"sessions": 1_000, "machines": 50, "streaming": 200, "browsers": 20, "rate": 50, "seconds": 10}
    for name, value in usual.items():
        parser.add_argument(f"--{name}", type=int, default=value)
    return parser.parse_args()


if __name__ == "__main__":
    asyncio.run(main())
