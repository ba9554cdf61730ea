"""The second wall in the whole program: what is stopped is denied with a reason, the rest looks as ever."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from bridle.host.wall.probe import means
from tests.fakes.messages_server import MessagesServer, step
from tests.fakes.program import Program

pytestmark = pytest.mark.skipif(not means().landlock, reason="this kernel has no Landlock")


async def _result_of(tmp_path: Path, command: str, *, before: str = "", **env: str) -> tuple[Program, str]:
    """What the model hears of one command."""
    script = tmp_path / "before.sh"
    script.write_text(before)
    use = {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": command}}
    async with MessagesServer([step(use, stop_reason="tool_use"), step("ok")]) as server:
        program = Program(tmp_path, server.url, **({"CLAUDE_ENV_FILE": str(script)} if before else {}), **env)
        (program.project / "a.txt").write_text("one\n")
        done = await program.run("-p", "go")
        assert done.code == 0, done.err
        body: Any = server.requests[1].body
    return program, json.dumps(body["messages"][-1])


async def test_a_stopped_command_is_denied_with_what_it_tried(tmp_path: Path):
    """The user's own configuration of git names a program that writes; the gate knows nothing of it."""
    for folder in ("home", "project"):
        (tmp_path / folder).mkdir()
    (tmp_path / "home" / ".gitconfig").write_text(
        '[user]\nname = A\nemail = a@b.c\n[diff "x"]\ntextconv = "touch pwned; cat"\n'
    )
    (tmp_path / "project" / ".gitattributes").write_text("*.txt diff=x\n")
    (tmp_path / "project" / "b.txt").write_text("two\n")
    for words in (("init", "-q"), ("add", "."), ("commit", "-qm", "begin")):
        env = {"HOME": str(tmp_path / "home"), "PATH": os.environ["PATH"]}
        subprocess.run(("git", *words), cwd=tmp_path / "project", check=True, env=env)
    program, said = await _result_of(tmp_path, "git show HEAD", BRIDLE_TRUST_FOLDER=str(tmp_path / "project"))
    assert f"tried to write {program.project / 'pwned'}" in said
    assert not (program.project / "pwned").exists()
    (line,) = (program.home / ".claude" / "bridle" / "gate-defects.jsonl").read_text().splitlines()
    assert json.loads(line)["command"] == "git show HEAD"


async def test_a_harmless_command_looks_as_ever(tmp_path: Path):
    _, said = await _result_of(tmp_path, "cat a.txt && ls missing", before="export DEPLOY_TOKEN=canary\n")
    assert "one" in said and "cannot access 'missing'" in said and "canary" not in said
