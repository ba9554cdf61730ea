import asyncio
import os
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
import pytest_asyncio

from bridle.host.background import BackgroundShells
from bridle.tools.shell.bash import TOOL, BashInput
from bridle.types.errors import ToolError
from bridle.types.services.tasks import Task
from bridle.types.tool import ToolContext, ToolOutput
from bridle.types.workspace import Workspace
from tests.fakes.processes import eventually, is_running, read_number
from tests.fakes.tool_context import FakeProgress, make_context

_SOON = 50
"""Seconds: what would wait without end takes minutes, and a busy machine takes seconds."""


class Room:
    """A session's shells in a project directory."""

    def __init__(self, path: Path) -> None:
        self.path = path / "project"
        self.path.mkdir()
        self.storage = path / "storage"
        self.changes: list[Task] = []
        self.progress = FakeProgress()
        self.shells = BackgroundShells(
            str(self.storage), on_change=self.changes.append, most_output=3_000_000
        )
        self.workspace = Workspace(str(self.path), tasks=self.shells)
        self._calls = 0

    def context(self, env: Mapping[str, str] | None = None, call_id: str | None = None) -> ToolContext:
        self._calls += 1
        return make_context(
            self.path,
            call_id=call_id or f"call-{self._calls}",
            workspace=self.workspace,
            storage=str(self.storage),
            env=env,
            progress=self.progress,
        )

    async def bash(self, command: str, env: Mapping[str, str] | None = None, **rest: Any) -> ToolOutput:
        input, context = BashInput(command=command, **rest), self.context(env)
        TOOL.check(input, context)
        async with asyncio.timeout(50):
            return await TOOL.run(input, context)


@pytest_asyncio.fixture
async def room(tmp_path: Path) -> AsyncIterator[Room]:
    room = Room(tmp_path)
    yield room
    await room.shells.close()


async def test_output_and_errors_come_back_in_order_without_trailing_blank_lines(room: Room):
    output = await room.bash("echo one; echo two >&2; echo three; echo; echo")
    assert output == ToolOutput(
        content="one\ntwo\nthree",
        data={
            "stdout": "one\ntwo\nthree",
            "stderr": "",
            "interrupted": False,
            "isImage": False,
            "noOutputExpected": False,
        },
        exit_code=0,
    )


async def test_a_failure_starts_with_the_exit_code(room: Room):
    output = await room.bash("echo out; exit 3")
    assert (output.content, output.is_error, output.data["stdout"]) == ("Exit code 3\nout", True, "out")


async def test_a_signal_is_named(room: Room):
    output = await room.bash("kill -KILL $$")
    assert (output.content, output.is_error) == ("Exit code 137 (SIGKILL)", True)


@pytest.mark.parametrize(
    ("command", "meaning"),
    [
        ("grep nothing /dev/null", "No matches found"),
        ("cat /dev/null | egrep x 2>/dev/null", "No matches found"),
        ("true && diff /dev/null /etc/hostname > /dev/null", "The inputs differ"),
        ("[ -e missing ]", "The condition is false"),
        ("test -e missing", "The condition is false"),
    ],
)
async def test_exit_code_one_of_a_question_is_an_answer(room: Room, command: str, meaning: str):
    output = await room.bash(command)
    assert (output.content, output.is_error) == (meaning, False)
    assert output.data["returnCodeInterpretation"] == meaning


async def test_other_exit_codes_of_a_question_are_failures(room: Room):
    assert (await room.bash("grep x missing-file")).is_error
    assert (await room.bash("false")).is_error


async def test_a_command_without_output_has_a_placeholder(room: Room):
    silent = await room.bash("mkdir made")
    other = await room.bash("cat /dev/null")
    assert (silent.content, silent.data["stdout"], silent.data["noOutputExpected"]) == ("Done", "", True)
    assert (other.content, other.data["stdout"], other.data["noOutputExpected"]) == ("(no output)", "", False)


async def test_control_sequences_go_and_text_stays(room: Room):
    output = await room.bash(r"printf '\033[1;31mred\033[0m \033]0;title\007bell\007 \377 gr\303\274n\r\n'")
    assert output.content == "red bell \ufffd grün"


