import asyncio
from pathlib import Path

import pytest

from bridle.host.background import BackgroundShells
from bridle.tools.tasks.task_stop import TOOL, TaskStopInput
from bridle.types.errors import ToolError
from tests.fakes.processes import eventually, is_running, read_number
from tests.fakes.tool_context import make_context


async def test_a_running_task_is_ended_with_its_children(tmp_path: Path):
    shells = BackgroundShells(str(tmp_path / "storage"), on_change=lambda _: None)
    context = make_context(tmp_path, tasks=shells)
    script = f"sleep 300 & echo $! > {tmp_path}/child; wait"
    for name in ("task_id", "shell_id"):
        task = await shells.start(
            ["/bin/bash", "-c", script],
            cwd=str(tmp_path),
            env={"PATH": "/usr/bin:/bin"},
            command="serve",
            description="a job",
            call_id="call-1",
        )
        await eventually(lambda: read_number(tmp_path / "child"))
        async with asyncio.timeout(50):
            output = await TOOL.run(TaskStopInput(**{name: task.id}), context)
        message = f"Stopped task {task.id} (serve)."
        assert output.content == message
        assert output.data == {
            "message": message,
            "task_id": task.id,
            "task_type": "local_bash",
            "command": "serve",
        }
        assert not is_running(read_number(tmp_path / "child") or 0)
        (tmp_path / "child").unlink()
        ended = shells.find(task.id)
        assert ended is not None
        assert ended.status == "killed"
        with pytest.raises(ToolError, match="not running"):
            await TOOL.run(TaskStopInput(task_id=task.id), context)
    with pytest.raises(ToolError, match=shells.all()[0].id):
        await TOOL.run(TaskStopInput(task_id="b0"), context)
    await shells.close()
