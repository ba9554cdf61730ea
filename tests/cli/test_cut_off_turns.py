"""A turn whose program was ended is continued where the user wants that."""

from pathlib import Path
from typing import Any

from tests.fakes.messages_server import MessagesServer, step
from tests.fakes.processes import eventually
from tests.fakes.program import Program

_ON = {"CLAUDE_CODE_RESUME_INTERRUPTED_TURN": "1"}


def _last_words(server: MessagesServer) -> str:
    messages: Any = server.requests[-1].body["messages"]
    return str(messages[-1]["content"])


async def test_a_turn_that_was_cut_off_is_continued_and_a_finished_one_is_not(tmp_path: Path):
    async with MessagesServer([step("never", silent_after=0)]) as server:
        program = Program(tmp_path, server.url)
        running = await program.start("-p", "count the files")
        await eventually(lambda: len(server.requests) == 1)
        running.kill()
        await running.wait()

        server.script([step("Three files.")])
        plain = await program.run("-p", "--continue")
        assert plain.code == 1 and "no prompt" in plain.err
        old = await program.run("-p", "--continue", **_ON, CLAUDE_CODE_RESUME_INTERRUPTED_TURN_MAX_AGE_MS="0")
        assert old.code == 1 and "no prompt" in old.err
        done = await program.run("-p", "--continue", **_ON, CLAUDE_CODE_RESUME_PROMPT="Go on, please.")
        assert (done.code, done.out) == (0, "Three files.\n")
        assert "Go on, please." in _last_words(server)
        assert "no prompt" in (await program.run("-p", "--continue", **_ON)).err
