import asyncio
import fcntl
import os
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
import pytest_asyncio

from bridle.config.load import load
from bridle.config.sandbox.settings import make_sandbox
from bridle.host.background import BackgroundShells
from bridle.tools.shell.bash import TOOL, BashInput
from bridle.types.errors import ToolError
from bridle.types.permission import Permit
from bridle.types.question import Answer, NetworkQuestion, Refused
from bridle.types.sandbox import Sandbox
from bridle.types.services.tasks import Task
from bridle.types.tool import ToolOutput
from bridle.types.workspace import Workspace
from tests.fakes.messages_server import MessagesServer, step
from tests.fakes.processes import eventually
from tests.fakes.program import Program
from tests.fakes.tool_context import make_context


class Room:
    """A session whose shells run in a sandbox that its settings ask for."""

    def __init__(self, path: Path) -> None:
        self.path = path / "project"
        self.path.mkdir()
        self.base = path
        self.changes: list[Task] = []
        self.questions: list[NetworkQuestion] = []
        self.warnings: list[str] = []
        self.shells = BackgroundShells(str(path / "storage"), on_change=self.changes.append)
        self.workspace = Workspace(str(self.path), tasks=self.shells)
        self.env = {**os.environ, "HOME": str(path), "CLAUDE_CONFIG_DIR": str(path / "config")}
        self.sandbox: Sandbox | None = None
        self._calls = 0

    async def open(self, settings: Mapping[str, Any] | None = None) -> Sandbox:
        text = msgspec.json.encode({"sandbox": {"enabled": True, **(settings or {})}}).decode()
        config = load(
            cwd=str(self.path),
            env=self.env,
            flag=text,
            setting_sources=(),
            managed_dir=str(self.base / "managed"),
        )
        self.sandbox = await make_sandbox(
            config,
            cwd=str(self.path),
            env=self.env,
            roots=lambda: self.workspace.roots,
            ask=self._ask,
            warn=self.warnings.append,
        )
        assert self.sandbox is not None
        return self.sandbox

    async def close(self) -> None:
        await self.shells.close()
        if self.sandbox is not None:
            await self.sandbox.close()

    async def bash(self, command: str, **rest: Any) -> ToolOutput:
        self._calls += 1
        context = make_context(
            self.path,
            call_id=f"call-{self._calls}",
            workspace=self.workspace,
            storage=str(self.base / "storage"),
            env=self.env,
        )
        permit = Permit(sandbox=self.sandbox or await self.open())
        context = msgspec.structs.replace(context, permit=permit)
        async with asyncio.timeout(50):
            return await TOOL.run(BashInput(command=command, **rest), context)

    async def _ask(self, question: NetworkQuestion) -> Answer:
        self.questions.append(question)
        return Refused(message="no")


@pytest_asyncio.fixture
async def room(tmp_path: Path) -> AsyncIterator[Room]:
    room = Room(tmp_path)
    yield room
    await room.close()


async def test_command_runs_inside_and_its_output_is_shown(room: Room):
    output = await room.bash("echo hello; echo x > file; echo x > ../outside")
    assert str(output.content).startswith("Exit code 1\nhello\n")
    assert "dangerouslyDisableSandbox" in str(output.content)
    assert (room.path / "file").exists()
    assert not (room.base / "outside").exists()


async def test_success_is_not_commented(room: Room):
    output = await room.bash("echo 'Permission denied'")
    assert output.content == "Permission denied"


async def test_directory_changes_are_followed(room: Room):
    (room.path / "sub").mkdir()
    await room.bash("cd sub")
    assert room.workspace.cwd == str(room.path / "sub")
    assert (await room.bash("pwd")).content == str(room.path / "sub")


async def test_background_job_runs_inside_and_can_be_stopped(room: Room):
    output = await room.bash("echo started; (setsid sleep 600 &); sleep 600", run_in_background=True)
    task_id = output.data["backgroundTaskId"]
    await eventually(lambda: room.shells.read(task_id, 100) == "started\n")
    assert (room.path / ".git").is_dir()
    task = await room.shells.stop(task_id)
    assert task.status == "killed"
    await eventually(lambda: not os.path.lexists(room.path / ".git"))


