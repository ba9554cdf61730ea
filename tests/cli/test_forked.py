"""A program that is forked, as most tests have it, is the program that users start."""

import asyncio
import json
import re
import subprocess
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from signal import SIGINT, SIGKILL, SIGTERM, Signals
from typing import Any

import pytest

from bridle.cli.flags import ALIASES, SUBCOMMANDS
from tests.fakes.forked import INSTALLED, command, fork, python, start_afresh
from tests.fakes.messages_server import MessagesServer, step
from tests.fakes.program import Done, Program, lines, user

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
_UNSEEN = {*SUBCOMMANDS, *ALIASES} - {line[0] for line in _LINES}
_LINES.extend((verb, "--no-such-flag") for verb in sorted(_UNSEEN))
_STREAM = ("-p", "--output-format", "stream-json", "--verbose", "--allowedTools", "Bash")
_LISTENS = ("--output-format", "stream-json", "--verbose", "--input-format", "stream-json")
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
            _LISTENS,
            cwd=program.project, env=program.env, stdin=PIPE, stdout=PIPE, stderr=PIPE,
        )  # fmt: skip
        assert process.returncode is None
        process.kill()
        assert await process.wait() == -9


@pytest.mark.parametrize(("number", "code"), [(SIGTERM, 143), (SIGINT, 130)])
async def test_a_signal_to_the_command_is_one_to_the_run(tmp_path: Path, number: Signals, code: int):
    async with _commanded(tmp_path) as process:
        process.send_signal(number)
        assert await process.wait() == code


async def test_a_run_is_killed_with_its_command(tmp_path: Path):
    async with _commanded(tmp_path) as process:
        process.kill()
        assert await process.wait() == -SIGKILL
        assert process.stdout is not None
        await process.stdout.read()  # Ends with the run, whose input is still open.


@pytest.mark.parametrize(("env", "program"), [({}, command), ({"LC_TIME": "C"}, lambda: INSTALLED)])
async def test_the_command_has_an_interpreter_of_its_own_where_it_needs_one(
    tmp_path: Path, env: dict[str, str], program: Callable[[], str]
):
    async with _commanded(tmp_path, **env) as process:
        assert program() in Path(f"/proc/{process.pid}/cmdline").read_text().split("\0")


@pytest.mark.parametrize(
    "argv",
    [
        ("-c", "import sys; print(__name__, sys.argv, sys.path[0]); sys.exit(3)", "a", "-b"),
        ("-B", "-m", "json.tool", "--help"),
        ("script.py", "a", "b"),
        ("-c", "raise ValueError('no')"),
        ("-X", "dev", "-c", "import sys; print(sys.flags.dev_mode)"),
    ],
)
def test_both_pythons_do_the_same(tmp_path: Path, argv: tuple[str, ...]):
    (tmp_path / "script.py").write_text(
        "import sys\nprint(__file__, sys.argv[1:], sys.path[0])\nsys.exit('end')\n"
    )
    ways = [
        subprocess.run([path, *argv], cwd=tmp_path, capture_output=True, text=True, check=False)
        for path in (python(), sys.executable)
    ]
    ours, users = ((way.returncode, way.stdout, way.stderr.splitlines()[-1:]) for way in ways)
    assert ours == users


@asynccontextmanager
async def _commanded(folder: Path, **env: str) -> AsyncGenerator[Process]:
    """A run that was begun with the command for other programs, after its first turn."""
    async with MessagesServer([step("Hello.")]) as server:
        program = Program(folder, server.url, **env)
        process = await asyncio.create_subprocess_exec(
            command(), *_LISTENS, cwd=program.project, env=program.env, stdin=PIPE, stdout=PIPE
        )
        assert process.stdin is not None and process.stdout is not None
        try:
            async with asyncio.timeout(60):
                process.stdin.write(lines(user("hi")))
                while json.loads(await process.stdout.readline())["type"] != "result":
                    pass
                yield process
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()


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
