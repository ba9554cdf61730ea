"""How fast the terminal program is: first prompt, keys while a model streams, long answers, memory, bytes.

`python -m bench.tui` prints one line for each; everything is measured in one run against a bare Python.
"""

import asyncio
import json
import os
import select
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

from tests.fakes.messages_server import MessagesServer, Script, step
from tests.fakes.program import Program
from tests.fakes.terminal import PtyProgram

_RUNS = 15
_KEYS = 40
_LETTERS = "".join(map(chr, range(0x100, 0x100 + 2 * _KEYS)))
"""In nothing else that is written."""
_BETWEEN_KEYS = 0.017
_DELTAS = 20_000
_PROMPT = "\u276f"
_READY = "? for keys"
_BUDGETS = {
    "painted": "2.5x bare Python",
    "first prompt": "250 ms and 3x bare Python",
    "ready": "250 ms",
    "echo at rest": "2 ms",
    "echo": "2 ms",
    "deltas": "2 s CPU",
    "memory": "35 MB",
    "bytes": "3x the text",
    "clears": "none",
}
_BRIDLE = [str(Path(sys.executable).with_name("bridle"))]
"""Started as users do: a program that is forked for tests would have everything imported."""
_BARE = f"import time; print({_PROMPT!r}, flush=True); time.sleep(60)"
_BARE_ECHO = (
    f"import os, tty; tty.setraw(0); os.write(1, {_PROMPT!r}.encode())\nwhile 1: os.write(1, os.read(0, 99))"
)
_CLEARS = (b"\x1b[2J", b"\x1b[3J", b"\x1b[H\x1b[J")
_NOTHING = f"printf {_PROMPT}; exec sleep 60"


class _Start(NamedTuple):
    """How long a start took: by the clock, and on the processor alone, however busy the machine is."""

    seconds: float
    cpu: float


async def main() -> None:
    """Measure everything and print it."""
    await _starts()
    await _memory()
    await _echo()
    await _deltas()


async def _starts() -> None:
    """The whole program in a terminal, in turns with a bare Python, so that all see the same machine.

    What it takes to put a program into a terminal is measured by a shell that does nothing, and taken off.
    The first prompt is there when a key that is pressed at once is shown behind it, the session is ready when
    its greeting and hints are there.
    """
    taken: dict[str, list[_Start]] = {name: [] for name in ("none", "bare", "painted", "typable", "ready")}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(_RUNS):
            taken["none"].append(await _start(folder, ["/bin/sh", "-c", _NOTHING], until=_PROMPT))
            taken["bare"].append(await _start(folder, [sys.executable, "-c", _BARE], until=_PROMPT))
            taken["painted"].append(await _start(folder, _BRIDLE, until=_PROMPT))
            taken["typable"].append(await _start(folder, _BRIDLE, until=f"{_PROMPT} q", typed="q"))
            taken["ready"].append(await _start(folder, _BRIDLE, until=_READY))
    bare = _middle(taken["bare"], taken["none"])
    _say("bare Python", f"{bare.seconds * 1000:.0f} ms, {bare.cpu * 1000:.0f} ms CPU")
    for name, title in (("painted", "painted"), ("typable", "first prompt"), ("ready", "ready")):
        took = _middle(taken[name], taken["none"])
        times, share = took.seconds / bare.seconds, took.cpu / bare.cpu
        _say(
            title,
            f"{took.seconds * 1000:.0f} ms ({times:.1f}x bare), {took.cpu * 1000:.0f} ms CPU ({share:.1f}x)",
        )


async def _start(folder: str, argv: list[str], *, until: str, typed: str = "") -> _Start:
    program = _program(Path(folder), None)
    began = time.perf_counter()
    async with PtyProgram(argv, env=program.env, cwd=program.project) as terminal:
        if typed:
            await terminal.until_written(_PROMPT.encode())
            terminal.type(typed)
        await terminal.until(lambda screen: until in screen.text)
        return _Start(time.perf_counter() - began, _cpu(terminal.process.pid))


def _middle(taken: list[_Start], none: list[_Start]) -> _Start:
    return _Start(
        statistics.median(each.seconds for each in taken) - statistics.median(each.seconds for each in none),
        statistics.median(each.cpu for each in taken) - statistics.median(each.cpu for each in none),
    )


async def _memory() -> None:
    async with _Session([]) as terminal:
        _say("memory", f"{_status_kb(terminal.process.pid, 'VmRSS') / 1024:.0f} MB after start")


async def _echo() -> None:
    """Type at rest and while an answer streams, and see how long each key takes to be written.

    A program that only writes what it reads is typed into between: a busy machine makes it wait as well.
    """
    text = "Some **words** of a long answer, with `code` and more.\n\n" * 4_000
    script = [step("Hello."), step(text, piece=12, write=1_200, pause=0.01)]
    bare = _TimedTerminal([sys.executable, "-c", _BARE_ECHO])
    async with _served(script) as url, _typed_into(url) as terminal, bare:
        await bare.until_text(_PROMPT)
        terminal.type("hello\r")
        await terminal.until_text("Hello.")
        _tell_echo("echo at rest", *_echoes(_LETTERS[:_KEYS], bare, terminal))
        terminal.type("\x15go\r")
        await terminal.until_text("long answer")
        _tell_echo("echo", *_echoes(_LETTERS[_KEYS:], bare, terminal))


