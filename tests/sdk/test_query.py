from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from claude_agent_sdk import (
    AssistantMessage,
    ResultMessage,
    StreamEvent,
    SystemMessage,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UserMessage,
)

from tests.fakes.forked import INSTALLED, command
from tests.fakes.messages_server import step
from tests.fakes.program import user
from tests.sdk.world import bash, call, ended_by, result_of, text_of, world


@pytest.mark.parametrize("way", ["forked", "installed"])
async def test_query_yields_init_the_answer_and_one_result(tmp_path: Path, way: str):
    async with world(tmp_path, step("Hello.")) as it:
        messages = await it.ask("hi", cli_path=command() if way == "forked" else INSTALLED)
        said = it.said()
    init, answer, result = messages
    assert isinstance(init, SystemMessage) and init.subtype == "init"
    assert init.data["cwd"] == str(it.project) and init.data["apiKeySource"] == "ANTHROPIC_API_KEY"
    assert isinstance(answer, AssistantMessage) and text_of(messages) == "Hello."
    assert answer.stop_reason is None and answer.message_id is not None
    assert isinstance(result, ResultMessage) and (result.subtype, result.is_error) == ("success", False)
    assert (result.result, result.num_turns, result.stop_reason) == ("Hello.", 1, "end_turn")
    assert ended_by(result, "completed") and result.session_id == answer.session_id
    assert said == ["hi"]


async def test_no_system_prompt_means_none(tmp_path: Path):
    async with world(tmp_path, step("ok")) as it:
        await it.ask("hi")
        assert "system" not in it.sent()


async def test_tool_calls_and_results_come_as_messages(tmp_path: Path):
    async with world(tmp_path, step("Looking.", bash("echo one")), step("Done.")) as it:
        messages = await it.ask("go")
    blocks = [
        block for message in messages if isinstance(message, AssistantMessage) for block in message.content
    ]
    (used,) = [block for block in blocks if isinstance(block, ToolUseBlock)]
    (told,) = [message for message in messages if isinstance(message, UserMessage)]
    assert (used.id, used.name, used.input) == ("t1", "Bash", {"command": "echo one"})
    assert isinstance(told.content, list) and isinstance(told.content[0], ToolResultBlock)
    assert (told.content[0].tool_use_id, told.content[0].content) == ("t1", "one")
    assert told.parent_tool_use_id is None and told.tool_use_result is not None
    assert told.tool_use_result["stdout"] == "one"
    assert result_of(messages).num_turns == 2


async def test_thinking_comes_with_its_signature(tmp_path: Path):
    thinking = {"type": "thinking", "thinking": "Hm.", "signature": "sig"}
    async with world(tmp_path, step(thinking, "Right.")) as it:
        messages = await it.ask("hi")
    first = messages[1] if isinstance(messages[1], AssistantMessage) else messages[2]
    assert isinstance(first, AssistantMessage) and first.content == [ThinkingBlock("Hm.", "sig")]
    assert text_of(messages) == "Right."


async def test_prompts_of_a_stream_run_as_turns_in_order(tmp_path: Path):
    async def prompts() -> AsyncIterator[dict[str, Any]]:
        yield user("first", session_id="")
        yield user("second", session_id="")

    async with world(tmp_path, step("one"), step("two")) as it:
        messages = await it.ask(prompts())
        said = it.said()
    results = [message.result for message in messages if isinstance(message, ResultMessage)]
    assert results == ["one", "two"] and said == ["first", "second"]


async def test_content_blocks_reach_the_model_as_they_are(tmp_path: Path):
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}

    async def prompts() -> AsyncIterator[dict[str, Any]]:
        yield user([{"type": "text", "text": "what is this?"}, image], session_id="")

    async with world(tmp_path, step("A picture.")) as it:
        await it.ask(prompts())
        content = it.sent()["messages"][-1]["content"]
    assert image in [
        {key: value for key, value in block.items() if key != "cache_control"} for block in content
    ]


async def test_partial_messages_are_the_raw_stream(tmp_path: Path):
    async with world(tmp_path, step("Hello you there.")) as it:
        messages = await it.ask("hi", include_partial_messages=True)
    events = [message.event for message in messages if isinstance(message, StreamEvent)]
    assert events[0]["type"] == "message_start" and events[-1]["type"] == "message_stop"
    deltas = [event["delta"]["text"] for event in events if event["type"] == "content_block_delta"]
    assert "".join(deltas) == "Hello you there." and len(deltas) > 1


async def test_parallel_calls_raise_the_number_of_turns_each(tmp_path: Path):
    calls = [call("Read", f"t{i}", file_path="a.txt") for i in range(3)]
    async with world(tmp_path, step(*calls), step("Read.")) as it:
        (it.project / "a.txt").write_text("x\n")
        result = result_of(await it.ask("go"))
        assert [each["tool_use_id"] for each in it.results()] == ["t0", "t1", "t2"]
    assert result.num_turns == 4


async def test_usage_and_cost_are_reported(tmp_path: Path):
    usage = {"input_tokens": 1000, "output_tokens": 100}
    async with world(tmp_path, step("ok", message={"usage": usage})) as it:
        result = result_of(await it.ask("hi", model="claude-sonnet-4-5"))
    assert result.usage is not None and result.usage["input_tokens"] == 1000
    assert result.total_cost_usd is not None and result.total_cost_usd > 0
    assert result.model_usage is not None and "costUSD" in next(iter(result.model_usage.values()))


async def test_standard_error_stays_empty(tmp_path: Path):
    lines: list[str] = []
    async with world(tmp_path, step(bash("echo x")), step("ok")) as it:
        await it.ask("hi", stderr=lines.append)
    assert lines == []
