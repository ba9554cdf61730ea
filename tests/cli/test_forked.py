"""A program that is forked, as most tests have it, is the program that users start."""

import asyncio
import re
from asyncio.subprocess import PIPE, Process
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

from bridle.cli.main import SUBCOMMANDS
from tests.fakes.forked import fork, start_afresh
from tests.fakes.messages_server import MessagesServer, step
from tests.fakes.program import Done, Program

_Way = Callable[..., Awaitable[Process]]
_LINES = [
    ("--version",),
    ("--help",),
    ("--no-such-flag",),
    ("-p", "hi", "--model", "offline"),
    ("-p",),
    ("agents", "--json"),
    ("auth", "status"),
    ("config", "list"),
    ("doctor",),
    ("hooks", "list"),
    ("mcp", "list"),
    ("models",),
    ("plugin", "list"),
    ("policy", "why", "Bash(ls)"),
    ("schedules",),
    ("trust", "--status"),
    ("usage",),
    ("plugins", "list"),
]
_LINES.extend((verb, "--no-such-flag") for verb in sorted(set(SUBCOMMANDS) - {line[0] for line in _LINES}))
_STREAM = ("-p", "--output-format", "stream-json", "--verbose", "--allowedTools", "Bash")
_CHANGING = re.compile(r"\b[0-9a-f]{8}-[0-9a-f-]{27}\b|\b\d+(\.\d+)? ?(ms|s|KB|MB|GB)\b|:\[\d+\]")


async def test_both_ways_say_the_same_for_every_verb(tmp_path: Path):
    said = await asyncio.gather(_said(tmp_path / "a", fork), _said(tmp_path / "b", start_afresh))
    pairs = zip(_LINES, *said, strict=True)
    assert [(line, ours, users) for line, ours, users in pairs if ours != users] == []


async def test_both_ways_have_the_same_conversation(tmp_path: Path):
    command = "pwd; umask; ulimit -a; echo $WORD; trap; readlink /proc/self/fd/*; cat"
    seen: list[tuple[Any, Any]] = []
    for way in (fork, start_afresh):
        call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": command}}
        async with MessagesServer([step(call), step("Done.")]) as server:
            program = Program(tmp_path, server.url, WORD="ñ")
            done = await _run(program, way, _STREAM, b"a prompt from a pipe\n")
            assert done.code == 0, done.err
            shown = server.requests[1].body["messages"][-1]["content"][0]["content"]
            seen.append(([frame["type"] for frame in done.frames], _CHANGING.sub("·", shown)))
    assert seen[0] == seen[1]
    assert str(program.project) in seen[0][1] and "ñ" in seen[0][1]


async def test_a_signal_ends_a_forked_program(tmp_path: Path):
    async with MessagesServer([step("never read")]) as server:
        program = Program(tmp_path, server.url)
        process = await fork(
            ("--output-format", "stream-json", "--verbose", "--input-format", "stream-json"),
            cwd=program.project, env=program.env, stdin=PIPE, stdout=PIPE, stderr=PIPE,
        )  # fmt: skip
        assert process.returncode is None
        process.kill()
        assert await process.wait() == -9


async def _said(folder: Path, way: _Way) -> list[tuple[int, str, str]]:
    """What the program says to each line, in words that do not change from run to run."""
    folder.mkdir()
    program = Program(folder)
    ends: list[tuple[int, str, str]] = []
    for line in _LINES:
        done = await _run(program, way, line)
        out, err = (_CHANGING.sub("·", text.replace(str(folder), "")) for text in (done.out, done.err))
        ends.append((done.code, out, err))
    return ends


async def _run(program: Program, way: _Way, argv: Sequence[str], data: bytes = b"") -> Done:
    process = await way(argv, cwd=program.project, env=program.env, stdin=PIPE, stdout=PIPE, stderr=PIPE)
    async with asyncio.timeout(60):
        out, err = await process.communicate(data)
    assert process.returncode is not None
    return Done(process.returncode, out.decode(), err.decode())
