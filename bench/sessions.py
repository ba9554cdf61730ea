"""Measures sessions inside one process against sessions in processes of their own."""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench.server import answer, call, text

_HERE = str(Path(__file__))
_BRIDLE = str(Path(sys.executable).with_name("bridle"))
_DROPPED = ("PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED", "CLAUDE", "ANTHROPIC")


class Figures:
    """What a number of sessions took."""

    def __init__(
        self, name: str, sessions: int, steps: int, *, wall: float, cpu: float, rss_mb: float
    ) -> None:
        self.name = name
        self.sessions = sessions
        self.steps = steps
        self.wall = wall
        self.cpu = cpu
        self.rss_mb = rss_mb
        """Memory of each session."""

    @property
    def cpu_per_step_ms(self) -> float:
        return self.cpu / (self.sessions * (self.steps + 1)) * 1000

    def __str__(self) -> str:
        return (
            f"{self.name:<28}{self.sessions:>5} x {self.steps:<4}{self.wall:>8.2f} s wall"
            f"{self.cpu:>9.2f} s CPU{self.cpu_per_step_ms:>8.2f} ms CPU a step"
            f"{self.rss_mb:>8.2f} MB a session"
        )


def measure(*, inside: int = 100, outside: int = 20, steps: int = 20) -> list[Figures]:
    """Run both kinds, one after the other, against a server in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder) / "project"
        project.mkdir()
        (project / "file.txt").write_text("".join(f"line {number}\n" for number in range(30)))
        env = {key: value for key, value in os.environ.items() if not key.startswith(_DROPPED)}
        env |= {
            "ANTHROPIC_API_KEY": "bench",
            "CLAUDE_CONFIG_DIR": f"{folder}/config",
            "NO_PROXY": "127.0.0.1",
        }
        server = subprocess.Popen(
            [sys.executable, _HERE, "--serve", str(steps)], stdout=subprocess.PIPE, text=True
        )
        assert server.stdout is not None
        env["ANTHROPIC_BASE_URL"] = server.stdout.readline().strip()
        try:
            return [_inside(inside, steps, project, env), _outside(outside, steps, project, env)]
        finally:
            server.terminate()
            server.wait()
            server.stdout.close()


def _inside(sessions: int, steps: int, project: Path, env: dict[str, str]) -> Figures:
    done = subprocess.run(
        [sys.executable, _HERE, "--inside", str(sessions)],
        cwd=project, env=env, stdout=subprocess.PIPE, text=True, check=True,
    )  # fmt: skip
    return Figures("in one process", sessions, steps, **json.loads(done.stdout))


def _outside(sessions: int, steps: int, project: Path, env: dict[str, str]) -> Figures:
    subprocess.run([_BRIDLE, "-p", "warm up"], cwd=project, env=env, capture_output=True, check=True)
    began = time.monotonic()
    running = [
        subprocess.Popen(
            [_BRIDLE, "-p", "go", "--output-format", "json"],
            cwd=project,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )
        for _ in range(sessions)
    ]
    cpu = rss = 0.0
    for process in running:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        assert process.returncode == 0
        cpu += usage.ru_utime + usage.ru_stime
        rss += usage.ru_maxrss / 1024
    wall = time.monotonic() - began
    return Figures("in processes of their own", sessions, steps, wall=wall, cpu=cpu, rss_mb=rss / sessions)


async def _run_inside(sessions: int) -> dict[str, float]:
    from bridle import Client, Options, query

    async for _ in query(prompt="warm up", options=Options()):
        pass
    before, cpu, began = _rss_mb(), time.process_time(), time.monotonic()

    async def one() -> Client:
        client = Client(Options())
        await client.connect("go")
        async for _ in client.receive_response():
            pass
        return client

    clients = await asyncio.gather(*(one() for _ in range(sessions)))
    figures = {
        "wall": time.monotonic() - began,
        "cpu": time.process_time() - cpu,
        "rss_mb": (_rss_mb() - before) / sessions,
    }
    for client in clients:
        await client.disconnect()
    return figures


def _rss_mb() -> float:
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


async def _serve(steps: int) -> None:
    """Answer by how far the conversation of a request has come."""
    ready: Sequence[bytes] = [
        *(
            answer(call("Read", n, file_path="file.txt", offset=n % 10 + 1, limit=20), number=n)
            for n in range(steps)
        ),
        answer(text("done"), number=steps),
    ]

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                length = next(
                    int(line.split(b":")[1])
                    for line in head.lower().split(b"\r\n")
                    if line.startswith(b"content-length:")
                )
                body = await reader.readexactly(length)
                writer.write(ready[min(body.count(b'"type":"tool_result"'), steps)])
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(talk, "127.0.0.1", 0, limit=2**24)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    await server.serve_forever()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inside", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--serve", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--sessions", type=int, default=100, help="sessions in one process")
    parser.add_argument("--processes", type=int, default=20, help="sessions in processes of their own")
    parser.add_argument("--steps", type=int, default=20, help="tool calls of each session")
    chosen: Any = parser.parse_args()
    if chosen.serve is not None:
        asyncio.run(_serve(chosen.serve))
    elif chosen.inside is not None:
        print(json.dumps(asyncio.run(_run_inside(chosen.inside))))
    else:
        for figures in measure(inside=chosen.sessions, outside=chosen.processes, steps=chosen.steps):
            print(figures)


if __name__ == "__main__":
    main()
