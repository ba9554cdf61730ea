"""The profile of a start, of the program as users start it."""

import asyncio
import sys
from asyncio.subprocess import DEVNULL, PIPE
from pathlib import Path

from tests.fakes.messages_server import MessagesServer, step
from tests.fakes.program import Program


async def test_a_profiled_start_names_its_parts_in_order_and_leaves_the_answer_alone(tmp_path: Path):
    async with MessagesServer([step("ok")]) as server:
        program = Program(tmp_path, server.url, CLAUDE_CODE_PROFILE_STARTUP="1")
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "bridle", "-p", "hi",
            cwd=program.project, env=program.env, stdin=DEVNULL, stdout=PIPE, stderr=PIPE,
        )  # fmt: skip
        out, err = await process.communicate()
    assert (process.returncode, out) == (0, b"ok\n")
    head, *rows = err.decode().splitlines()
    assert head == "start-up profile"
    names = [row.split(maxsplit=4)[-1] for row in rows[1:]]
    assert names[:2] == ["start", "command line"] and names[-2:] == ["first connection", "end"]
