"""R6, R7, R15: commands behind the wall end like others, and leave nothing open."""

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import msgspec

from bridle.tools.shell.bash import TOOL, BashInput
from bridle.types.permission import Permit
from bridle.types.workspace import Workspace
from tests.fakes.judged import FakeJudged
from tests.fakes.processes import eventually
from tests.fakes.tool_context import make_context


async def test_two_hundred_commands_leave_no_descriptor_and_no_thread(judged: FakeJudged):
    await judged.run("true")
    before = len(os.listdir("/proc/self/fd"))
    for number in range(200):
        ran = await judged.run("echo x >/dev/null; echo done" if number % 2 else "touch pwned")
        assert ran.refusal is None if number % 2 else ran.refusal is not None
    await eventually(
        lambda: len(os.listdir("/proc/self/fd")) <= before and threading.active_count() <= 20, seconds=30
    )
    assert not (judged.project / "pwned").exists()


async def test_many_at_once_do_not_mix(judged: FakeJudged):
    ran = await asyncio.gather(*(judged.run(f"echo {number} | cat 2>/dev/null") for number in range(30)))
    assert [each.said for each in ran] == [f"{number}\n" for number in range(30)]


async def test_a_stuck_command_ends_with_all_its_children(judged: FakeJudged):
    ran = await judged.run("trap '' TERM; sleep 600 & sleep 600", timeout=0.3)
    assert ran.code != 0
    found = subprocess.run(("pgrep", "-f", "^sleep 600$"), capture_output=True, check=False, text=True).stdout
    for pid in found.split():
        assert str(judged.project) not in _cwd(pid)


def _cwd(pid: str) -> str:
    try:
        return os.readlink(f"/proc/{pid}/cwd")
    except OSError:
        return ""


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


async def test_interrupting_ends_the_command(judged: FakeJudged):
    """R8"""
    workspace = Workspace(str(judged.project), tasks=judged.shells)
    context = make_context(
        judged.project, call_id="c", workspace=workspace, storage=str(judged.home / "s"), env=judged.env
    )
    context = msgspec.structs.replace(context, permit=Permit(view=judged.view("read")))
    pipe = judged.project / "pipe"
    os.mkfifo(pipe)
    call = asyncio.ensure_future(TOOL.run(BashInput(command="exec cat pipe"), context))
    async with asyncio.timeout(60):
        # Opening the other end waits until the command has opened its own.
        inlet = await asyncio.to_thread(os.open, pipe, os.O_WRONLY)
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
    assert call.cancelled()
    os.close(inlet)


async def test_nothing_outlives_a_killed_program(judged: FakeJudged, tmp_path: Path):
    """R7"""
    script = tmp_path / "session.py"
    script.write_text(
        "import asyncio, os, sys\n"
        "from pathlib import Path\n"
        "from tests.fakes.judged import FakeJudged\n"
        "async def main():\n"
        "    judged = FakeJudged(Path(sys.argv[1]))\n"
        "    await judged.run('echo $$; exec sleep 600 >/dev/null', timeout=600)\n"
        "asyncio.run(main())\n"
    )
    base = tmp_path / "other"
    base.mkdir()
    program = await asyncio.create_subprocess_exec(
        sys.executable,
        str(script),
        str(base),
        cwd=Path(__file__).parents[3],
        env={**os.environ, "PYTHONPATH": "."},
    )
    printed = base / "storage" / "1.txt"
    await eventually(lambda: printed.exists() and printed.read_text().strip())
    pid = int(printed.read_text())
    program.send_signal(signal.SIGKILL)
    await program.wait()
    await eventually(lambda: "sleep" not in _command(pid))


async def test_what_a_command_leaves_running_is_still_held(judged: FakeJudged):
    os.mkfifo(judged.project / "pipe")
    ran = await judged.run("(cat pipe; touch pwned; echo more) >/dev/null 2>&1 & echo $!")
    async with asyncio.timeout(50):
        os.close(await asyncio.to_thread(os.open, judged.project / "pipe", os.O_WRONLY))
    await eventually(lambda: _cwd(ran.said.strip()) != str(judged.project))
    assert not (judged.project / "pwned").exists()


async def test_what_a_killed_session_left_is_removed(judged: FakeJudged, tmp_path: Path):
    """R4"""
    gone = subprocess.Popen(("true",))
    gone.wait()
    left = Path(tempfile.gettempdir(), f"bridle-judged-{gone.pid}-0123456789abcdef")
    (left / "deep").mkdir(parents=True)
    await judged.run("true")
    assert not left.exists()
    folder = judged.shells.holds.temporary
    assert os.path.isdir(folder) and oct(os.stat(folder).st_mode & 0o777) == "0o700"
    await judged.shells.close()
    assert not os.path.exists(folder)
