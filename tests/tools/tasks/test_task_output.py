import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from bridle.host.background import BackgroundShells
from bridle.tools.tasks.task_output import TOOL, TaskOutputInput
from bridle.types.errors import ToolError
from bridle.types.services.tasks import Task
from bridle.types.tool import ToolContext, ToolOutput
from tests.fakes.tool_context import FakeTasks, make_context


class Room:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.shells = BackgroundShells(str(path / "storage"), on_change=lambda _: None)
        self.context: ToolContext = make_context(path, tasks=self.shells)

    async def start(self, script: str) -> Task:
        return await self.shells.start(
            ["/bin/bash", "-c", script],
            cwd=str(self.path),
            env={"PATH": "/usr/bin:/bin"},
            command=script,
            description="a job",
            call_id="call-1",
        )

    async def look(self, input: TaskOutputInput) -> ToolOutput:
        async with asyncio.timeout(50):
            return await TOOL.run(input, self.context)


@pytest_asyncio.fixture
async def room(tmp_path: Path) -> AsyncIterator[Room]:
    room = Room(tmp_path)
    yield room
    await room.shells.close()


async def test_it_waits_for_the_end_and_returns_everything(room: Room):
    task = await room.start("echo out; exit 3")
    output = await room.look(TaskOutputInput(task_id=task.id))
    assert output.content == f"Task {task.id} (a job): failed, exit code 3\n\nout"
    assert output.data == {
        "retrieval_status": "success",
        "task": {
            "task_id": task.id,
            "task_type": "local_bash",
            "status": "failed",
            "description": "a job",
            "output": "out",
            "exitCode": 3,
        },
    }


async def test_it_returns_at_once_when_told_not_to_wait(room: Room):
    task = await room.start("exec sleep 300")
    output = await room.look(TaskOutputInput(task_id=task.id, block=False))
    assert output.content == f"Task {task.id} (a job): running\n\n(no output)"
    assert output.data["retrieval_status"] == "not_ready"


async def test_the_wait_is_bounded(room: Room):
    task = await room.start("exec sleep 300")
    output = await room.look(TaskOutputInput(task_id=task.id, timeout=50))
    assert (output.data["retrieval_status"], output.data["task"]["status"]) == ("timeout", "running")


async def test_old_names_of_the_parameter_are_understood(room: Room):
    task = await room.start("true")
    for input in (TaskOutputInput(bash_id=task.id), TaskOutputInput(shell_id=task.id)):
        assert (await room.look(input)).data["task"]["status"] == "completed"


async def test_only_the_newest_output_is_shown_and_the_file_named(room: Room):
    task = await room.start("seq 1 20000")
    text = str((await room.look(TaskOutputInput(task_id=task.id))).content)
    assert len(text) < 31_000
    assert text.endswith("\n20000")
    assert task.output_file in text


async def test_an_unknown_id_is_answered_with_the_known_ones(room: Room):
    task = await room.start("true")
    for input in (TaskOutputInput(task_id="b0"), TaskOutputInput()):
        with pytest.raises(ToolError, match=task.id):
            await room.look(input)


async def test_without_tasks_the_error_says_so(tmp_path: Path):
    with pytest.raises(ToolError, match="no background tasks"):
        await TOOL.run(TaskOutputInput(task_id="b0"), make_context(tmp_path, tasks=FakeTasks()))