async def test_time_limit_ends_a_command_and_its_daemons(room: Room):
    output = await room.bash("setsid sleep 600 & sleep 600", timeout=300)
    assert output.is_error or "background" in str(output.content)
    await room.shells.close()
    await eventually(lambda: not os.path.lexists(room.path / ".git"))


async def test_interrupt_ends_the_command(room: Room):
    await room.open()
    call = asyncio.create_task(room.bash("echo x > started; sleep 600"))
    await eventually((room.path / "started").exists)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await eventually(lambda: not os.path.lexists(room.path / ".git"))


async def test_what_was_left_running_goes_on_until_the_session_ends(room: Room):
    held = room.path / "held"
    await room.bash("(exec 9> held; flock 9; echo up > ready; while sleep 1; do :; done) > /dev/null 2>&1 &")
    await eventually((room.path / "ready").exists)
    assert not _is_free(held)
    await room.close()
    room.sandbox = None
    await eventually(lambda: _is_free(held))


def _is_free(path: Path) -> bool:
    """Whether no process, in whatever namespace, holds the lock of a file."""
    with path.open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


async def test_approved_call_runs_outside(room: Room):
    await room.bash("echo x > ../outside", dangerouslyDisableSandbox=True)
    assert (room.base / "outside").exists()


async def test_call_stays_inside_where_leaving_is_forbidden(room: Room):
    await room.open({"allowUnsandboxedCommands": False})
    output = await room.bash("echo x > ../outside", dangerouslyDisableSandbox=True)
    assert output.is_error
    assert not (room.base / "outside").exists()


async def test_excluded_command_runs_outside(room: Room):
    await room.open({"excludedCommands": ["touch *"]})
    await room.bash("touch ../outside")
    assert (room.base / "outside").exists()


async def test_nothing_runs_where_no_sandbox_can_be_set_up(room: Room):
    text = '{"sandbox": {"enabled": true}}'
    config = load(cwd=str(room.path), env=room.env, flag=text, setting_sources=(), managed_dir="/nowhere")
    room.sandbox = await make_sandbox(
        config, cwd=str(room.path), env=room.env, roots=lambda: room.workspace.roots,
        ask=room._ask, warn=room.warnings.append, platform="plan9",
    )  # fmt: skip
    with pytest.raises(ToolError):
        await room.bash("touch file")
    with pytest.raises(ToolError):
        await room.bash("touch file", run_in_background=True)
    assert not (room.path / "file").exists()
    assert len(room.warnings) == 1


async def test_refused_host_is_named_in_the_result(room: Room):
    output = await room.bash(
        "exec 3<>/dev/tcp/127.0.0.1/3128; printf 'CONNECT nowhere.invalid:443 HTTP/1.1\\r\\n\\r\\n' >&3;"
        " head -1 <&3; exit 1"
    )
    assert "403" in str(output.content)
    assert "nowhere.invalid:443" in str(output.content)
    assert room.questions == [NetworkQuestion(host="nowhere.invalid", port=443)]


async def test_credentials_are_hidden_or_masked(room: Room):
    (room.path / "key").write_text("hush")
    room.env["TOKEN"] = "hush"
    await room.open(
        {
            "credentials": {
                "files": [{"path": str(room.path / "key"), "mode": "deny"}],
                "envVars": [{"name": "TOKEN", "mode": "mask"}],
            }
        }
    )
    output = await room.bash("echo [$TOKEN]; cat key")
    assert "hush" not in str(output.content)
    assert "[bridle_" in str(output.content)
    assert [warning.count("tlsTerminate") for warning in room.warnings] == [1]


async def test_program_runs_commands_inside_without_asking(tmp_path: Path):
    command = "echo made > inside; echo made > ../outside; echo made > .mcp.json; ls /proc | grep -c '^[0-9]'"
    call = {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": command}}
    async with MessagesServer([step(call), step("done")]) as server:
        program = Program(tmp_path, server.url)
        done = await program.run("-p", "go", "--settings", '{"sandbox": {"enabled": true}}')
    assert (done.code, done.out, done.err) == (0, "done\n", "")
    assert os.listdir(program.project) == ["inside"]
    assert not (tmp_path / "outside").exists()
