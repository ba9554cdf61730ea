"""Agents in the whole program: what scripts and hosts see of them."""

import json
from pathlib import Path
from typing import Any

from tests.fakes.host import FakeHost
from tests.fakes.messages_server import MessagesServer, step
from tests.fakes.program import Program

_STREAM = ("-p", "--output-format", "stream-json", "--verbose")
_AGENTS = json.dumps({"helper": {"description": "Helps.", "prompt": "You help."}})


def _use(name: str, call: str = "toolu_1", **input: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call, "name": name, "input": input}


def _agent(**more: Any) -> dict[str, Any]:
    return _use("Agent", description="A job", prompt="do the JOB", subagent_type="helper", **more)


async def test_lines_of_an_agent_carry_the_call_that_started_it(tmp_path: Path):
    script = [
        step("starting", _agent(run_in_background=False)),
        step("looking", _use("Read", "toolu_2", file_path="note.txt")),
        step("the report"),
        step("all done"),
    ]
    async with MessagesServer(script) as server:
        program = Program(tmp_path, server.url)
        (program.project / "note.txt").write_text("hello\n")
        done = await program.run(*_STREAM, "--agents", _AGENTS, "go")
    assert (done.code, done.result["result"]) == (0, "all done")
    (init,) = [frame for frame in done.frames if frame.get("subtype") == "init"]
    assert "Task" in init["tools"] and "Agent" not in init["tools"]
    assert {"general-purpose", "helper"} <= set(init["agents"])
    inside = [frame for frame in done.frames if frame.get("parent_tool_use_id") == "toolu_1"]
    assert [frame["type"] for frame in inside] == ["user", "assistant", "user"]
    assert inside[0]["message"]["content"] == "do the JOB"
    assert inside[1]["message"]["content"][0]["type"] == "tool_use"
    assert "tool_use_result" not in inside[2]
    assert {(frame["subagent_type"], frame["task_description"]) for frame in inside} == {("helper", "A job")}
    tasks = [frame for frame in done.frames if frame.get("subtype", "").startswith("task_")]
    assert [frame["subtype"] for frame in tasks] == [
        "task_started",
        "task_progress",
        "task_updated",
        "task_notification",
    ]
    started, progress, updated, note = tasks
    assert len({frame["task_id"] for frame in tasks} | {frame["agent_id"] for frame in inside}) == 1
    assert (started["task_type"], started["is_backgrounded"], started["spawn_depth"]) == (
        "local_agent",
        False,
        1,
    )
    assert (progress["last_tool_name"], progress["usage"]["tool_uses"]) == ("Read", 1)
    assert (updated["patch"]["status"], note["status"]) == ("completed", "completed")
    (result,) = [
        frame
        for frame in done.frames
        if frame["type"] == "user" and frame["parent_tool_use_id"] is None and "tool_use_result" in frame
    ]
    assert result["tool_use_result"]["status"] == "completed"
    usage = done.result["modelUsage"]
    assert sum(model["inputTokens"] for model in usage.values()) > done.result["usage"]["input_tokens"]
    listing = json.dumps(server.requests[0].body["messages"])
    assert "- helper: Helps." in listing
    assert "- helper: Helps." not in json.dumps(server.requests[1].body["messages"])


async def test_what_agents_say_is_told_when_that_is_wanted(tmp_path: Path):
    script = [step(_agent(run_in_background=False)), step("the report"), step("all done")]
    async with MessagesServer(script) as server:
        program = Program(tmp_path, server.url)
        done = await program.run(*_STREAM, "--agents", _AGENTS, "--forward-subagent-text", "go")
    texts = [
        frame["message"]["content"][0].get("text")
        for frame in done.frames
        if frame["type"] == "assistant" and frame["parent_tool_use_id"] == "toolu_1"
    ]
    assert texts == ["the report"]


