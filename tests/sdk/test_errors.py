import asyncio
import os
from pathlib import Path
from typing import Any

import pytest
from claude_agent_sdk import (
    AssistantMessage,
    CLIConnectionError,
    CLINotFoundError,
    Message,
    ResultMessage,
    SystemMessage,
    query,
)

from tests.fakes.messages_server import fault, step
from tests.sdk.world import World, bash, result_of, text_of, world


async def _until_error(it: World, prompt: str, **chosen: Any) -> tuple[list[Message], Exception]:
    """What a query yields before it raises, and what it raises; the type differs between releases."""
    messages: list[Message] = []
    try:
        async for message in query(prompt=prompt, options=it.options(**chosen)):
            messages += [message]
    except Exception as error:
        return messages, error
    pytest.fail("the query ended without an error")


async def test_refused_request_is_a_synthetic_message_and_an_error_result(tmp_path: Path):
    async with world(tmp_path, fault(400, "invalid_request_error", "Bad wish.")) as it:
        messages, error = await _until_error(it, "hi")
    (said,) = [message for message in messages if isinstance(message, AssistantMessage)]
    result = result_of(messages)
    assert said.model == "<synthetic>" and said.error is not None
    assert (result.subtype, result.is_error) == ("success", True) and "Bad wish." in str(result.result)
    assert "error result" in str(error)


async def test_wrong_key_is_named_as_such(tmp_path: Path):
    async with world(tmp_path, fault(403, "permission_error", "Go away.")) as it:
        messages, _ = await _until_error(it, "hi")
    (said,) = [message for message in messages if isinstance(message, AssistantMessage)]
    assert said.error == "authentication_failed"


async def test_failure_is_retried_and_announced(tmp_path: Path):
    async with world(tmp_path, fault(529, "overloaded_error"), step("There.")) as it:
        messages = await it.ask("hi")
    retries = [
        message
        for message in messages
        if isinstance(message, SystemMessage) and message.subtype == "api_retry"
    ]
    assert len(retries) == 1 and retries[0].data["error_status"] == 529
    assert text_of(messages) == "There."


async def test_session_continues_after_a_failed_turn(tmp_path: Path):
    async with world(tmp_path, fault(400), step("Better.")) as it, it.client() as client:
        await client.query("one")
        first = [message async for message in client.receive_response()]
        await client.query("two")
        second = [message async for message in client.receive_response()]
        assert "<synthetic>" not in str(it.sent())
    assert result_of(first).is_error and not result_of(second).is_error


async def test_unknown_session_is_an_error_with_its_id(tmp_path: Path):
    missing = "22222222-2222-4222-8222-222222222222"
    lines: list[str] = []
    async with world(tmp_path) as it:
        _, error = await _until_error(it, "hi", resume=missing, stderr=lines.append)
        assert it.server.requests == []
    assert missing in str(error) or missing in "\n".join(lines)


async def test_unknown_flag_is_a_process_error_and_a_line(tmp_path: Path):
    lines: list[str] = []
    async with world(tmp_path) as it:
        with pytest.raises(Exception, match="exit code"):
            await it.ask("hi", extra_args={"no-such-flag": None}, stderr=lines.append)
    assert lines and "unknown option '--no-such-flag'" in lines[0]


async def test_bad_schema_is_one_clear_line(tmp_path: Path):
    lines: list[str] = []
    form = {"type": "json_schema", "schema": {"type": "object", "properties": 3}}
    async with world(tmp_path) as it:
        with pytest.raises(Exception, match="exit code"):
            await it.ask("hi", output_format=form, stderr=lines.append)
    assert len(lines) == 1 and "JSON Schema" in lines[0]


async def test_program_that_is_not_there(tmp_path: Path):
    async with world(tmp_path) as it:
        with pytest.raises(CLINotFoundError):
            await it.ask("hi", cli_path=str(tmp_path / "nowhere"))


async def test_folder_that_is_not_there(tmp_path: Path):
    async with world(tmp_path) as it:
        with pytest.raises(CLIConnectionError):
            await it.ask("hi", cwd=tmp_path / "nowhere")


async def test_process_that_is_killed_is_an_error(tmp_path: Path):
    async with world(tmp_path, step(bash("kill -9 $PPID; sleep 5"))) as it:
        with pytest.raises(Exception, match="exit code -9"):
            await it.ask("go", allowed_tools=["Bash"])


async def test_no_credentials_is_an_error_result(tmp_path: Path):
    async with world(tmp_path) as it:
        messages, _ = await _until_error(it, "hi", env={"ANTHROPIC_API_KEY": ""})
        assert it.server.requests == []
    (said,) = [message for message in messages if isinstance(message, AssistantMessage)]
    assert said.error == "authentication_failed"


async def test_broken_stream_is_continued(tmp_path: Path):
    broken = step("A whole block.", "another", close_after=700)
    async with world(tmp_path, broken, step(" And the rest.")) as it:
        messages = await it.ask("hi")
    assert not result_of(messages).is_error and text_of(messages).endswith("And the rest.")


async def test_many_sessions_at_once_do_not_mix(tmp_path: Path):
    async def run(number: int) -> tuple[str, str]:
        folder = tmp_path / str(number)
        os.mkdir(folder)
        async with world(folder, step(f"I am {number}.")) as it:
            messages = await it.ask(f"who is {number}?")
            return text_of(messages), it.said()[0]

    answers = await asyncio.gather(*(run(number) for number in range(4)))
    assert answers == [(f"I am {number}.", f"who is {number}?") for number in range(4)]


async def test_large_results_do_not_break_the_reader(tmp_path: Path):
    async with world(tmp_path, step(bash("head -c 3000000 /dev/zero | tr '\\0' x")), step("ok")) as it:
        messages = await it.ask("go", allowed_tools=["Bash"])
    assert text_of(messages) == "ok"
    assert sum(isinstance(message, ResultMessage) for message in messages) == 1
