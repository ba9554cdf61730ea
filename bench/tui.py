"""How fast the terminal program is: first prompt, keys while a model streams, long answers, memory, bytes.

`python -m bench.tui` prints one line for each; everything is measured in one run against a bare Python.
"""

import asyncio
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from tests.fakes.messages_server import MessagesServer, Script, step
from tests.fakes.program import Program
from tests.fakes.terminal import PtyProgram

_RUNS = 15
_KEYS = 40
_DELTAS = 20_000
_BUDGETS = {
    "first prompt": "250 ms and 3x bare Python",
    "echo": "10 ms",
    "deltas": "2 s CPU",
    "memory": "90 MB",
    "bytes": "3x the text",
}


async def main() -> None:
    """Measure everything and print it."""
    with tempfile.TemporaryDirectory() as folder:
        bare = await _median(lambda: _first(folder, [sys.executable, "-c", "print('\u276f')"]))
        first = await _median(lambda: _first(folder, [sys.executable, "-m", "bridle"]))
        ready = await _median(lambda: _first(folder, [sys.executable, "-m", "bridle"], until="? for keys"))
    _say("first prompt", f"{first * 1000:.0f} ms, bare Python {bare * 1000:.0f} ms ({first / bare:.2f}x)")
    _say("whole program", f"{ready * 1000:.0f} ms")
    await _memory()
    await _echo()
    await _deltas()


async def _median(measure: Callable[[], Awaitable[float]]) -> float:
    return statistics.median([await measure() for _ in range(_RUNS)])


async def _first(folder: str, argv: list[str], *, until: str = "\u276f") -> float:
    program = _program(Path(folder), None)
    began = time.perf_counter()
    async with PtyProgram(argv, env=program.env, cwd=program.project) as terminal:
        wanted = until.encode()
        await terminal.until(lambda _: wanted in terminal.output)
        return time.perf_counter() - began


async def _memory() -> None:
    async with _Session([]) as terminal:
        _say("memory", f"{_status_kb(terminal.process.pid, 'VmRSS') / 1024:.0f} MB after start")


async def _echo() -> None:
    """Type while an answer streams, and see how long each key takes to appear."""
    text = "Some **words** of a long answer, with `code` and more.\n\n" * 4_000
    async with _Session([step(text, piece=12, write=1_200, pause=0.01)]) as terminal:
        terminal.type("go\r")
        await terminal.until_text("long answer")
        took: list[float] = []
        typed = ""
        for number in range(_KEYS):
            typed += chr(ord("a") + number % 26)
            began = time.perf_counter()
            terminal.type(typed[-1])
            await terminal.until(lambda screen, wanted=f"\u276f {typed}": wanted in screen.rows)
            took.append(time.perf_counter() - began)
        _say("echo", f"{statistics.median(took) * 1000:.1f} ms median, {max(took) * 1000:.0f} ms at most")


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
        argv = [sys.executable, "-m", "bridle"]
        self._terminal = PtyProgram(argv, env=program.env, cwd=program.project)
        await self._terminal.__aenter__()
        await self._terminal.until_text("? for keys")
        return self._terminal

    async def __aexit__(self, *_: object) -> None:
        await self._terminal.__aexit__(None, None, None)
        await self._server.__aexit__(None, None, None)
        self._folder.cleanup()


def _program(folder: Path, url: str | None) -> Program:
    program = Program(folder, url or "http://127.0.0.1:9", CLAUDE_CODE_ENABLE_PROMPT_SUGGESTION="0")
    program.env["BRIDLE_TRUST_FOLDER"] = str(program.project)
    program.env.pop("PYTHONDONTWRITEBYTECODE", None)
    return program


def _cpu(pid: int) -> float:
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _status_kb(pid: int, name: str) -> int:
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(f"{name}:"))


def _say(name: str, text: str) -> None:
    budget = f"  (budget {_BUDGETS[name]})" if name in _BUDGETS else ""
    sys.stdout.write(f"{name:<14} {text}{budget}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(main())
