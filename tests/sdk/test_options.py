import json
from pathlib import Path
from typing import Any

import pytest
from claude_agent_sdk import AgentDefinition, ClaudeSDKClient, SystemMessage

from tests.fakes.messages_server import step
from tests.sdk.world import World, bash, call, result_of, world


def _init(messages: list[Any]) -> dict[str, Any]:
    return next(
        message.data
        for message in messages
        if isinstance(message, SystemMessage) and message.subtype == "init"
    )


def _system(it: World) -> str:
    return "\n".join(block["text"] for block in it.sent().get("system", ()))


async def test_system_prompt_replaces_the_default(tmp_path: Path):
    async with world(tmp_path, step("ok")) as it:
        await it.ask("hi", system_prompt="You are a pirate.")
        assert _system(it) == "You are a pirate."


async def test_preset_with_append_ends_with_the_text(tmp_path: Path):
    preset = {"type": "preset", "preset": "claude_code", "append": "Always rhyme."}
    async with world(tmp_path, step("ok")) as it:
        await it.ask("hi", system_prompt=preset)
        system = _system(it)
    assert system.endswith("Always rhyme.") and len(system) > 500


async def test_preset_without_dynamic_sections_keeps_the_folder_out_of_the_prompt(tmp_path: Path):
    preset = {"type": "preset", "preset": "claude_code", "exclude_dynamic_sections": True}
    async with world(tmp_path, step("ok"), step("ok")) as it:
        await it.ask("hi", system_prompt={"type": "preset", "preset": "claude_code"})
        await it.ask("hi", system_prompt=preset)
        first, second = (json.dumps(request.body["system"]) for request in it.server.requests)
        assert str(it.project) in json.dumps(it.sent()["messages"][0])
    assert str(it.project) in first and str(it.project) not in second


async def test_system_prompt_may_come_from_a_file(tmp_path: Path):
    (tmp_path / "prompt.md").write_text("You are a file.")
    async with world(tmp_path, step("ok")) as it:
        await it.ask("hi", system_prompt={"type": "file", "path": str(tmp_path / "prompt.md")})
        assert _system(it) == "You are a file."


async def test_only_the_tools_that_are_named_are_offered(tmp_path: Path):
    async with world(tmp_path, step("ok")) as it:
        messages = await it.ask("hi", tools=["Read", "Glob"])
        offered = sorted(tool["name"] for tool in it.sent()["tools"])
    assert offered == sorted(_init(messages)["tools"]) == ["Glob", "Read"]


async def test_no_tools_at_all(tmp_path: Path):
    async with world(tmp_path, step("ok")) as it:
        messages = await it.ask("hi", tools=[])
        assert not it.sent().get("tools")
    assert _init(messages)["tools"] == []


async def test_disallowed_tool_is_not_offered(tmp_path: Path):
    async with world(tmp_path, step("ok")) as it:
        messages = await it.ask("hi", disallowed_tools=["Bash"])
        offered = [tool["name"] for tool in it.sent()["tools"]]
    assert "Bash" not in offered and "Bash" not in _init(messages)["tools"]


async def test_allowed_tool_runs_unasked(tmp_path: Path):
    async with world(tmp_path, step(bash("touch made")), step("ok")) as it:
        await it.ask("go", allowed_tools=["Bash(touch:*)"])
    assert (it.project / "made").exists()


async def test_turn_limit_is_an_error_result(tmp_path: Path):
    steps = [step(bash("echo x", f"t{i}")) for i in range(3)]
    async with world(tmp_path, *steps) as it, it.client(max_turns=2) as client:
        await client.query("go")
        result = result_of([message async for message in client.receive_response()])
    assert (result.subtype, result.is_error, result.num_turns) == ("error_max_turns", True, 3)
    assert result.errors == ["Reached maximum number of turns (2)"]


async def test_budget_is_an_error_result(tmp_path: Path):
    usage = {"input_tokens": 1_000_000, "output_tokens": 10}
    async with world(tmp_path, step(bash("touch made"), message={"usage": usage})) as it:
        chosen = {"max_budget_usd": 0.01, "model": "claude-sonnet-4-5", "allowed_tools": ["Bash"]}
        async with it.client(**chosen) as client:
            await client.query("go")
            result = result_of([message async for message in client.receive_response()])
    assert result.subtype == "error_max_budget_usd" and not (it.project / "made").exists()


async def test_added_folders_may_be_read(tmp_path: Path):
    other = tmp_path / "other"
    other.mkdir()
    (other / "a.txt").write_text("over here")
    async with world(tmp_path, step(call("Read", file_path=str(other / "a.txt"))), step("ok")) as it:
        await it.ask("go", add_dirs=[other])
        assert "over here" in str(it.results()[0]["content"])