async def test_input_is_empty(room: Room):
    assert (await room.bash("cat; echo over")).content == "over"


async def test_the_directory_carries_over_inside_the_project_and_variables_do_not(room: Room):
    (room.path / "sub dir").mkdir()
    await room.bash("cd 'sub dir'; export KEPT=no; exit 0")
    assert room.workspace.cwd == str(room.path / "sub dir")
    assert (await room.bash("pwd; echo [$KEPT]")).content == f"{room.path}/sub dir\n[]"


async def test_leaving_the_project_is_undone_and_said(room: Room, tmp_path: Path):
    (room.path / "sub").mkdir()
    await room.bash("cd sub")
    output = await room.bash("cd / && echo there")
    notice = f"Shell cwd was reset to {room.path}/sub"
    assert (output.content, output.data["stderr"]) == (f"there\n{notice}", notice)
    assert room.workspace.cwd == str(room.path / "sub")


async def test_a_sibling_whose_name_begins_alike_is_outside(room: Room):
    os.mkdir(f"{room.path}-other")
    assert "Shell cwd was reset" in str((await room.bash(f"cd {room.path}-other")).content)


async def test_a_link_out_of_the_project_does_not_lead_out(room: Room, tmp_path: Path):
    (tmp_path / "outside").mkdir()
    os.symlink(tmp_path / "outside", room.path / "link")
    assert "Shell cwd was reset" in str((await room.bash("cd link")).content)


async def test_added_directories_may_be_entered(room: Room, tmp_path: Path):
    (tmp_path / "added").mkdir()
    room.workspace = Workspace(str(room.path), tasks=room.shells, extra_roots=(str(tmp_path / "added"),))
    assert (await room.bash(f"cd {tmp_path}/added")).content == "Done"
    assert room.workspace.cwd == str(tmp_path / "added")


async def test_a_removed_directory_is_left_for_the_start(room: Room):
    (room.path / "sub").mkdir()
    await room.bash("cd sub")
    (room.path / "sub").rmdir()
    output = await room.bash("pwd")
    assert output.content == f"{room.path}\nShell cwd was reset to {room.path}"


async def test_the_project_directory_can_be_kept(room: Room):
    (room.path / "sub").mkdir()
    output = await room.bash("cd sub", env={"CLAUDE_BASH_MAINTAIN_PROJECT_WORKING_DIR": "1"})
    assert output.content == f"Done\nShell cwd was reset to {room.path}"
    assert room.workspace.cwd == str(room.path)


async def test_children_find_the_variables_they_expect(room: Room):
    names = (
        "CLAUDECODE CLAUDE_CODE_SESSION_ID CLAUDE_CODE_CHILD_SESSION GIT_EDITOR CLAUDE_CODE_ENTRYPOINT MINE"
    )
    output = await room.bash(
        f"for name in {names}; do echo $name=${{!name}}; done",
        env={"CLAUDE_CODE_ENTRYPOINT": "sdk-py", "MINE": "yes", "GIT_EDITOR": "vi"},
    )
    assert output.content == (
        "CLAUDECODE=1\nCLAUDE_CODE_SESSION_ID=session-1\nCLAUDE_CODE_CHILD_SESSION=1\nGIT_EDITOR=true\n"
        "CLAUDE_CODE_ENTRYPOINT=sdk-py\nMINE=yes"
    )


async def test_nobodys_aliases_or_functions_change_the_words(room: Room, tmp_path: Path):
    """S18"""
    (tmp_path / "start").write_text(
        "shopt -s expand_aliases; alias echo='echo changed'; ls() { echo changed; }\n"
    )
    (tmp_path / ".bashrc").write_text("ls() { echo changed; }\n")
    output = await room.bash(
        "ls; echo right; cd d 2>/dev/null; true",
        env={
            "BASH_ENV": str(tmp_path / "start"),
            "ENV": str(tmp_path / "start"),
            "HOME": str(tmp_path),
            "BASH_FUNC_ls%%": "() { echo changed; }",
            "BASHOPTS": "expand_aliases",
            "SHELLOPTS": "xtrace",
            "CDPATH": str(tmp_path),
        },
    )
    assert output.content == "right"


