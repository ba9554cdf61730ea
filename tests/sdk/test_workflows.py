"""Workflow runs as programs written for the SDK meet them."""

from pathlib import Path
from typing import Any

import pytest
from claude_agent_sdk import (
    PermissionResultAllow,
    ResultMessage,
    TaskNotificationMessage,
    TaskProgressMessage,
    TaskStartedMessage,
)

from tests.fakes.messages_server import step
from tests.fakes.sse import tool_use
from tests.sdk.world import world

_SCRIPT = (
    "export const meta = {name: 'look', description: 'Looks.', phases: [{title: 'Search'}]}\n"
    "phase('Search')\n"
    "return await parallel([1, 2].map(n => () => agent(`Look at ${n}.`)))"
)
_CALL = tool_use("Workflow", id="w1", script=_SCRIPT)


async def test_a_client_sees_a_run_from_its_start_to_the_turn_that_tells_of_it(tmp_path: Path):
    script = (
        step(_CALL, when='"text":"go with a workflow"'),
        step("Waiting.", when="runs in the background"),
        step("Both are fine.", when="task-notification"),
        step("Fine.", when="Look at ", repeat=True),
    )
    asked: list[tuple[str, str | None]] = []

    async def agree(name: str, input: dict[str, Any], context: Any) -> PermissionResultAllow:
        asked.append((name, context.decision_reason))
        return PermissionResultAllow(updated_input=input)

    async with world(tmp_path, *script) as it, it.client(can_use_tool=agree) as client:
        await client.query("go with a workflow")
        seen: list[Any] = []
        async for message in client.receive_messages():
            seen.append(message)
            if len(_of(seen, ResultMessage)) == 2:
                break
    (started,), (ended,) = _of(seen, TaskStartedMessage), _of(seen, TaskNotificationMessage)
    assert (started.task_type, started.tool_use_id) == ("local_workflow", "w1")
    assert started.data["workflow_name"] == "look"
    assert (ended.task_id, ended.status) == (started.task_id, "completed")
    assert {each.task_id for each in _of(seen, TaskProgressMessage)} == {started.task_id}
    assert [each.result for each in _of(seen, ResultMessage)] == ["Waiting.", "Both are fine."]
    ((name, reason),) = asked
    assert name == "Workflow" and "the workflow look: Looks. Phases: Search." in (reason or "")


@pytest.mark.parametrize("by", ["stop_task", "interrupt"])
async def test_a_client_ends_a_run(tmp_path: Path, by: str):
    script = (
        step(_CALL, when='"text":"go"'),
        step("Waiting.", when="runs in the background"),
        step("It was stopped.", when="task-notification"),
        step("slow", when="Look at ", silent_after=0, repeat=True),
    )
    async with world(tmp_path, *script) as it, it.client(allowed_tools=["Workflow"]) as client:
        await client.query("go")
        task, ended = "", ""
        async for message in client.receive_messages():
            if isinstance(message, TaskStartedMessage):
                task = message.task_id
            elif isinstance(message, ResultMessage):
                await (client.stop_task(task) if by == "stop_task" else client.interrupt())
            elif isinstance(message, TaskNotificationMessage):
                ended = message.status
                break
    assert ended == "stopped"


def _of(messages: list[Any], kind: type[Any]) -> list[Any]:
    return [message for message in messages if isinstance(message, kind)]
