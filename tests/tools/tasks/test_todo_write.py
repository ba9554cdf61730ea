"""TodoWrite keeps the list of the session."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from bridle.tools.tasks.todo_write import TOOL, TodoWriteInput
from tests.fakes.tool_context import make_context


def todo(content: str, status: str) -> dict[str, Any]:
    return {"content": content, "status": status, "activeForm": f"{content}ing"}


def read(*todos: dict[str, Any]) -> TodoWriteInput:
    return msgspec.convert({"todos": list(todos)}, TodoWriteInput)


async def test_the_new_list_replaces_the_old_one(tmp_path: Path):
    ctx = make_context(tmp_path)
    first, second = [todo("Build", "in_progress")], [todo("Build", "completed"), todo("Test", "in_progress")]

    created = await TOOL.run(read(*first), ctx)
    replaced = await TOOL.run(read(*second), ctx)

    assert created.data == {"oldTodos": [], "newTodos": first}
    assert replaced.data == {"oldTodos": first, "newTodos": second}
    assert "1 of 2" in str(replaced.content)
    assert ctx.workspace.todos == second


async def test_an_empty_list_clears_it(tmp_path: Path):
    ctx = make_context(tmp_path)
    await TOOL.run(read(todo("Build", "pending")), ctx)
    await TOOL.run(read(), ctx)
    assert ctx.workspace.todos == []


@pytest.mark.parametrize(
    "todos",
    [[todo("Build", "started")], [todo("", "pending")], [{"content": "Build", "status": "pending"}], "Build"],
)
def test_an_item_needs_all_its_parts(todos: Any):
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"todos": todos}, TodoWriteInput)


def test_it_touches_nothing_and_runs_alone():
    assert TOOL.read_only(read())
    assert not TOOL.parallel(read())
