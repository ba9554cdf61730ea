"""The tools of the task list: items in files, shared by name."""

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bridle.engine.loop import run_turn
from bridle.providers.scripted import calls, says
from bridle.tools.tasks import task_create, task_get, task_list, task_update
from bridle.types.errors import ToolError
from bridle.types.origin import TYPED
from bridle.types.services.session import OBJECTIONS
from bridle.types.tool import ToolContext, ToolOutput
from bridle.types.turn import Prompt
from tests.fakes.engine import make_runtime, make_session, requests
from tests.fakes.tool_context import make_context


class Desk:
    """The four tools on one list."""

    def __init__(self, path: Path, *, session: str = "session-1", **env: str) -> None:
        self.folder = path / "config" / "tasks" / session
        self.context: ToolContext = make_context(
            path, session_id=session, env={"CLAUDE_CONFIG_DIR": str(path / "config"), **env}
        )

    async def create(self, subject: str, description: str = "", **more: Any) -> str:
        input = task_create.TaskCreateInput(subject=subject, description=description, **more)
        return (await task_create.TOOL.run(input, self.context)).data["task"]["id"]

    async def update(self, task: str, **changes: Any) -> ToolOutput:
        input = task_update.TaskUpdateInput(taskId=task, **changes)
        return await task_update.TOOL.run(input, self.context)

    async def get(self, task: str) -> Mapping[str, Any]:
        return (await task_get.TOOL.run(task_get.TaskGetInput(task), self.context)).data["task"]

    async def list(self) -> ToolOutput:
        return await task_list.TOOL.run(task_list.TaskListInput(), self.context)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


async def test_tasks_of_one_answer_are_numbered_in_its_order_and_the_last_change_counts(tmp_path: Path):
    names = [f"task {number}" for number in range(1, 13)]
    created = [calls("TaskCreate", subject=name, description="") for name in names]
    renamed = [calls("TaskUpdate", taskId="1", subject=name) for name in names]
    script = [says(*created), says(*renamed), says(calls("TaskGet", taskId="1")), says("Done.")]
    tools = (task_create.TOOL, task_update.TOOL, task_get.TOOL)
    env = {"CLAUDE_CONFIG_DIR": str(tmp_path / "config")}
    runtime = msgspec.structs.replace(make_runtime(tmp_path, script, *tools), env=env)
    await run_turn(make_session(), Prompt(content="go", origin=TYPED), runtime)
    said = [str(block["content"]) for block in requests(runtime)[1].messages[-1]["content"]]
    assert said == [f"Task #{number} created: {name}" for number, name in enumerate(names, start=1)]
    assert "task 12" in str(requests(runtime)[3].messages[-1]["content"])


async def test_tasks_are_numbered_from_one_and_kept_in_files(desk: Desk):
    assert [await desk.create("first", "more", activeForm="Doing"), await desk.create("second")] == ["1", "2"]
    assert json.loads((desk.folder / "1.json").read_text()) == {
        "id": "1",
        "subject": "first",
        "description": "more",
        "status": "pending",
        "blocks": [],
        "blockedBy": [],
        "activeForm": "Doing",
    }
    assert (await desk.get("#1"))["subject"] == "first"


async def test_an_update_says_what_changed(desk: Desk):
    task = await desk.create("first")
    done = await desk.update(task, status="in_progress", owner="ann", subject="First")
    assert done.data == {
        "success": True,
        "taskId": "1",
        "updatedFields": ["subject", "owner", "status"],
        "statusChange": {"from": "pending", "to": "in_progress"},
    }
    assert (await desk.update(task, subject="First")).data["updatedFields"] == []


async def test_dependencies_are_noted_on_both_sides_and_done_ones_no_longer_block(desk: Desk):
    first, second, third = [await desk.create(name) for name in ("one", "two", "three")]
    await desk.update(second, addBlockedBy=[first])
    await desk.update(second, addBlocks=[third])
    assert (await desk.get(first))["blocks"] == [second]
    assert (await desk.get(third))["blockedBy"] == [second]
    await desk.update(first, status="completed")
    output = await desk.list()
    assert [task["blockedBy"] for task in output.data["tasks"]] == [[], [], [second]]
    assert "#3 [pending] three [waits for #2]" in str(output.content)


async def test_a_task_cannot_wait_for_itself_by_any_way(desk: Desk):
    for name in ("one", "two", "three"):
        await desk.create(name)
    await desk.update("1", addBlocks=["2"])
    await desk.update("2", addBlocks=["3"])
    for task, blocks in (("1", "1"), ("2", "1"), ("3", "1")):
        with pytest.raises(ToolError, match="cannot wait"):
            await desk.update(task, addBlocks=[blocks])


async def test_a_deleted_task_leaves_no_trace_and_its_number_is_not_used_again(desk: Desk):
    await desk.create("one")
    await desk.create("two")
    await desk.update("1", addBlocks=["2"])
    await desk.update("1", status="deleted")
    await desk.update("2", status="deleted")
    assert (await desk.list()).content == "The list is empty."
    assert await desk.create("three") == "3"


async def test_an_unknown_task_is_answered_with_the_known_ones(desk: Desk):
    await desk.create("one")
    for unknown in ("7", "../1", "x", "0", ""):
        with pytest.raises(ToolError, match="Tasks: 1"):
            await desk.get(unknown)
        with pytest.raises(ToolError, match="Tasks: 1"):
            await desk.update(unknown, status="completed")


async def test_metadata_is_merged_and_null_takes_away(desk: Desk):
    task = await desk.create("one", metadata={"a": 1, "b": 2})
    await desk.update(task, metadata={"a": None, "c": 3})
    assert json.loads((desk.folder / "1.json").read_text())["metadata"] == {"b": 2, "c": 3}


async def test_sessions_share_a_list_by_its_name_and_never_lose_an_item(tmp_path: Path):
    desks = [Desk(tmp_path, session=f"s{number}", CLAUDE_CODE_TASK_LIST_ID="team") for number in range(4)]
    async with asyncio.timeout(50):
        made = await asyncio.gather(*(desk.create(f"t{n}") for n in range(5) for desk in desks))
    assert sorted(map(int, made)) == list(range(1, 21))
    assert len((await desks[0].list()).data["tasks"]) == 20


async def test_files_of_others_keep_their_fields_and_broken_ones_cost_only_themselves(desk: Desk):
    await desk.create("one")
    (desk.folder / "2.json").write_text("{")
    (desk.folder / "3.json").write_text('{"subject": "theirs", "color": "red"}')
    assert [task["id"] for task in (await desk.list()).data["tasks"]] == ["1", "3"]
    await desk.update("3", status="in_progress")
    assert json.loads((desk.folder / "3.json").read_text())["color"] == "red"


async def test_an_objection_keeps_a_task_from_being_made(desk: Desk):
    async def object_to(task: Any) -> str | None:
        return f"no {task.subject}" if task.moment == "created" else None

    desk.context = msgspec.structs.replace(desk.context, services={OBJECTIONS: object_to}.get)
    with pytest.raises(ToolError, match="no one"):
        await desk.create("one")
    assert (await desk.list()).data == {"tasks": []}
