import json
from pathlib import Path

import pytest

from tests.fakes.json_server import JsonServer
from tests.fakes.messages_server import MessagesServer, fault, step
from tests.fakes.model_server import ModelServer, answer, refusal
from tests.fakes.openai_server import ChatApi
from tests.fakes.program import Program


async def test_the_list_has_windows_prices_capabilities_and_keys(tmp_path: Path):
    program = Program(tmp_path, GROQ_API_KEY="k")
    done = await program.run("models")
    assert done.code == 0
    head, *rows = done.out.splitlines()
    assert head.split() == ["MODEL", "ID", "VENDOR", "WINDOW", "OUTPUT", "IN", "OUT", "CAN", "KEY"]
    (opus,) = [row for row in rows if row.startswith("opus ")]
    assert opus.split()[2:7] == ["anthropic", "1m", "128k", "4", "20"]
    assert opus.endswith("missing")
    assert any(row.startswith("groq/") and row.endswith("GROQ_API_KEY") for row in rows)
    assert not any(row.startswith("openai/") for row in rows)
    assert "more with --all" in rows[-1]


async def test_the_list_as_json_has_every_model_when_asked(tmp_path: Path):
    done = await Program(tmp_path).run("models", "list", "--all", "--json")
    lines = {line["value"]: line for line in json.loads(done.out)}
    assert lines["openai/gpt-5"]["key"] == "missing"
    assert lines["offline"]["key"] == "not needed"
    assert lines["best"]["model"] == lines["fable"]["model"]


async def test_one_model_is_shown_with_its_roles(tmp_path: Path):
    done = await Program(tmp_path).run("models", "show", "opusplan", "--json")
    shown = json.loads(done.out)
    assert "sonnet" in shown["model"]
    assert "opus" in shown["in_plan_mode"]
    assert "haiku" in shown["small_model"]
    other = json.loads((await Program(tmp_path).run("models", "show", "gpt-5", "--json")).out)
    assert other["small_model"] == "openai/gpt-5-mini"


async def test_a_misspelled_model_is_answered_with_near_ones(tmp_path: Path):
    done = await Program(tmp_path).run("models", "show", "sonet")
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("error: unknown model 'sonet': did you mean sonnet")


async def test_a_test_sends_one_request_and_tells_time_tool_and_cost(tmp_path: Path):
    called = {"type": "tool_use", "id": "t", "name": "report", "input": {"word": "ready"}}
    async with MessagesServer([step(called)]) as server:
        done = await Program(tmp_path, server.url).run("models", "test", "sonnet", "--json")
    assert done.code == 0
    told = json.loads(done.out)
    assert (told["called"], told["model"].startswith("claude-sonnet")) == (True, True)
    assert told["usd"] > 0
    assert len(server.requests) == 1


async def test_the_chain_tells_who_takes_over_what_is_lost_and_what_it_costs(tmp_path: Path):
    program = Program(tmp_path, ANTHROPIC_API_KEY="k")
    done = await program.run(
        "models", "chain", "--model", "opus", "--fallback-model", "gpt-5,ollama/qwen3:8b"
    )
    assert done.code == 0
    text = done.out
    assert [line[:2] for line in text.splitlines() if line[0].isdigit()] == ["1.", "2.", "3."]
    assert "No key. Add one with: bridle auth login openai" in text
    assert "openai/gpt-5 costs $1.25 instead of $4" in text
    assert "Conversations above 32,768 tokens skip it." in text
    alone = await program.run("models", "chain")
    assert "No fallback model" in alone.out


async def test_models_that_are_not_available_cannot_be_chosen(tmp_path: Path):
    program = Program(tmp_path)
    settings = '{"availableModels": ["haiku"], "enforceAvailableModels": true}'
    refused = await program.run("-p", "hi", "--model", "opus", "--settings", settings)
    assert (refused.code, refused.err) == (1, "error: the model opus is not in availableModels: haiku\n")
    chain = await program.run("models", "chain", "--settings", settings)
    assert chain.out.startswith("1. claude-haiku")


async def test_the_variable_for_a_model_of_ones_own_puts_it_on_the_list(tmp_path: Path):
    named = {"ANTHROPIC_CUSTOM_MODEL_OPTION": "house-model", "ANTHROPIC_CUSTOM_MODEL_OPTION_NAME": "Ours"}
    done = await Program(tmp_path, ANTHROPIC_API_KEY="k", **named).run("models", "--json")
    (line,) = [each for each in json.loads(done.out) if each["value"] == "house-model"]
    assert line["label"] == "Ours"


_QUICK = {"CLAUDE_CODE_MAX_RETRIES": "0"}


async def one_line(program: Program, *flags: str) -> str:
    """What a run in print mode says when it fails: one line, and an exit code of 1."""
    done = await program.run("-p", "hi", *flags)
    assert done.code == 1
    (line,) = done.out.splitlines()
    assert done.err == ""
    return line


async def test_a_wrong_key_is_told_in_one_line(tmp_path: Path):
    async with MessagesServer([fault(401, "authentication_error", repeat=True)]) as server:
        line = await one_line(Program(tmp_path, server.url, **_QUICK))
    assert "The service did not accept the key (401): set ANTHROPIC_API_KEY" in line