async def test_the_environment_file_is_sourced_first(room: Room, tmp_path: Path):
    (tmp_path / "my env").write_text("export FROM_FILE=1\n")
    output = await room.bash("echo $FROM_FILE", env={"CLAUDE_ENV_FILE": str(tmp_path / "my env")})
    assert output.content == "1"


async def test_the_users_choice_of_bash_is_used_and_shells_comparison_are_not(room: Room, tmp_path: Path):
    (tmp_path / "bash").write_text('#!/bin/sh\necho chosen\nexec /bin/bash "$@"\n')
    (tmp_path / "bash").chmod(0o755)
    assert (await room.bash("true", env={"CLAUDE_CODE_SHELL": str(tmp_path / "bash")})).content == "chosen"
    assert (await room.bash("echo $0", env={"CLAUDE_CODE_SHELL": "/bin/sh"})).content == "bash"


async def test_a_wrapper_of_the_user_runs_each_command_and_gets_it_as_one_word(room: Room, tmp_path: Path):
    wrapper = tmp_path / "wrap"
    wrapper.write_text('#!/bin/sh\necho "$# wrapped"\nexec /bin/bash -c "$1"\n')
    wrapper.chmod(0o755)
    output = await room.bash("echo 'a  b' && false", env={"CLAUDE_CODE_SHELL_PREFIX": str(wrapper)})
    assert "1 wrapped\na  b" in str(output.content) and "Exit code 1" in str(output.content)


async def test_credentials_are_hidden_from_commands_where_a_variable_asks_for_it(room: Room):
    secrets = {
        "ANTHROPIC_API_KEY": "k1",
        "OPENAI_API_KEY": "k2",
        "ANTHROPIC_AUTH_TOKEN": "k3",
        "AWS_SECRET_ACCESS_KEY": "k4",
        "AWS_SESSION_TOKEN": "k5",
        "GOOGLE_APPLICATION_CREDENTIALS": "k6",
    }
    shown = f"echo {' '.join(f'${name}' for name in secrets)} $PLAIN"
    env = {**secrets, "PLAIN": "p"}
    assert (await room.bash(shown, env=env)).content == "k1 k2 k3 k4 k5 k6 p"
    assert (await room.bash(shown, env={**env, "CLAUDE_CODE_SUBPROCESS_ENV_SCRUB": "1"})).content == "p"


async def test_any_text_reaches_the_shell_as_it_is(room: Room):
    assert (await room.bash("""echo 'a'\\''b' "$(echo "c  d")" `echo e` $1 # end""")).content == "a'b c  d e"
    assert (await room.bash("cat <<'EOF'\nx $HOME\nEOF\necho after")).content == "x $HOME\nafter"
    assert "line 1: no-such-program" in str((await room.bash("no-such-program")).content)
    assert (await room.bash("--version")).is_error


async def test_empty_commands_are_refused(room: Room):
    with pytest.raises(ToolError):
        await room.bash("  \n")
    with pytest.raises(ToolError):
        await room.bash("echo \0")


async def test_a_command_too_long_for_the_system_is_an_error_in_words(room: Room):
    with pytest.raises(ToolError, match="script"):
        await room.bash("echo " + "x" * 200_000)


async def test_long_output_is_kept_in_a_private_file_with_a_preview(room: Room):
    """S36"""
    output = await room.bash("seq 1 10000")
    path = str(output.data["persistedOutputPath"])
    assert path == str(room.storage / "tool-results" / "call-1.txt")
    assert os.stat(path).st_mode & 0o777 == 0o600
    assert Path(path).read_text() == "".join(f"{n}\n" for n in range(1, 10001))
    assert path in str(output.content)
    assert "\n1\n2\n3\n" in str(output.content)
    assert "\n9999\n10000\n" in str(output.content)
    assert len(str(output.content)) < 5_000
    assert not output.is_error


async def test_output_up_to_the_limit_is_shown_whole_and_leaves_no_file(room: Room):
    output = await room.bash("printf '%030000d' 7")
    assert (len(str(output.content)), output.data.get("persistedOutputPath")) == (30_000, None)
    assert os.listdir(room.storage / "tool-results") == []


