"""S2, S50: deny rules hold for everything that a confined command starts, through the whole program."""

import json
import os
from pathlib import Path

from tests.fakes.messages_server import MessagesServer, step
from tests.fakes.program import Program

_SCRIPT = """
cat .env; cat sub/.env; echo x > new.lock; echo x > fine
hostname > ran; hostnam''e >> ran; "$(command -v hostname)" >> ran
"""


async def test_rules_for_files_and_programs_hold_in_scripts_that_nobody_read(tmp_path: Path):
    call = {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "bash ./script"}}
    rules = {"deny": ["Read(.env)", "Edit(*.lock)", "Bash(hostname:*)"]}
    settings = json.dumps({"sandbox": {"enabled": True}, "permissions": rules})
    async with MessagesServer([step(call), step("done")]) as server:
        program = Program(tmp_path, server.url)
        (program.project / "script").write_text(_SCRIPT)
        (program.project / "sub").mkdir()
        for name in (".env", "sub/.env"):
            (program.project / name).write_text("s3cret")
        done = await program.run("-p", "go", "--settings", settings)
    assert (done.code, done.out) == (0, "done\n")
    assert "s3cret" not in json.dumps(program.rows())
    assert sorted(os.listdir(program.project)) == [".env", "fine", "ran", "script", "sub"]
    assert (program.project / "ran").read_text() == ""


async def test_rules_from_the_command_line_count_too(tmp_path: Path):
    call = {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "bash ./script"}}
    async with MessagesServer([step(call), step("done")]) as server:
        program = Program(tmp_path, server.url)
        (program.project / "script").write_text("cat .env; hostname > ran")
        (program.project / ".env").write_text("s3cret")
        flags = ("--disallowedTools", "Read(.env)", "Bash(hostname:*)")
        settings = '{"sandbox": {"enabled": true}}'
        await program.run("-p", "go", "--settings", settings, *flags)
    assert "s3cret" not in json.dumps(program.rows())
    assert (program.project / "ran").read_text() == ""
