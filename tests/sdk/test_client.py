import asyncio
from pathlib import Path
from typing import Any

import pytest
from claude_agent_sdk import ClaudeSDKClient, Message, ResultMessage, SystemMessage, UserMessage

from tests.fakes.messages_server import step
from tests.sdk.world import bash, ended_by, result_of, text_of, texts_of, world


async def _response(client: ClaudeSDKClient) -> list[Message]:
    async with asyncio.timeout(50):
        return [message async for message in client.receive_response()]


async def test_client_keeps_a_conversation_over_turns(tmp_path: Path):
    async with world(tmp_path, step("one"), step("two")) as it, it.client() as client:
        await client.query("first")
        first = await _response(client)
        await client.query("second")
        second = await _response(client)
        said, answers = it.said(), texts_of(it.sent(), "assistant")
    assert (text_of(first), text_of(second)) == ("one", "two")
    assert said == ["first", "second"] and answers == ["one"]
    assert result_of(first).session_id == result_of(second).session_id


async def test_server_info_is_the_answer_to_the_introduction(tmp_path: Path):
    async with world(tmp_path) as it, it.client() as client:
        info = await client.get_server_info()
        assert it.server.requests == []
    assert info is not None and info["hook_on_failure_supported"] is True
    assert {"commands", "agents", "models", "account", "output_style"} <= info.keys()
    assert {"value", "displayName", "description"} <= info["models"][0].keys()


async def test_interrupt_ends_the_turn_and_the_next_one_works(tmp_path: Path):
    slow = step("Once upon a time", silent_after=600)
    async with world(tmp_path, slow, step("Fine.")) as it, it.client() as client:
        await client.query("tell me a story")
        async with asyncio.timeout(50):
            await it.server.arrived.wait()
        await client.interrupt()
        first = await _response(client)
        await client.query("again")
        second = await _response(client)
    cut = result_of(first)
    assert (cut.subtype, cut.is_error) == ("error_during_execution", True)
    assert ended_by(cut, "aborted_streaming") and text_of(second) == "Fine."


async def test_interrupt_kills_a_running_command(tmp_path: Path):
    async with (
        world(tmp_path, step(bash("touch begun; sleep 1000")), step("ok")) as it,
        it.client(allowed_tools=["Bash"]) as client,
    ):
        await client.query("go")
        async for message in client.receive_messages():
            if getattr(message, "content", None) and "ToolUse" in repr(message):
                break
        await client.interrupt()
        result = result_of(await _response(client))
        await client.query("and now?")
        again = await _response(client)
    assert ended_by(result, "aborted_tools") and text_of(again) == "ok"


async def test_interrupt_at_rest_is_harmless(tmp_path: Path):
    async with world(tmp_path, step("ok")) as it, it.client() as client:
        await client.interrupt()
        await client.query("hi")
        assert text_of(await _response(client)) == "ok"


async def test_permission_mode_may_change_while_connected(tmp_path: Path):
    write = {"type": "tool_use", "id": "t1", "name": "Write", "input": {"file_path": "a", "content": "x"}}
    async with world(tmp_path, step(write), step("ok")) as it, it.client() as client:
        await client.set_permission_mode("acceptEdits")
        await client.query("go")
        messages = await _response(client)
    modes = [message.data.get("permissionMode") for message in messages if isinstance(message, SystemMessage)]
    assert modes[-1] == "acceptEdits" and (it.project / "a").read_text() == "x"


async def test_mode_that_was_not_made_available_is_refused(tmp_path: Path):
    async with world(tmp_path) as it, it.client() as client:
        with pytest.raises(Exception, match="bypassPermissions"):
            await client.set_permission_mode("bypassPermissions")


async def test_model_may_change_between_turns(tmp_path: Path):
    async with world(tmp_path, step("one"), step("two"), step("three")) as it:
        async with it.client(model="claude-sonnet-4-5") as client:
            for model in (None, "haiku", None):
                await client.set_model(model)
                await client.query("hi")
                await _response(client)
        models = [request.body["model"] for request in it.server.requests]
    assert "sonnet" in models[0] and "haiku" in models[1] and models[2] == models[0]


async def test_prompt_sent_while_tools_run_joins_the_turn(tmp_path: Path):
    gate = "while [ ! -e go ]; do sleep 0.02; done"
    async with world(tmp_path, step(bash(gate)), step("Both done.")) as it:
        async with it.client(allowed_tools=["Bash"]) as client:
            await client.query("first")
            async for message in client.receive_messages():
                if "ToolUseBlock" in repr(message):
                    break
            await client.query("second")
            await client.get_mcp_status()
            (it.project / "go").touch()
            messages = await _response(client)
        said = it.said()
    assert text_of(messages) == "Both done." and said == ["first", "second"]
    assert len(it.server.requests) == 2