async def test_the_limit_can_be_set(room: Room):
    small = await room.bash("printf '%02000d' 7", env={"BASH_MAX_OUTPUT_LENGTH": "1000"})
    large = await room.bash("printf '%0100000d' 7", env={"BASH_MAX_OUTPUT_LENGTH": "999999"})
    too_large = await room.bash("printf '%0160000d' 7", env={"BASH_MAX_OUTPUT_LENGTH": "999999"})
    assert "persistedOutputPath" in small.data
    assert len(str(large.content)) == 100_000
    assert "persistedOutputPath" in too_large.data


async def test_a_failure_shows_the_beginning_and_the_end_of_long_output(room: Room):
    output = await room.bash("seq 1 4000; exit 2")
    text = str(output.content)
    assert text.startswith("Exit code 2\n1\n2\n")
    assert text.endswith("\n3999\n4000")
    assert str(output.data["persistedOutputPath"]) in text
    assert 9_000 < len(text) < 10_500


async def test_a_flood_ends_the_command(room: Room):
    """R11"""
    output = await room.bash("yes")
    assert output.is_error
    assert "printed too much" in str(output.content)
    assert len(str(output.content)) < 11_000


async def test_a_call_that_comes_again_keeps_the_earlier_output(room: Room):
    for _ in range(2):
        await TOOL.run(BashInput(command="seq 1 10000"), room.context(call_id="odd/../id"))
    assert sorted(os.listdir(room.storage / "tool-results")) == ["odd____id-2.txt", "odd____id.txt"]


async def test_new_output_is_shown_while_the_command_runs(room: Room, tmp_path: Path):
    os.mkfifo(tmp_path / "gate")
    running = asyncio.create_task(room.bash(f"echo first; read line < {tmp_path}/gate; echo $line"))
    await eventually(lambda: room.progress.lines)
    assert room.progress.lines == ["first\n"]
    await asyncio.to_thread((tmp_path / "gate").write_text, "second\n")
    assert (await running).content == "first\nsecond"


async def test_a_command_out_of_time_goes_on_in_the_background(room: Room, tmp_path: Path):
    os.mkfifo(tmp_path / "gate")
    (room.path / "work").write_text(f"echo begun; read line < {tmp_path}/gate; echo $line; exit 5\n")
    output = await room.bash("bash work", timeout=300, description="works")
    task_id = str(output.data["backgroundTaskId"])
    task = room.shells.find(task_id)
    assert task is not None
    assert not output.is_error
    assert output.data["timedOutAfterMs"] == 300
    assert "timed out after 0.3 s" in str(output.content)
    assert task_id in str(output.content)
    assert task.output_file in str(output.content)
    assert "begun" in str(output.content)
    assert (task.status, task.description, task.command) == ("running", "works", "bash work")
    await asyncio.to_thread((tmp_path / "gate").write_text, "more\n")
    ended = await room.shells.wait(task_id, 5)
    assert (ended.status, ended.exit_code) == ("failed", 5)
    assert Path(task.output_file).read_text() == "begun\nmore\n"
    assert room.changes == [task, ended]


@pytest.mark.parametrize(
    "command",
    ["sleep 300", "git --version; tail -f /dev/null", "for i in 1; do tail -f /dev/null; done"],
)
async def test_commands_that_must_not_go_on_are_stopped_when_out_of_time(room: Room, command: str):
    """R6"""
    async with asyncio.timeout(_SOON):
        output = await room.bash(command, timeout=300)
    assert output.is_error
    assert "timed out after 0.3 s and was stopped" in str(output.content)
    assert output.data["timedOutAfterMs"] == 300
    assert room.shells.all() == ()


async def test_a_stuck_command_ends_though_it_ignores_signals_and_a_child_holds_its_output(
    room: Room, tmp_path: Path
):
    """R6"""
    command = (
        f"(trap '' TERM; echo $BASHPID > {tmp_path}/child; while :; do sleep 1; done) & trap '' TERM; wait"
    )
    async with asyncio.timeout(_SOON):
        output = await room.bash(command, timeout=300)
    assert output.is_error
    assert not is_running(read_number(tmp_path / "child") or 0)


