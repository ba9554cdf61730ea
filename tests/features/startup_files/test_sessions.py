"""Start-up files of the user in sessions of the real program."""

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.messages_server import MessagesServer, step
from tests.fakes.program import Done, Program

_READS = {"SHELL": "/bin/bash", "BRIDLE_STARTUP_FILES": "1"}
_BASHRC = """\
case $- in *i*) ;; *) return ;; esac
echo "printed by the start-up file"
echo taken >> ~/taken
alias ll='ls -alF'
alias ls='echo not the program'
alias gp='git push'
alias hi='echo hello'
export PATH="$HOME/tools:$PATH"
set -o pipefail
greet() { echo "greetings $1"; }
cd() { echo "not the builtin"; }
"""


async def _run(program: Program, server: MessagesServer, *commands: str, flags: tuple[str, ...] = ()) -> Done:
    uses: list[Any] = [
        {"type": "tool_use", "id": f"t{n}", "name": "Bash", "input": {"command": command}}
        for n, command in enumerate(commands)
    ]
    server.script([step(*uses), step("done")])
    return await program.run("-p", "go", *flags)


def _results(server: MessagesServer) -> dict[str, str]:
    last: Any = server.requests[-1].body["messages"][-1]["content"]
    return {each["tool_use_id"]: str(each["content"]) for each in last if each["type"] == "tool_result"}


async def test_commands_know_what_the_start_up_files_define_and_checked_words_stay_what_they_are(
    tmp_path: Path,
):
    """S18"""
    async with MessagesServer([]) as server:
        program = Program(tmp_path, server.url, **_READS)
        (program.home / ".bashrc").write_text(_BASHRC)
        tools = program.home / "tools"
        tools.mkdir()
        (tools / "mytool").write_text("#!/bin/sh\necho mine\n")
        (tools / "mytool").chmod(0o755)
        (program.project / "seen.txt").write_text("x")
        commands = (
            "hi there && greet you", "mytool", "ls", "cd / && hi", "ll nowhere", "false | true",
            "gp origin", "command -v hi || true",
        )  # fmt: skip
        allowed = ("--allowedTools", "Bash(hi:*),Bash(greet:*),Bash(mytool),Bash(cd:*),Bash(gp:*)")
        denied = ("--disallowedTools", "Bash(git push:*)")
        done = await _run(program, server, *commands, flags=(*allowed, *denied))
        results = _results(server)

    assert done.code == 0, done.err
    assert results["t0"] == "hello there\ngreetings you"
    assert results["t1"] == "mine"
    assert results["t2"] == "seen.txt"
    assert "not the builtin" not in results["t3"]
    assert "comes from your start-up files: alias of ls -alF" in results["t4"]
    assert "Exit code 1" not in results["t5"]  # What only reads runs in plain bash.
    assert "denied by rule Bash(git push:*)" in results["t6"]
    assert (program.home / "taken").read_text() == "taken\n"
    kept = list((program.home / ".claude" / "shell-snapshots").iterdir())
    assert len(kept) == 2
    assert [os.stat(each).st_mode & 0o777 for each in kept] == [0o600, 0o600]

    async with MessagesServer([]) as server:
        program.env["ANTHROPIC_BASE_URL"] = server.url
        await _run(program, server, "hi again", flags=("--allowedTools", "Bash(hi:*)"))
        assert _results(server)["t0"] == "hello again"
        assert (program.home / "taken").read_text() == "taken\n"
        (program.home / ".bashrc").write_text(_BASHRC.replace("echo hello", "echo good day"))
        await _run(program, server, "hi again", flags=("--allowedTools", "Bash(hi:*)"))
        assert _results(server)["t0"] == "good day again"
    assert (program.home / "taken").read_text() == "taken\ntaken\n"


async def test_start_up_files_that_fail_are_named_and_commands_run_without_them(tmp_path: Path):
    async with MessagesServer([]) as server:
        program = Program(tmp_path, server.url, **_READS)
        (program.home / ".bashrc").write_text("alias hi='echo hello'\nexit 3\n")
        done = await _run(program, server, "echo still here")
        assert _results(server)["t0"] == "still here"

    why = "they did not finish (the shell ended with exit code 3)"
    assert f"Your start-up files for bash were not read: {why}." in done.err


async def test_a_project_has_no_say_in_start_up_files(tmp_path: Path):
    async with MessagesServer([]) as server:
        program = Program(tmp_path, server.url, **_READS)
        evil = program.project / "evil.sh"
        evil.write_text("alias hi='echo evil'\ntouch ~/ran\n")
        (program.project / ".zshrc").write_text("touch ~/ran\n")
        (program.project / ".bashrc").write_text("touch ~/ran\n")
        (program.home / ".bashrc").write_text('[ -n "$MINE" ] && . "$MINE"\nalias hi="echo hello"\n')
        more = {"BASH_ENV": str(evil), "ENV": str(evil), "ZDOTDIR": str(program.project), "MINE": str(evil)}
        server.script(
            [step({"type": "tool_use", "id": "t0", "name": "Bash", "input": {"command": "hi"}}), step("x")]
        )
        await program.run("-p", "go", "--allowedTools", "Bash(hi:*)", **more)
        assert _results(server)["t0"] == "hello"

        (program.home / ".bashrc").unlink()
        (program.home / ".bashrc").symlink_to(evil)
        done = await _run(program, server, "hi", flags=("--allowedTools", "Bash(hi:*)"))
        assert "command not found" in _results(server)["t0"]
        assert "belongs to the folder of this session" in done.err
    assert not (program.home / "ran").exists()


@pytest.mark.skipif(shutil.which("zsh") is None, reason="zsh is not installed")
async def test_zsh_runs_what_it_reads_like_bash_and_asks_about_the_rest(tmp_path: Path):
    zsh = str(shutil.which("zsh"))
    async with MessagesServer([]) as server:
        program = Program(tmp_path, server.url, SHELL=zsh, CLAUDE_CODE_SHELL=zsh, BRIDLE_STARTUP_FILES="1")
        (program.home / ".zshrc").write_text(
            "alias hi='echo hello'\nalias -g G='| cat'\npath=(~/tools $path)\n"
            'second() { local -a words=(a b); print "$words[2]" }\n'
        )
        commands = ("hi there", "second", "which_shell 'a b'", "=hi x", "echo {a,b}", "hi G")
        (program.home / "tools").mkdir()
        script = program.home / "tools" / "which_shell"
        script.write_text('#!/bin/sh\nps -o comm= -p $PPID; echo "$1"\n')
        script.chmod(0o755)
        rules = "Bash(hi:*),Bash(second),Bash(which_shell:*),Bash(=hi:*)"
        done = await _run(program, server, *commands, flags=("--allowedTools", rules))
        results = _results(server)

    assert done.code == 0, done.err
    assert results["t0"] == "hello there"
    assert results["t1"] == "b"
    assert results["t2"].endswith("a b")
    assert "zsh may read it in another way than bash" in results["t3"]
    assert results["t4"] == "a b"
    assert results["t5"] == "hello G"
