"""Whole sessions of the program on other vendors' models."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.bedrock_server import MessagesApi
from tests.fakes.converse_server import ConverseApi
from tests.fakes.gemini_server import GeminiApi
from tests.fakes.model_server import Api, ModelServer, answer, call, refusal, thought
from tests.fakes.openai_server import ChatApi, ResponsesApi
from tests.fakes.program import Program

_SETTINGS = '{"bridleModels": {"openai/gpt-5": {"dialect": "responses"}}}'


@pytest.mark.parametrize(
    ("api", "model", "flags", "variables"),
    [
        (ChatApi(), "openai/gpt-5", [], {"OPENAI_BASE_URL": "{}/v1", "OPENAI_API_KEY": "test-key"}),
        (ResponsesApi(), "openai/gpt-5", ["--settings", _SETTINGS],
         {"OPENAI_BASE_URL": "{}/v1", "OPENAI_API_KEY": "test-key"}),
        (GeminiApi(), "gemini/gemini-2.5-pro", [],
         {"GOOGLE_GEMINI_BASE_URL": "{}/v1beta", "GEMINI_API_KEY": "test-key"}),
    ],
    ids=["chat", "responses", "gemini"],
)  # fmt: skip
async def test_a_session_reads_a_file_with_another_vendors_model(
    tmp_path: Path, api: Api, model: str, flags: list[str], variables: dict[str, str]
):
    async with ModelServer(api) as server:
        env = {name: value.format(server.url) for name, value in variables.items()}
        program = Program(tmp_path, **env)
        file = program.project / "note.txt"
        file.write_text("the word is swordfish\n")
        reading = answer(thought("Let me look."), "Reading.", call("Read", "call_1", file_path=str(file)))
        server.script(reading, answer("The word is swordfish."))
        done = await program.run(
            "-p", "what is the word?", "--model", model, "--output-format", "stream-json", "--verbose",
            "--include-partial-messages", *flags,
        )  # fmt: skip
        assert (done.code, done.err) == (0, "")
        assert done.result["result"] == "The word is swordfish."
        assert done.result["total_cost_usd"] > 0
        assert list(done.result["modelUsage"]) == [model]
        assert "swordfish" in server.requests[1].raw.decode()
    streamed = [frame["event"]["type"] for frame in done.frames if frame["type"] == "stream_event"]
    assert streamed.count("message_start") == streamed.count("message_stop") == 2
    (used,) = [row for row in program.rows() if _calls(row)]
    assert used["message"]["model"] == model


def _calls(row: Any) -> bool:
    content = row.get("message", {}).get("content", "")
    return isinstance(content, list) and any(block.get("type") == "tool_use" for block in content)


async def test_a_session_goes_on_with_another_vendor_in_the_middle_of_a_turn(tmp_path: Path):
    async with ModelServer(MessagesApi()) as first, ModelServer(ChatApi()) as second:
        program = Program(
            tmp_path,
            first.url,
            OPENAI_BASE_URL=f"{second.url}/v1",
            OPENAI_API_KEY="test-key",
            CLAUDE_CODE_MAX_RETRIES="3",
        )
        file = program.project / "note.txt"
        file.write_text("the word is swordfish\n")
        reading = answer(thought("Hm."), "Reading.", call("Read", "toolu_1", file_path=str(file)))
        first.script(reading, refusal(402, "credit balance is too low", "billing_error"))
        second.script(answer("The word is swordfish."))
        done = await program.run(
            "-p", "what is the word?", "--model", "claude-sonnet-4-5", "--fallback-model", "openai/gpt-5",
            "--output-format", "stream-json", "--verbose",
        )  # fmt: skip
        assert done.code == 0 and done.result["result"] == "The word is swordfish."
        (asked,) = second.requests
    (switched,) = [frame for frame in done.frames if frame.get("subtype") == "model_fallback"]
    assert "credit" in switched["content"] and "$1.25 instead of $3" in switched["content"]
    assert [message["role"] for message in json.loads(asked.raw)["messages"]][-2:] == ["assistant", "tool"]
    assert "Hm." not in asked.raw.decode()


async def test_a_chain_of_vendors_is_walked_to_the_first_that_can_go_on(tmp_path: Path):
    async with (
        ModelServer(MessagesApi()) as first,
        ModelServer(ChatApi()) as second,
        ModelServer(GeminiApi()) as third,
        ModelServer(ConverseApi()) as fourth,
    ):
        own = {
            "tiny": {"dialect": "chat", "baseUrl": f"{second.url}/v1", "keyEnv": "K", "contextWindow": 2000}
        }
        program = Program(
            tmp_path,
            first.url,
            K="test-key",
            GOOGLE_GEMINI_BASE_URL=f"{third.url}/v1beta",
            GEMINI_API_KEY="test-key",
            ANTHROPIC_BEDROCK_BASE_URL=fourth.url,
            AWS_BEARER_TOKEN_BEDROCK="test-key",
            CLAUDE_CODE_MAX_RETRIES="3",
        )
        file = program.project / "note.txt"
        file.write_text("the word is swordfish\n")
        reading = answer("Reading.", call("Read", "toolu_1", file_path=str(file)))
        first.script(reading, refusal(402, "credit balance is too low", "billing_error"))
        third.script(refusal(404, "models/x is not found", "NOT_FOUND"))
        fourth.script(answer("The word is swordfish."))
        done = await program.run(
            "-p", "what is the word?", "--model", "claude-sonnet-4-5",
            "--fallback-model", "tiny,gemini/gemini-2.5-pro,bedrock/amazon.nova-pro-v1:0",
            "--output-format", "stream-json", "--verbose", "--settings", json.dumps({"bridleModels": own}),
        )  # fmt: skip
        assert (done.code, done.result["result"]) == (0, "The word is swordfish.")
        assert (len(second.requests), len(third.requests), len(fourth.requests)) == (0, 1, 1)
        assert "swordfish" in fourth.requests[0].raw.decode()
    notices = [frame["content"] for frame in done.frames if frame.get("subtype") == "model_fallback"]
    assert len(notices) == 2
    assert "credit" in notices[0] and "Skipped tiny: its window of 2000 tokens" in notices[0]
    assert "$1.25 instead of $3" in notices[0]
    assert "does not have the model" in notices[1] and "$0.8 instead of $1.25" in notices[1]
    assert list(done.result["modelUsage"]) == ["served", "bedrock/amazon.nova-pro-v1:0"]
    assert done.result["modelUsage"]["bedrock/amazon.nova-pro-v1:0"]["costUSD"] > 0


@pytest.mark.parametrize(("settings", "code"), [("{}", 0), ('{"switchModelsOnFlag": false}', 1)])
async def test_a_request_that_is_declined_goes_to_the_next_vendor_unless_that_is_not_wanted(
    tmp_path: Path, settings: str, code: int
):
    async with ModelServer(MessagesApi()) as first, ModelServer(ChatApi()) as second:
        program = Program(tmp_path, first.url, OPENAI_BASE_URL=f"{second.url}/v1", OPENAI_API_KEY="test-key")
        first.script(*[answer("", stop="filter")] * 2)
        second.script(answer("Here it is."))
        done = await program.run(
            "-p", "hi", "--model", "claude-sonnet-4-5", "--fallback-model", "openai/gpt-5",
            "--settings", settings,
        )  # fmt: skip
    assert (done.code, "Here it is." in done.out) == (code, code == 0)


@pytest.mark.parametrize(
    ("argv", "env", "said"),
    [
        (["--model", "openai/gpt-5"], {}, "OPENAI_API_KEY"),
        (["--model", "ollama/qwen3:8b"], {"OLLAMA_HOST": "127.0.0.1:9"}, "Start Ollama"),
        (["--model", "azure/x"], {"AZURE_OPENAI_API_KEY": "k"}, "AZURE_OPENAI_BASE_URL"),
    ],
)
async def test_what_is_missing_is_said_in_one_line(
    tmp_path: Path, argv: list[str], env: dict[str, str], said: str
):
    done = await Program(tmp_path, CLAUDE_CODE_MAX_RETRIES="0", **env).run("-p", "hi", *argv)
    assert done.code == 1 and said in done.out and done.out.strip().count("\n") == 0