def _echoes(letters: str, *terminals: "_TimedTerminal") -> list[list[float]]:
    """The seconds for each letter in each terminal, in turns."""
    took: list[list[float]] = [[] for _ in terminals]
    for letter in letters:
        for terminal, times in zip(terminals, took, strict=True):
            times.append(terminal.echo(letter))
    return took


def _tell_echo(name: str, bare: list[float], took: list[float]) -> None:
    middle, least = statistics.median(took) * 1000, statistics.median(bare) * 1000
    _say(name, f"{middle:.1f} ms median, {max(took) * 1000:.0f} ms at most; a bare Python {least:.1f} ms")


@asynccontextmanager
async def _served(script: Script) -> AsyncGenerator[str]:
    """A server in a process of its own: its work is not counted as the program's."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(script, file)
        file.flush()
        argv = [sys.executable, "-m", "tests.fakes.messages_server", "--script", file.name]
        server = await asyncio.create_subprocess_exec(*argv, stdout=asyncio.subprocess.PIPE)
        try:
            assert server.stdout is not None
            port = int(await server.stdout.readline())
            yield f"http://127.0.0.1:{port}"
        finally:
            server.kill()
            await server.wait()


@asynccontextmanager
async def _typed_into(url: str) -> AsyncGenerator["_TimedTerminal"]:
    with tempfile.TemporaryDirectory() as folder:
        program = _program(Path(folder), url)
        async with _TimedTerminal(_BRIDLE, env=program.env, cwd=program.project) as terminal:
            await terminal.until_text(_READY)
            yield terminal


class _TimedTerminal(PtyProgram):
    """Looks at the bytes that are written, without the work of drawing them."""

    def echo(self, letter: str) -> float:
        """Press a key after a while; the seconds until it is written. What is written is not drawn."""
        self._pass(_BETWEEN_KEYS)
        began = time.perf_counter()
        os.write(self._master, letter.encode())
        written = b""
        while letter.encode() not in written:
            select.select([self._master], [], [], 5)
            written += os.read(self._master, 1 << 16)
        return time.perf_counter() - began

    def _pass(self, seconds: float) -> None:
        """Read what is written meanwhile."""
        until = time.perf_counter() + seconds
        while (left := until - time.perf_counter()) > 0:
            if select.select([self._master], [], [], left)[0]:
                os.read(self._master, 1 << 16)


async def _deltas() -> None:
    line = "Word after word in **Markdown** with `code`, "
    text = "".join(line + ("\n\n" if number % 8 == 7 else "") for number in range(_DELTAS * 10 // len(line)))
    text += "\n\nThe very end."
    async with _Session([step(text, piece=10)]) as terminal:
        before, written = _cpu(terminal.process.pid), len(terminal.output)
        terminal.type("go\r")
        await terminal.until(lambda screen: "The very end." in screen.text, seconds=120)
        cpu = _cpu(terminal.process.pid) - before
        shown = len(text)
        ratio = (len(terminal.output) - written) / shown
        _say("deltas", f"{len(text) // 10:,} took {cpu:.2f} s CPU")
        _say("bytes", f"{ratio:.2f}x the text shown")
        clears = sum(terminal.output[written:].count(each) for each in _CLEARS)
        _say("clears", f"{clears} while the answer came")
        _say("memory later", f"{_status_kb(terminal.process.pid, 'VmRSS') / 1024:.0f} MB after a long answer")


class _Session:
    """The program with its server, ready to be typed into."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self._folder = tempfile.TemporaryDirectory()

    async def __aenter__(self) -> PtyProgram:
        self._server = MessagesServer(self._script)
        await self._server.__aenter__()
        program = _program(Path(self._folder.name), self._server.url)
        self._terminal = PtyProgram(_BRIDLE, env=program.env, cwd=program.project)
        await self._terminal.__aenter__()
        await self._terminal.until_text(_READY)
        return self._terminal

    async def __aexit__(self, *_: object) -> None:
        await self._terminal.__aexit__(None, None, None)
        await self._server.__aexit__(None, None, None)
        self._folder.cleanup()


def _program(folder: Path, url: str | None) -> Program:
    program = Program(
        folder, url or "http://127.0.0.1:9", CLAUDE_CODE_ENABLE_PROMPT_SUGGESTION="0", BRIDLE_TITLES="0"
    )
    program.env["BRIDLE_TRUST_FOLDER"] = str(program.project)
    program.env["PYTHONDONTWRITEBYTECODE"] = ""  # Users have compiled modules.
    return program


def _cpu(pid: int) -> float:
    """Seconds on the processor, finer than the ticks that are counted for the process as a whole."""
    total = 0
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/schedstat", encoding="ascii") as file:
            total += int(file.read().split()[0])
    return total / 1e9


def _status_kb(pid: int, name: str) -> int:
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(f"{name}:"))


def _say(name: str, text: str) -> None:
    budget = f"  (budget {_BUDGETS[name]})" if name in _BUDGETS else ""
    sys.stdout.write(f"{name:<14} {text}{budget}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(main())
