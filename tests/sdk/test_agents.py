"""Agents of a program: started, followed, stopped and read back."""

from pathlib import Path
from typing import Any

import claude_agent_sdk as sdk
import pytest
from claude_agent_sdk import (
    AgentDefinition,
    AssistantMessage,
    HookMatcher,
    ResultMessage,
    TaskNotificationMessage,
    TaskStartedMessage,
    UserMessage,
)

from tests.fakes.messages_server import step
from tests.sdk.world import bash, result_of, world

CRITIC = {"critic": AgentDefinition(description="Finds faults.", prompt="You find faults.")}


def _agent(prompt: str, *, background: bool = False, **more: Any) -> dict[str, Any]:
    input = {"description": "look", "prompt": prompt, "run_in_background": background, **more}
    return {"type": "tool_use", "id": "a1", "name": "Agent", "input": input}


@pytest.fixture(autouse=True)
def _same_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The SDK reads transcripts from the home that bridle writes them to."""
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "home" / ".claude"))


async def test_agent_of_the_program_works_with_its_own_prompt_and_reports(tmp_path: Path):
    script = (step(_agent("look here", subagent_type="critic")), step("A fault."), step("Thanks."))
    async with world(tmp_path, *script) as it:
        messages = await it.ask("go", agents=CRITIC)
        inner, outer = it.sent(1), it.sent(2)
    assert "You find faults." in str(inner["system"]) and "'text': 'go'" not in str(inner["messages"])
    assert "A fault." in str(outer["messages"][-1])
    assert result_of(messages).result == "Thanks."


async def test_calls_of_an_agent_carry_the_call_that_started_it(tmp_path: Path):
    script = (step(_agent("look")), step(bash("echo seen")), step("Seen."), step("ok"))
    async with world(tmp_path, *script) as it:
        messages = await it.ask("go")
    inside = [
        message
        for message in messages
        if isinstance(message, AssistantMessage | UserMessage) and message.parent_tool_use_id == "a1"
    ]
    assert [type(message).__name__ for message in inside] == [
        "UserMessage",
        "AssistantMessage",
        "UserMessage",
    ]


async def test_agent_is_reported_as_a_task(tmp_path: Path):
    async with world(tmp_path, step(_agent("look")), step("Seen."), step("ok")) as it:
        messages = await it.ask("go")
    (started,) = [each for each in messages if isinstance(each, TaskStartedMessage)]
    (ended,) = [each for each in messages if isinstance(each, TaskNotificationMessage)]
    assert started.tool_use_id == "a1" and started.task_type == "local_agent"
    assert (ended.task_id, ended.status) == (started.task_id, "completed")


async def test_agent_in_the_background_begins_a_turn_when_it_is_done(tmp_path: Path):
    script = (
        step(_agent("look", background=True)),
        step("Seen it all.", when='"text":"look"'),
        step("Waiting.", when='"tool_use_id":"a1"'),
        step("It has seen it all.", when="task-notification"),
    )
    async with world(tmp_path, *script) as it, it.client() as client:
        await client.query("go")
        results: list[ResultMessage] = []
        async for message in client.receive_messages():
            if isinstance(message, ResultMessage):
                results.append(message)
            if len(results) == 2:
                break
    assert [each.result for each in results] == ["Waiting.", "It has seen it all."]


async def test_task_of_an_agent_can_be_stopped(tmp_path: Path):
    script = (
        step(_agent("look", background=True)),
        step("slow", when='"text":"look"', silent_after=0),
        step("Waiting.", when='"tool_use_id":"a1"'),
        step("It was stopped.", when="task-notification"),
    )
    async with world(tmp_path, *script) as it, it.client() as client:
        await client.query("go")
        task, ended = "", ""
        async for message in client.receive_messages():
            if isinstance(message, TaskStartedMessage):
                task = message.task_id
            elif isinstance(message, ResultMessage):
                await client.stop_task(task)
            elif isinstance(message, TaskNotificationMessage):
                ended = message.status
                break
    assert ended == "stopped"


async def test_hooks_learn_who_makes_a_call(tmp_path: Path):
    heard: list[Any] = []

    async def hook(input: Any, tool_use_id: str | None, context: Any) -> Any:
        del tool_use_id, context
        heard.append((input["tool_name"], input.get("agent_id"), input.get("agent_type")))
        return {}

    script = (step(_agent("look", subagent_type="critic")), step(bash("echo x")), step("Seen."), step("ok"))
    async with world(tmp_path, *script) as it:
        await it.ask("go", agents=CRITIC, hooks={"PreToolUse": [HookMatcher(None, [hook])]})
    (first, second) = heard
    assert first == ("Agent", None, None)
    assert second[0] == "Bash" and second[1] and second[2] == "critic"


async def test_conversation_of_an_agent_is_read_back(tmp_path: Path):
    if not hasattr(sdk, "get_subagent_messages"):
        pytest.skip("this release of the SDK does not read them")
    async with world(tmp_path, step(_agent("look")), step("Seen."), step("ok")) as it:
        session = result_of(await it.ask("go")).session_id
        folder = str(it.project)
        (agent,) = sdk.list_subagents(session, directory=folder)
        said = sdk.get_subagent_messages(session, agent, directory=folder)
    assert "Seen." in str(said[-1].message["content"])
    started_by = None if sdk.__version__.startswith("0.1.") else "a1"  # Older releases do not look it up.
    assert {each.parent_tool_use_id for each in said} == {started_by}


async def test_unknown_agent_is_an_error_that_names_those_there_are(tmp_path: Path):
    async with world(tmp_path, step(_agent("look", subagent_type="nobody")), step("ok")) as it:
        await it.ask("go", agents=CRITIC)
        (result,) = it.results()
    assert result["is_error"] and "critic" in str(result["content"])