async def test_variables_reach_commands(tmp_path: Path):
    async with world(tmp_path, step(bash("echo $GREETING > said")), step("ok")) as it:
        await it.ask("go", env={"GREETING": "hello"}, allowed_tools=["Bash"])
    assert (it.project / "said").read_text() == "hello\n"


async def test_settings_may_be_given_inline(tmp_path: Path):
    settings = json.dumps({"permissions": {"allow": ["Bash(touch:*)"]}, "env": {"WHO": "settings"}})
    async with world(tmp_path, step(bash("touch $WHO")), step(bash("touch b", "t2")), step("ok")) as it:
        await it.ask("go", settings=settings)
    assert (it.project / "b").exists()


async def test_setting_sources_choose_the_files(tmp_path: Path):
    async with world(tmp_path, step(bash("touch a")), step("ok"), step(bash("touch b")), step("ok")) as it:
        folder = it.project / ".claude"
        folder.mkdir()
        (folder / "settings.json").write_text(json.dumps({"permissions": {"deny": ["Bash(touch:*)"]}}))
        await it.ask("go", setting_sources=["project"], allowed_tools=["Bash"])
        await it.ask("go", setting_sources=[], allowed_tools=["Bash"])
    assert not (it.project / "a").exists() and (it.project / "b").exists()


async def test_betas_are_sent(tmp_path: Path):
    async with world(tmp_path, step("ok")) as it:
        messages = await it.ask("hi", betas=["context-1m-2025-08-07"])
        assert "context-1m-2025-08-07" in it.server.requests[0].headers["anthropic-beta"]
    assert _init(messages)["betas"] == ["context-1m-2025-08-07"]


async def test_model_and_thinking_shape_the_request(tmp_path: Path):
    async with world(tmp_path, step("ok"), step("ok")) as it:
        await it.ask("hi", model="haiku", max_thinking_tokens=2048)
        await it.ask("hi", model="haiku", max_thinking_tokens=0)
        first, second = (request.body for request in it.server.requests)
    assert "haiku" in first["model"] and first["thinking"] == {"type": "enabled", "budget_tokens": 2048}
    assert second["thinking"] == {"type": "disabled"}


async def test_agents_are_listed(tmp_path: Path):
    agents = {"critic": AgentDefinition(description="Finds faults.", prompt="Find faults.")}
    async with world(tmp_path, step("ok")) as it, it.client(agents=agents) as client:
        info = await client.get_server_info()
        await client.query("hi")
        messages = [message async for message in client.receive_response()]
    assert info is not None
    assert {"name": "critic", "description": "Finds faults."} in info["agents"]
    assert "critic" in _init(messages)["agents"]


async def test_extra_arguments_are_passed_on(tmp_path: Path):
    async with world(tmp_path, step("ok")) as it:
        await it.ask("hi", extra_args={"append-system-prompt": "Extra!", "replay-user-messages": None})


async def test_instructions_of_the_folder_are_sent(tmp_path: Path):
    async with world(tmp_path, step("ok"), step("ok")) as it:
        (it.project / "CLAUDE.md").write_text("Use tabs.")
        await it.ask("hi")
        await it.ask("hi", setting_sources=[])
        first, second = (json.dumps(request.body["messages"]) for request in it.server.requests)
    assert "Use tabs." in first and "Use tabs." not in second


async def test_structured_output_ends_the_turn(tmp_path: Path):
    schema = {"type": "object", "properties": {"answer": {"type": "integer"}}, "required": ["answer"]}
    form = {"type": "json_schema", "schema": schema}
    async with world(tmp_path, step(call("StructuredOutput", answer=42))) as it:
        messages = await it.ask("what is it?", output_format=form)
        (tool,) = [each for each in it.sent()["tools"] if each["name"] == "StructuredOutput"]
    result = result_of(messages)
    assert (result.structured_output, result.result) == ({"answer": 42}, '{"answer":42}')
    assert tool["input_schema"]["properties"] == schema["properties"]
    assert "StructuredOutput" in _init(messages)["tools"] and len(it.server.requests) == 1


async def test_tool_task_budget_and_effort_are_sent(tmp_path: Path):
    async with world(tmp_path, step("ok")) as it:
        try:
            options = it.options(effort="low", task_budget={"total": 5000}, model="claude-opus-5-5")
        except TypeError:
            pytest.skip("this release of the SDK has no task budget")
        async with ClaudeSDKClient(options) as client:
            await client.query("hi")
            _ = [message async for message in client.receive_response()]
        sent = it.sent()["output_config"]
    assert sent["effort"] == "low" and sent["task_budget"] == {"type": "tokens", "total": 5000}