@pytest.mark.parametrize(
    ("asked", "env", "limit"),
    [
        (None, {}, 120_000),
        (5, {}, 5),
        (0, {}, 120_000),
        (9_999_999, {}, 600_000),
        (None, {"BASH_DEFAULT_TIMEOUT_MS": "7"}, 7),
        (99, {"BASH_MAX_TIMEOUT_MS": "50", "BASH_DEFAULT_TIMEOUT_MS": "20"}, 50),
        (9_999_999, {"BASH_DEFAULT_TIMEOUT_MS": "800000"}, 800_000),
        (None, {"BASH_DEFAULT_TIMEOUT_MS": "soon"}, 120_000),
    ],
)
def test_the_time_limit_is_bounded_by_the_environment(asked: int | None, env: dict[str, str], limit: int):
    from bridle.tools.shell.bash import _limit_ms

    assert _limit_ms(asked, env) == limit


async def test_interrupting_ends_the_command_and_its_children_at_once(room: Room, tmp_path: Path):
    running = asyncio.create_task(room.bash(f"tail -f /dev/null & echo $! > {tmp_path}/child; wait"))
    await eventually(lambda: read_number(tmp_path / "child"))
    async with asyncio.timeout(_SOON):
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
    assert not is_running(read_number(tmp_path / "child") or 0)
    assert os.listdir(room.storage / "tool-results") == []


async def test_what_a_command_leaves_running_neither_holds_it_up_nor_outlives_the_session(tmp_path: Path):
    room = Room(tmp_path)
    async with asyncio.timeout(_SOON):
        output = await room.bash("sleep 300 & echo $!")
    assert is_running(child := int(str(output.content)))
    await room.shells.close()
    assert not is_running(child)


async def test_a_background_command_returns_at_once_with_its_id_and_file(room: Room):
    output = await room.bash("echo hello", run_in_background=True, description="greets")
    task_id = str(output.data["backgroundTaskId"])
    ended = await room.shells.wait(task_id, 5)
    assert task_id in str(output.content)
    assert ended.output_file in str(output.content)
    assert (ended.status, ended.description, ended.call_id) == ("completed", "greets", "call-1")
    assert room.shells.read(task_id, 100) == "hello\n"


async def test_background_tasks_can_be_turned_off(room: Room):
    env = {"CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1"}
    with pytest.raises(ToolError):
        await room.bash("echo hello", run_in_background=True, env=env)
    output = await room.bash("tail -f /dev/null", timeout=200, env=env)
    assert "was stopped" in str(output.content)


async def test_without_shells_there_is_no_bash(tmp_path: Path):
    with pytest.raises(ToolError):
        await TOOL.run(BashInput(command="true"), make_context(tmp_path))


def test_the_gate_is_told_the_whole_command():
    assert TOOL.subject(BashInput(command="cat a > b")) == "cat a > b"


def test_numbers_and_booleans_written_as_text_are_understood():
    sent = {"command": "x", "timeout": "42", "run_in_background": "true"}
    assert msgspec.convert(sent, BashInput, strict=False) == BashInput(
        command="x", timeout=42, run_in_background=True
    )


async def test_each_process_has_the_memory_that_the_user_lets_it_have(room: Room):
    script = "python3 -c 'x = bytearray(600 * 1024 * 1024); print(len(x))'"
    held = await room.bash(script, {**os.environ, "CLAUDE_CODE_TOOL_MEMORY_LIMIT": "256M"})
    free = await room.bash(script, dict(os.environ))

    assert held.is_error and "MemoryError" in str(held.content)
    assert not free.is_error
    with pytest.raises(ToolError, match="is not a size"):
        await room.bash("true", {**os.environ, "CLAUDE_CODE_TOOL_MEMORY_LIMIT": "lots"})


async def test_hosts_are_told_of_a_commit(room: Room):
    mine = "-c user.name=a -c user.email=b@c -c commit.gpgsign=false"
    made = await room.bash(
        f"git init -q -b main . && GIT_AUTHOR_NAME=a git {mine} commit --allow-empty -m one"
    )
    plain = await room.bash(
        "git config user.name a; git config user.email b@c; git commit --allow-empty -m two"
    )

    assert not made.is_error
    assert plain.data["gitOperation"]["commit"]["kind"] == "committed"