async def test_context_usage_adds_up(tmp_path: Path):
    async with world(tmp_path, step("ok")) as it:
        (it.project / "CLAUDE.md").write_text("Be brief. " * 60)
        skill = it.project / ".claude" / "skills" / "bake"
        skill.mkdir(parents=True)
        (skill / "SKILL.md").write_text("---\nname: bake\ndescription: Bakes bread.\n---\nBake.\n")
        async with it.client() as client:
            await client.query("hi")
            await _response(client)
            usage = await client.get_context_usage()
    used: Any = {each["name"]: each["tokens"] for each in usage["categories"]}
    assert used["System tools"] > 0 and used["Messages"] > 0 and used["Memory files"] > 50
    assert usage["totalTokens"] == sum(tokens for name, tokens in used.items() if name != "Free space")
    assert used["Free space"] == usage["maxTokens"] - usage["totalTokens"]
    assert usage["memoryFiles"][0]["path"] == str(it.project / "CLAUDE.md")
    skills: Any = usage.get("skills")
    assert "bake" in [each["name"] for each in skills["skillFrontmatter"]]
    assert used["Skills"] == skills["tokens"] > 0


async def test_mcp_status_without_servers_is_empty(tmp_path: Path):
    async with world(tmp_path) as it, it.client() as client:
        assert (await client.get_mcp_status())["mcpServers"] == []
        with pytest.raises(Exception, match="Server not found: x"):
            await client.reconnect_mcp_server("x")


async def test_stop_of_an_unknown_task_is_harmless(tmp_path: Path):
    async with world(tmp_path) as it, it.client() as client:
        await client.stop_task("nothing")


async def test_rewind_without_checkpoints_says_so(tmp_path: Path):
    async with world(tmp_path) as it, it.client() as client:
        with pytest.raises(Exception, match="not enabled"):
            await client.rewind_files("11111111-1111-4111-8111-111111111111")


async def test_files_go_back_to_what_they_were_at_a_prompt(tmp_path: Path):
    write = {"type": "tool_use", "id": "t1", "name": "Write", "input": {"file_path": "a", "content": "x"}}
    options = {"enable_file_checkpointing": True, "permission_mode": "acceptEdits"}
    async with world(tmp_path, step(write), step("ok")) as it:
        replayed = it.options(**options, extra_args={"replay-user-messages": None})
        async with ClaudeSDKClient(replayed) as client:
            await client.query("write it")
            messages = await _response(client)
            assert (it.project / "a").exists()
            (prompt,) = [
                message.uuid
                for message in messages
                if isinstance(message, UserMessage) and message.content == "write it"
            ]
            assert prompt is not None
            await client.rewind_files(prompt)
    assert not (it.project / "a").exists()


async def test_what_commands_did_to_files_goes_back_too(tmp_path: Path):
    options = {"enable_file_checkpointing": True, "allowed_tools": ["Bash"]}
    command = bash("echo changed > kept; echo new > made; rm gone")
    async with world(tmp_path, step(command), step("ok")) as it:
        for name in ("kept", "gone"):
            (it.project / name).write_text(name)
        for words in (("init", "-q"), ("add", "."), ("commit", "-qm", "x")):
            await _git(it.project, *words)
        replayed = it.options(**options, extra_args={"replay-user-messages": None})
        async with ClaudeSDKClient(replayed) as client:
            await client.query("tidy up")
            messages = await _response(client)
            assert (it.project / "made").exists() and not (it.project / "gone").exists()
            (prompt,) = [
                message.uuid
                for message in messages
                if isinstance(message, UserMessage) and message.content == "tidy up"
            ]
            assert prompt is not None
            await client.rewind_files(prompt)
    assert {path.name: path.read_text() for path in it.project.iterdir() if path.is_file()} == {
        "kept": "kept",
        "gone": "gone",
    }


async def _git(folder: Path, *words: str) -> None:
    identity = ("-c", "user.name=t", "-c", "user.email=t@t")
    process = await asyncio.create_subprocess_exec("git", *identity, *words, cwd=folder)
    assert await process.wait() == 0


async def test_leaving_in_the_middle_of_a_turn_leaves_no_process(tmp_path: Path):
    async with world(tmp_path, step("slow", silent_after=0)) as it:
        async with it.client() as client:
            await client.query("hi")
            await it.server.arrived.wait()
            transport: Any = client._transport
            process = transport._process
            await client.interrupt()
        assert process.returncode is not None


async def test_one_result_for_each_response(tmp_path: Path):
    async with world(tmp_path, step("one"), step("two")) as it, it.client() as client:
        counts: list[int] = []
        for prompt in ("a", "b"):
            await client.query(prompt)
            messages = await _response(client)
            counts.append(sum(isinstance(message, ResultMessage) for message in messages))
    assert counts == [1, 1]