async def test_no_key_at_all_is_told_in_one_line(tmp_path: Path):
    assert "bridle auth login" in await one_line(Program(tmp_path))
    assert "bridle auth login groq" in await one_line(Program(tmp_path), "--model", "groq/qwen/qwen3-32b")


async def test_a_wrong_address_is_told_in_one_line(tmp_path: Path):
    line = await one_line(Program(tmp_path, "http://127.0.0.1:9", **_QUICK))
    assert "ANTHROPIC_BASE_URL (now http://127.0.0.1:9)" in line
    async with JsonServer({}) as server:
        program = Program(tmp_path, GROQ_BASE_URL=f"{server.url}/wrong", GROQ_API_KEY="k", **_QUICK)
        line = await one_line(program, "--model", "groq/qwen/qwen3-32b")
    assert f"check GROQ_BASE_URL (now {server.url}/wrong)" in line
    line = await one_line(Program(tmp_path, OLLAMA_HOST="127.0.0.1:9", **_QUICK), "--model", "ollama/x")
    assert "Start Ollama, or set OLLAMA_HOST to its address" in line


@pytest.mark.parametrize("vendor", ["anthropic", "openai"])
async def test_an_unknown_model_is_told_with_near_names(tmp_path: Path, vendor: str):
    if vendor == "anthropic":
        async with MessagesServer([fault(404, "not_found_error")]) as server:
            line = await one_line(Program(tmp_path, server.url, **_QUICK), "--model", "claude-sonet-5")
        assert "did you mean claude-sonnet-5" in line
        return
    async with ModelServer(
        ChatApi(), [refusal(404, "The model does not exist", "model_not_found")]
    ) as server:
        variables = {"OPENAI_BASE_URL": f"{server.url}/v1", "OPENAI_API_KEY": "test-key"}
        line = await one_line(Program(tmp_path, **variables, **_QUICK), "--model", "openai/gpt-55")
    assert "did you mean openai/gpt-5" in line


@pytest.mark.parametrize(
    ("status", "message", "code", "told"),
    [
        (400, "This model does not support tools", "invalid", "does not support tools"),
        (400, "maximum context length is 4096 tokens", "context_length_exceeded", "too long for"),
        (
            429,
            "You exceeded your current quota",
            "insufficient_quota",
            "add credit, or choose another model with --model or --fallback-model",
        ),
        (402, "Payment required", "payment_required", "quota or credit at Groq is used up"),
    ],
)
async def test_what_a_service_cannot_do_is_told_in_one_line(
    tmp_path: Path, status: int, message: str, code: str, told: str
):
    async with ModelServer(ChatApi(), [refusal(status, message, code)] * 4) as server:
        variables = {"GROQ_BASE_URL": f"{server.url}/v1", "GROQ_API_KEY": "test-key"}
        line = await one_line(Program(tmp_path, **variables, **_QUICK), "--model", "groq/qwen/qwen3-32b")
    assert told in line


async def test_a_refusal_of_the_model_is_told_in_one_line(tmp_path: Path):
    async with ModelServer(ChatApi(), [answer("", stop="filter")]) as server:
        variables = {"GROQ_BASE_URL": f"{server.url}/v1", "GROQ_API_KEY": "test-key"}
        line = await one_line(Program(tmp_path, **variables, **_QUICK), "--model", "groq/qwen/qwen3-32b")
    assert "refus" in line.lower() or "declin" in line.lower()


async def test_a_small_window_gets_a_short_prompt_and_few_tools(tmp_path: Path):
    own = '{"bridleModels": {"groq/tiny": {"contextWindow": 8192}}}'
    async with ModelServer(ChatApi(), [answer("Hi.")]) as server:
        variables = {"GROQ_BASE_URL": f"{server.url}/v1", "GROQ_API_KEY": "test-key"}
        done = await Program(tmp_path, **variables).run("-p", "hi", "--model", "groq/tiny", "--settings", own)
    assert (done.code, done.out) == (0, "Hi.\n")
    body = server.requests[0].body
    assert [tool["function"]["name"] for tool in body["tools"]] == [
        "Bash",
        "Edit",
        "Glob",
        "Grep",
        "Read",
        "Write",
    ]
    assert len(server.requests[0].raw) < 8192 * 4 / 2
    assert body["max_completion_tokens"] <= 2048


async def test_a_limit_that_the_service_tells_of_becomes_a_frame(tmp_path: Path):
    headers = {
        "anthropic-ratelimit-unified-status": "allowed_warning",
        "anthropic-ratelimit-unified-reset": "1794753413",
    }
    async with MessagesServer([step("Hi", headers=headers)]) as server:
        done = await Program(tmp_path, server.url).run(
            "-p", "hi", "--output-format", "stream-json", "--verbose"
        )
    (frame,) = [each for each in done.frames if each["type"] == "rate_limit_event"]
    assert frame["rate_limit_info"] == {"status": "allowed_warning", "resetsAt": 1794753413}
    assert frame["session_id"] == done.result["session_id"]
