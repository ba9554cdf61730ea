import asyncio
from pathlib import Path
from typing import Any

import pytest

from bridle.providers.scripted import calls, says
from bridle.sdk import (
    AssistantMessage,
    CLIConnectionError,
    ProcessError,
    ResultError,
    ResultMessage,
    StreamEvent,
    SystemMessage,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UserMessage,
    query,
)
from bridle.types.errors import ProviderError
from bridle.types.ids import new_uuid
from tests.inprocess.scene import Scene, of, prompts


async def test_a_question_is_answered_with_typed_messages(tmp_path: Path):
    scene = Scene(tmp_path, says("Paris.", thinking="easy"))
    messages = await scene.ask("The capital of France?")
    assert [type(message) for message in messages] == [
        SystemMessage, SystemMessage, AssistantMessage, AssistantMessage, ResultMessage,
    ]  # fmt: skip
    said = of(messages, AssistantMessage)
    assert [message.content for message in said] == [
        [ThinkingBlock("easy", "signed 4")],
        [TextBlock("Paris.")],
    ]
    (result,) = of(messages, ResultMessage)
    assert (result.subtype, result.is_error, result.num_turns, result.result) == (
        "success",
        False,
        1,
        "Paris.",
    )
    assert result.usage is not None and result.usage["output_tokens"] == 5
    assert {message.session_id for message in said} == {result.session_id}


async def test_tools_run_and_their_results_are_told(tmp_path: Path):
    scene = Scene(tmp_path, says("Looking.", calls("Read", file_path="a.txt")), says("It says hello."))
    (scene.project / "a.txt").write_text("hello\n")
    messages = await scene.ask()
    (use,) = [m.content[0] for m in of(messages, AssistantMessage) if isinstance(m.content[0], ToolUseBlock)]
    assert (use.name, use.input) == ("Read", {"file_path": "a.txt"})
    (answered,) = of(messages, UserMessage)
    assert isinstance(answered.content, list)
    (block,) = answered.content
    assert isinstance(block, ToolResultBlock)
    assert (block.tool_use_id, block.content) == (use.id, "1\thello")
    assert answered.tool_use_result["file"]["content"] == "hello\n"
    assert of(messages, ResultMessage)[0].num_turns == 2


async def test_the_first_message_describes_the_session(tmp_path: Path):
    scene = Scene(tmp_path, says("ok"))
    session_id = new_uuid()
    messages = await scene.ask(session_id=session_id, model="haiku", permission_mode="plan", tools=["Read"])
    init = of(messages, SystemMessage)[0]
    assert init.subtype == "init"
    assert init.data["cwd"] == str(scene.project)
    assert init.data["tools"] == ["Read"]
    assert init.data["permissionMode"] == "plan"
    assert "haiku" in init.data["model"]
    assert init.data["session_id"] == session_id
    assert of(messages, ResultMessage)[0].session_id == session_id


async def test_a_stream_of_prompts_reaches_the_model_in_order(tmp_path: Path):
    scene = Scene(tmp_path, *(says("ok") for _ in range(3)))
    messages = await scene.ask(prompts("one", "two", "three"))
    asked = str(scene.model.requests[-1].messages)
    assert asked.index("one") < asked.index("two") < asked.index("three")
    assert of(messages, ResultMessage)[-1].result == "ok"


async def test_the_system_prompt_is_what_was_asked_for(tmp_path: Path):
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "prompt.md").write_text("From a file.")
    preset = {"type": "preset", "preset": "claude_code"}
    told: list[str] = []
    for wanted in (
        None,
        "Only this.",
        {"type": "file", "path": "prompt.md"},
        {"type": "custom", "prompt": "Custom."},
        preset,
        {**preset, "append": "And this."},
    ):
        scene = Scene(tmp_path, says("ok"))
        await scene.ask(system_prompt=wanted)
        told.append("".join(block["text"] for block in scene.model.requests[0].system))
    nothing, only, file, custom, usual, appended = told
    assert nothing == ""
    assert (only, file, custom) == ("Only this.", "From a file.", "Custom.")
    assert len(usual) > 500 and appended.endswith("And this.")