async def test_a_background_agent_is_waited_for_and_its_report_begins_a_turn(tmp_path: Path):
    script: list[Any] = [
        step(_agent()),
        _by_content,
        _by_content,
        _by_content,
    ]
    async with MessagesServer(script) as server:
        program = Program(tmp_path, server.url)
        done = await program.run(*_STREAM, "--agents", _AGENTS, "go")
    results = [frame for frame in done.frames if frame["type"] == "result"]
    assert [result["result"] for result in results] == ["started it", "it says so"]
    assert results[1]["origin"]["kind"] == "task-notification"
    note = json.dumps(server.requests[-1].body["messages"][-1])
    assert "<task-notification>" in note and "<result>the report</result>" in note
    changes = [frame for frame in done.frames if frame.get("subtype") == "background_tasks_changed"]
    assert [len(frame["tasks"]) for frame in changes] == [1, 0]


def _by_content(request: Any) -> Any:
    last = json.dumps(request.body["messages"][-1])
    if "<task-notification>" in last:
        return step("it says so")
    if "tool_result" in last:
        return step("started it")
    return step("the report", delay=0.2)


async def test_a_host_brings_agents_and_answers_their_questions_once(tmp_path: Path):
    script = [
        step(_agent(run_in_background=False)),
        step(_use("Bash", "toolu_2", command="touch made")),
        step("the report"),
        step("all done"),
    ]
    async with MessagesServer(script) as server:
        program = Program(tmp_path, server.url)
        async with FakeHost(program, "--permission-prompt-tool", "stdio") as host:
            agents = {"helper": {"description": "Helps.", "prompt": "You help.", "tools": ["Bash"]}}
            answer = await host.request("initialize", agents=agents)
            assert {"name": "helper", "description": "Helps."} in answer["response"]["agents"]
            host.prompt("go")
            asked = await host.asked()
            assert asked["request"]["agent_id"].startswith("a")
            host.answer(asked, {"behavior": "allow", "updatedInput": asked["request"]["input"]})
            assert (await host.result())["result"] == "all done"
            assert (program.project / "made").exists()
            await host.close()
    names = [tool["name"] for tool in server.requests[1].body["tools"]]
    assert names == ["Bash"]


async def test_the_session_is_not_idle_while_an_agent_works(tmp_path: Path):
    script: list[Any] = [step(_agent()), *[_by_content] * 3]
    async with MessagesServer(script) as server:
        program = Program(tmp_path, server.url)
        async with FakeHost(program, CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS="1") as host:
            await host.request("initialize", agents={"helper": {"description": "d", "prompt": "p"}})
            host.prompt("go")
            await host.result()
            await host.result()
            await host.until(lambda frame: frame.get("state") == "idle")
            states = [frame["state"] for frame in host.frames if "state" in frame]
            await host.close()
    assert states == ["running", "idle"]


async def test_an_interrupt_of_a_host_ends_agents_in_the_background_without_another_turn(tmp_path: Path):
    script: list[Any] = [step(_agent()), _stuck, _stuck, step("noted")]
    async with MessagesServer(script) as server:
        program = Program(tmp_path, server.url)
        async with FakeHost(program, CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS="1") as host:
            await host.request("initialize", agents={"helper": {"description": "d", "prompt": "p"}})
            host.prompt("go")
            await host.result()
            await host.request("interrupt")
            await host.until(lambda frame: frame.get("state") == "idle")
            host.prompt("and now?")
            assert (await host.result())["result"] == "noted"
            await host.close()
    assert "stopped" in json.dumps(server.requests[-1].body["messages"])
    assert [frame["status"] for frame in host.frames if frame.get("subtype") == "task_notification"] == [
        "stopped"
    ]


async def test_a_host_stops_an_agent(tmp_path: Path):
    script: list[Any] = [
        step(_agent()),
        _stuck,
        _stuck,
        step("so it is"),
    ]
    async with MessagesServer(script) as server:
        program = Program(tmp_path, server.url)
        async with FakeHost(program) as host:
            await host.request("initialize", agents={"helper": {"description": "d", "prompt": "p"}})
            host.prompt("go")
            started = await host.until(lambda frame: frame.get("subtype") == "task_started")
            await host.result()
            await host.request("stop_task", task_id=started["task_id"])
            assert (await host.result())["result"] == "so it is"
            await host.close()
    note = next(frame for frame in host.frames if frame.get("subtype") == "task_notification")
    updated = next(frame for frame in host.frames if frame.get("subtype") == "task_updated")
    assert (note["status"], updated["patch"]["status"]) == ("stopped", "killed")


