"""Agents as a host follows them."""

from pathlib import Path
from typing import Any

from tests.fakes.host import FakeHost
from tests.fakes.messages_server import MessagesServer, step
from tests.fakes.processes import eventually
from tests.fakes.program import Program


def _agent(prompt: str) -> dict[str, Any]:
    input = {"description": "look", "prompt": prompt, "run_in_background": False}
    return {"type": "tool_use", "id": "a1", "name": "Agent", "input": input}


def _bash(command: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": "b1", "name": "Bash", "input": {"command": command}}


async def test_what_an_agent_does_is_put_into_words_where_the_host_asks_for_it(tmp_path: Path):
    script = [
        step(_agent("find it")),
        step(_bash("sleep 1000"), when='"text":"find it"'),
        step(
            "Waiting for the tide.",
            when="You see the last steps of a running agent. State its current activity in 3 to 8 words",
        ),
    ]
    async with MessagesServer(script) as server:
        program = Program(tmp_path, server.url)
        flags = ("--allowedTools", "Bash")
        async with FakeHost(program, *flags, BRIDLE_AGENT_SUMMARY_SECONDS="0.2") as host:
            await host.request("initialize", agentProgressSummaries=True)
            host.prompt("go")
            told = await host.until(lambda frame: "summary" in frame and frame["subtype"] == "task_progress")
            await host.request("interrupt")
            await host.result()
        asked = [
            each
            for each in server.requests
            if "You see the last steps of a running agent. State its current activity in 3 to 8 words"
            in str(each.body["system"])
        ]
    assert told["summary"] == "Waiting for the tide" and told["tool_use_id"] == "a1"
    assert len(asked) == 1, "nothing new was to be said"
    assert "sleep 1000" in str(asked[0].body["messages"])


async def test_what_an_agent_says_is_told_where_the_host_asks_for_it(tmp_path: Path):
    said: dict[bool, list[str]] = {}
    for wanted in (False, True):
        folder = tmp_path / str(wanted)
        folder.mkdir()
        script = [step(_agent("look")), step("I see."), step("ok")]
        async with MessagesServer(script) as server, FakeHost(Program(folder, server.url)) as host:
            await host.request("initialize", forwardSubagentText=wanted)
            host.prompt("go")
            await host.result()
        said[wanted] = [
            frame["message"]["content"][0]["text"]
            for frame in host.frames
            if frame["type"] == "assistant" and frame["parent_tool_use_id"] == "a1"
        ]
    assert said == {False: [], True: ["I see."]}


async def test_a_host_need_not_wait_for_a_command(tmp_path: Path):
    script = [step(_bash("touch begun; exec sleep 1000")), step("It goes on.")]
    async with MessagesServer(script) as server:
        program = Program(tmp_path, server.url)
        async with FakeHost(program, "--allowedTools", "Bash") as host:
            host.prompt("go")
            await eventually((program.project / "begun").exists)
            other = await host.request("background_tasks", tool_use_id="other")
            moved = await host.request("background_tasks", tool_use_id="b1")
            result = await host.result()
    assert other["response"] == {"backgrounded": False} and moved["response"] == {"backgrounded": True}
    assert result["result"] == "It goes on."
    assert any(frame.get("subtype") == "background_tasks_changed" for frame in host.frames)