async def test_partial_messages_come_when_they_are_asked_for(tmp_path: Path):
    messages = await Scene(tmp_path, says("Hello there.")).ask(include_partial_messages=True)
    events = of(messages, StreamEvent)
    assert events[0].event["type"] == "message_start" and events[-1].event["type"] == "message_stop"
    pieces = [e.event["delta"]["text"] for e in events if e.event["type"] == "content_block_delta"]
    assert "".join(pieces) == "Hello there."


async def test_a_failed_model_call_ends_in_a_typed_error_after_its_result(tmp_path: Path):
    scene = Scene(tmp_path, ProviderError("bad key", kind="authentication_failed", status=401))
    heard: list[Any] = []
    with pytest.raises(ResultError) as caught:
        async for message in query(prompt="hi", options=scene.options()):
            heard += [message]
    assert isinstance(heard[-1], ResultMessage)
    assert (heard[-1].subtype, heard[-1].is_error, heard[-1].api_error_status) == ("success", True, 401)
    assert of(heard, AssistantMessage)[0].error == "authentication_failed"
    error = caught.value
    assert (error.terminal_reason, error.api_error_status, error.exit_code) == ("api_error", 401, 1)


async def test_limits_are_kept(tmp_path: Path):
    scene = Scene(tmp_path, *(says(calls("Glob", pattern="*")) for _ in range(3)))
    with pytest.raises(ResultError) as caught:
        await scene.ask(max_turns=2)
    assert caught.value.subtype == "error_max_turns"
    assert len(scene.model.requests) == 2
    scene = Scene(
        tmp_path, says("expensive", usage={"input_tokens": 10_000_000, "output_tokens": 1}), says("x")
    )
    with pytest.raises(ResultError) as caught:
        await scene.ask(prompts("one", "two"), max_budget_usd=0.01)
    assert caught.value.subtype == "error_max_budget_usd"


async def test_answers_in_a_shape_are_handed_out_as_data(tmp_path: Path):
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    scene = Scene(tmp_path, says(calls("StructuredOutput", n=7)))
    messages = await scene.ask(output_format={"type": "json_schema", "schema": schema})
    assert of(messages, ResultMessage)[0].structured_output == {"n": 7}


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"resume": new_uuid()}, ResultError, "No conversation found with session ID"),
        ({"session_id": "not-a-uuid"}, ResultError, "not a session ID"),
        ({"permission_mode": "nonsense"}, ProcessError, "nonsense"),
        ({"settings": "{broken"}, ProcessError, "settings"),
        ({"settings": "/nowhere/x.json"}, ProcessError, "does not exist"),
        ({"extra_args": {"no-such-flag": None}}, ProcessError, "no-such-flag"),
        ({"cwd": "/nowhere/at/all"}, CLIConnectionError, "Working directory does not exist"),
        ({"user": "nobody"}, CLIConnectionError, "user"),
    ],
)
async def test_what_cannot_be_begun_is_a_typed_error(
    tmp_path: Path, options: dict[str, Any], error: type[Exception], words: str
):
    with pytest.raises(error, match=words):
        await Scene(tmp_path).ask(**options)


async def test_a_missing_working_folder_ends_nothing(tmp_path: Path):
    scene = Scene(tmp_path, says("ok"))
    messages = await scene.ask(add_dirs=["/nowhere/at/all"])
    assert [message.result for message in of(messages, ResultMessage)] == ["ok"]
    assert "/nowhere/at/all" not in str(scene.model.requests)


async def test_leaving_the_loop_ends_the_session(tmp_path: Path):
    scene = Scene(tmp_path, says("Looking.", calls("Bash", command="sleep 60")), says("never"))
    stream = query(prompt="hi", options=scene.options(allowed_tools=["Bash"]))
    async with asyncio.timeout(50):
        async for message in stream:
            if isinstance(message, AssistantMessage):
                break
        await stream.aclose()
    assert scene.model.closed
    assert len(scene.model.requests) == 1


async def test_verbatim_prompts_are_marked(tmp_path: Path):
    scene = Scene(tmp_path, says("ok"))
    await scene.ask("@a.txt /help", verbatim_prompts=True)
    assert "@a.txt /help" in str(scene.model.requests[0].messages)


async def test_a_defect_is_a_typed_error_too(tmp_path: Path):
    with pytest.raises(ProcessError, match="ScriptEnded"):
        await Scene(tmp_path).ask()