def _stuck(request: Any) -> Any:
    last = json.dumps(request.body["messages"][-1])
    return step("started it") if "tool_result" in last else step("never", silent_after=0)


async def test_the_main_thread_can_be_an_agent(tmp_path: Path):
    agents = json.dumps(
        {
            "reviewer": {
                "description": "d",
                "prompt": "You review.",
                "tools": ["Read"],
                "model": "opus",
                "initialPrompt": "First of all.",
            }
        }
    )
    async with MessagesServer([step("ok")]) as server:
        program = Program(tmp_path, server.url)
        done = await program.run("-p", "--agents", agents, "--agent", "reviewer", "go")
        missing = await program.run("-p", "--agent", "nobody", "go")
    body = server.requests[0].body
    assert (done.code, done.out) == (0, "ok\n")
    assert [block["text"] for block in body["system"]] == ["You review."]
    assert [tool["name"] for tool in body["tools"]] == ["Read"]
    assert "opus" in body["model"]
    assert "First of all.\\n\\ngo" in json.dumps(body["messages"])
    assert missing.code == 1 and "nobody" in missing.err


async def test_broken_agents_on_the_command_line_are_refused_in_one_line(tmp_path: Path):
    program = Program(tmp_path, "http://127.0.0.1:1")
    for given in ("{", '{"a": {"description": ""}}', "/no/such/file"):
        done = await program.run("-p", "--agents", given, "go")
        assert done.code == 1
        assert len(done.err.strip().splitlines()) == 1 and "--agents" in done.err


async def test_todo_write_comes_back_by_a_variable(tmp_path: Path):
    async with MessagesServer([step("ok"), step("ok")]) as server:
        program = Program(tmp_path, server.url)
        await program.run("-p", "go", CLAUDE_CODE_ENABLE_TASKS="1")
        await program.run("-p", "go", CLAUDE_CODE_ENABLE_TASKS="0")
    with_tasks, with_todos = ({tool["name"] for tool in each.body["tools"]} for each in server.requests)
    tasks = {"TaskCreate", "TaskGet", "TaskList", "TaskUpdate"}
    assert tasks <= with_tasks and "TodoWrite" not in with_tasks
    assert not tasks & with_todos and "TodoWrite" in with_todos


async def test_an_agent_is_told_its_own_model_and_only_tools_that_it_has(tmp_path: Path):
    script = [
        step(_use("Agent", description="Look", prompt="find it", subagent_type="Explore",
                  run_in_background=False)),
        step(_use("ToolSearch", "toolu_2", query="select:NotebookEdit,WebFetch")),
        step("found"),
        step(_use("Agent", "toolu_3", description="Work", prompt="do it", subagent_type="general-purpose",
                  run_in_background=False)),
        step("made"),
        step("all done"),
    ]  # fmt: skip
    async with MessagesServer(script) as server:
        program = Program(tmp_path, server.url, ENABLE_TOOL_SEARCH="")
        done = await program.run(*_STREAM, "--model", "claude-sonnet-5-5", "go")
        lead, explore, searched, _, general, _ = (request.body for request in server.requests)
    assert (done.code, done.result["result"]) == (0, "all done")
    assert "Model: claude-sonnet-5-5" in json.dumps(lead)
    assert "haiku" in explore["model"] and f"Model: {explore['model']}" in json.dumps(explore)
    assert "sonnet" not in json.dumps(explore)
    names = [tool["name"] for tool in explore["tools"]]
    assert names == ["Bash", "CallTool", "Glob", "Grep", "Read", "ToolSearch"]
    told = json.dumps(explore["messages"])
    assert "WebFetch" in told and "NotebookEdit" not in told and "Monitor" not in told and "skill" not in told
    result = json.dumps(searched["messages"][-1])
    assert "# WebFetch" in result and "NotebookEdit" not in result and searched["tools"] == explore["tools"]
    assert "Skill" in [tool["name"] for tool in general["tools"]]
    assert "code-review" in json.dumps(general["messages"])
    assert f"Model: {general['model']}" in json.dumps(general)
    assert len(json.dumps(explore)) < 9_000
