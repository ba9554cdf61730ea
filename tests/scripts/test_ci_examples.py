"""The examples for CI do what they say; the lines are run by a shell, as a runner does."""

import asyncio
import json
import os
import re
import subprocess
import sys
from pathlib import Path

from tests.fakes.messages_server import MessagesServer, step
from tests.fakes.program import Program

_EXAMPLES = Path(__file__).parents[2] / "examples" / "ci"
_HOOK = {"hooks": {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": "touch hook-ran"}]}]}}


def _script(name: str) -> list[str]:
    text = (_EXAMPLES / name).read_text(encoding="utf-8")
    return re.findall(r"^    - (.+)$", text.split("  script:\n")[1].split("  artifacts:")[0], re.MULTILINE)


def _with_hook(program: Program) -> None:
    (program.project / ".claude").mkdir()
    (program.project / ".claude" / "settings.json").write_text(json.dumps(_HOOK))


def _in_path(folder: Path) -> str:
    folder.mkdir()
    bridle = folder / "bridle"
    bridle.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m bridle "$@"\n')
    bridle.chmod(0o755)
    (folder / "python3").symlink_to(sys.executable)
    return f"{folder}:{os.environ['PATH']}"


async def test_the_gitlab_job_reviews_a_change_with_the_hooks_of_the_repository(tmp_path: Path):
    async with MessagesServer([step("All good.", repeat=True)]) as server:
        program = Program(tmp_path, server.url)
        _with_hook(program)
        for words in (
            ["init", "-q"],
            ["add", "."],
            ["commit", "-qm", "one"],
            ["commit", "-qm", "two", "--allow-empty"],
        ):
            who = ["-c", "user.name=x", "-c", "user.email=x@example.com"]
            subprocess.run(["git", *who, *words], cwd=program.project, env=program.env, check=True)
        env = {
            **program.env,
            "PATH": _in_path(tmp_path / "bin"),
            "CI_MERGE_REQUEST_DIFF_BASE_SHA": "HEAD~1",
            "CI_PROJECT_DIR": str(program.project),
        }
        job = await asyncio.create_subprocess_exec(
            "bash", "-eo", "pipefail", "-c", "\n".join(_script("gitlab.yml")), cwd=program.project, env=env
        )
        assert await job.wait() == 0
    assert (program.project / "review.md").read_text() == "All good.\n"
    assert (program.project / "hook-ran").exists()


async def test_without_trust_one_line_and_the_init_message_say_what_was_left_out(tmp_path: Path):
    async with MessagesServer([step("hi", repeat=True)]) as server:
        program = Program(tmp_path, server.url)
        _with_hook(program)
        (program.project / ".mcp.json").write_text('{"mcpServers": {"db": {"command": "true"}}}')
        done = await program.run("-p", "hi", "--output-format", "stream-json", "--verbose")
        trusted = await program.run("-p", "hi", "--trust", "--output-format", "stream-json", "--verbose")
        hosted = await program.run(
            "-p", "hi", "--output-format", "stream-json", "--verbose", CLAUDE_CODE_ENTRYPOINT="sdk-py"
        )
    (line,) = done.err.splitlines()
    assert "hooks (.claude/settings.json), mcpServers.db (.mcp.json)" in line
    assert all(way in line for way in ("--trust", "BRIDLE_TRUST_FOLDER", "bridle trust", "managed settings"))
    keys = [each["key"] for each in done.frames[0]["untrusted"]["left_out"]]
    assert keys == ["hooks", "mcpServers.db"]
    assert (hosted.err, "untrusted" in hosted.frames[0]) == ("", True)
    (init,) = [each for each in trusted.frames if each.get("subtype") == "init"]
    assert "untrusted" not in init
    assert "left out" not in trusted.err
    assert (program.project / "hook-ran").exists()


async def test_a_missing_folder_and_restricted_mode_do_not_end_the_run(tmp_path: Path):
    async with MessagesServer([step("hi", repeat=True)]) as server:
        program = Program(tmp_path, server.url)
        flags = ("--output-format", "stream-json", "--verbose", "--restricted")
        done = await program.run("-p", "hi", *flags, "--add-dir", "/nowhere/at/all")
        named = await program.run("-p", "hi", *flags, "--tools", "Bash,Read")
    assert done.code == 0
    assert done.err == "warning: --add-dir: no such folder: /nowhere/at/all\n"
    assert {"Bash", "WebFetch"}.isdisjoint(done.frames[0]["tools"])
    assert "Bash" in named.frames[0]["tools"]


def test_the_action_is_given_bridle_in_one_line():
    text = (_EXAMPLES / "github.yml").read_text(encoding="utf-8")
    assert "path_to_claude_code_executable: ${{ steps.bridle.outputs.path }}" in text
    assert "uses: anthropics/claude-code-base-action@" in text
