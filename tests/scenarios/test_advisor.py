"""A second model that is asked for advice, through the whole program."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.host import FakeHost
from tests.fakes.messages_server import MessagesServer, Received, fault, step
from tests.fakes.model_server import ModelServer, answer
from tests.fakes.openai_server import ChatApi
from tests.fakes.processes import eventually
from tests.fakes.program import Program
from tests.fakes.sse import tool_use

_STREAM = ("-p", "--output-format", "stream-json", "--verbose")
_ADVISOR = "claude-opus-4-5"
_COST = {"usage": {"input_tokens": 1_000_000, "output_tokens": 100_000}}


def _tools(request: Received) -> list[str]:
    return [each["name"] for each in request.body.get("tools", ())]


def _results(request: Received) -> list[Any]:
    return [block for block in request.body["messages"][-1]["content"] if block["type"] == "tool_result"]


async def test_without_an_advisor_nobody_hears_of_the_tool(tmp_path: Path):
    script = [step(tool_use("Advisor")), step("ok")]
    async with MessagesServer(script) as server:
        done = await Program(tmp_path, server.url).run(*_STREAM, "go")
        assert not any("Advisor" in request.raw.decode() for request in server.requests[:1])
        assert "No such tool available: Advisor" in str(_results(server.requests[1]))
    assert "Advisor" not in done.frames[0]["tools"] and done.result["result"] == "ok"


async def test_the_advisor_sees_the_work_and_its_words_are_the_result(tmp_path: Path):
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "notes.txt").write_text("the roof leaks\n")
    script = [
        step(tool_use("Read", "r1", file_path=str(tmp_path / "project" / "notes.txt"))),
        step("I will paint it.", tool_use("Advisor", "a1", question="Is paint enough?")),
        step("Paint does not stop water.", message=_COST),
        step("I mend it first."),
    ]
    async with MessagesServer(script) as server:
        done = await Program(tmp_path, server.url).run(*_STREAM, "--advisor", _ADVISOR, "mend the roof")
        first, _, asked, last = server.requests
    assert "Advisor" in _tools(first) and "Advisor" in done.frames[0]["tools"]
    assert asked.body["model"] == _ADVISOR and _tools(asked) == []
    assert "You advise another model" in json.dumps(asked.body["system"])
    assert "tool_use" not in asked.raw.decode() and "tool_result" not in asked.raw.decode()
    assert [message["role"] for message in asked.body["messages"]] == ["user", "assistant", "user"]
    opening, call, question = (json.dumps(message["content"]) for message in asked.body["messages"])
    assert "mend the roof" in opening and "[call r1 of Read]" in call
    assert "[result r1 of Read]" in question and "the roof leaks" in question
    assert "I will paint it." in question and "Is paint enough?" in question
    (result,) = _results(last)
    assert (result["tool_use_id"], result["content"]) == ("a1", "Paint does not stop water.")
    spent = done.result["modelUsage"][_ADVISOR]
    assert (spent["inputTokens"], spent["outputTokens"]) == (1_000_000, 100_000)
    assert spent["costUSD"] == pytest.approx(7.5)
    assert done.result["permission_denials"] == [] and done.result["result"] == "I mend it first."


async def test_an_advisor_of_another_vendor_is_asked_at_its_own_service(tmp_path: Path):
    script = [step(tool_use("Advisor")), step("ok")]
    async with (
        MessagesServer(script) as server,
        ModelServer(ChatApi(), [answer("Test it first.")]) as other,
    ):
        program = Program(tmp_path, server.url, OPENAI_BASE_URL=f"{other.url}/v1", OPENAI_API_KEY="test-key")
        done = await program.run(*_STREAM, "--advisor", "openai/gpt-5", "go")
        assert [request.body["model"] for request in other.requests] == ["gpt-5"]
        assert _results(server.requests[1])[0]["content"] == "Test it first."
    assert "openai/gpt-5" in done.result["modelUsage"]


async def test_the_setting_chooses_an_advisor_and_the_flag_counts_more(tmp_path: Path):
    settings = ("--settings", json.dumps({"advisorModel": "opus"}))
    offered: list[bool] = []
    for flags in (settings, (*settings, "--advisor", "off")):
        async with MessagesServer([step("ok")]) as server:
            await Program(tmp_path, server.url).run("-p", "hi", *flags)
            offered.append("Advisor" in _tools(server.requests[0]))
    assert offered == [True, False]


async def test_the_variable_turns_every_advisor_off(tmp_path: Path):
    off = {"CLAUDE_CODE_DISABLE_ADVISOR_TOOL": "1"}
    async with MessagesServer([step("ok")]) as server:
        program = Program(tmp_path, server.url, **off)
        await program.run("-p", "hi", "--advisor", "opus")
        assert "Advisor" not in _tools(server.requests[0])
        done = await program.run("-p", "/advisor opus")
    assert done.code == 1 and "CLAUDE_CODE_DISABLE_ADVISOR_TOOL" in done.out


async def test_a_rule_that_denies_it_takes_the_tool_away(tmp_path: Path):
    script = [step(tool_use("Advisor")), step("ok")]
    async with MessagesServer(script) as server:
        program = Program(tmp_path, server.url)
        await program.run("-p", "hi", "--advisor", "opus", "--disallowedTools", "Advisor")
        assert "Advisor" not in _tools(server.requests[0]) and len(server.requests) == 2
        assert _results(server.requests[1])[0]["is_error"] is True
        done = await program.run("-p", "/advisor opus", "--disallowedTools", "Advisor")
    assert "is not available: a deny rule" in done.out


async def test_a_rule_that_comes_later_denies_the_call(tmp_path: Path):
    script = [step("one"), step(tool_use("Advisor")), step("ok")]
    async with MessagesServer(script) as server:
        async with FakeHost(Program(tmp_path, server.url), "--advisor", "opus") as host:
            host.prompt("hi")
            await host.result()
            host.prompt("/permissions deny Advisor")
            await host.result()
            host.prompt("go")
            result = await host.result()
        assert [request.body["model"] for request in server.requests] == ["claude-sonnet-5-5"] * 3
    assert [each["tool_name"] for each in result["permission_denials"]] == ["Advisor"]


async def test_an_advisor_that_fails_is_one_line_and_the_turn_goes_on(tmp_path: Path):
    refused = fault(400, "invalid_request_error", "It is\nnot possible.")
    async with MessagesServer([step(tool_use("Advisor")), refused, step("ok")]) as server:
        done = await Program(tmp_path, server.url).run(*_STREAM, "--advisor", _ADVISOR, "go")
        (result,) = _results(server.requests[-1])
    assert result["is_error"] is True and "\n" not in result["content"]
    assert result["content"].startswith(f"The advisor {_ADVISOR} could not answer: ")
    assert done.result["result"] == "ok"


async def test_an_interrupt_ends_the_question_to_the_advisor(tmp_path: Path):
    script = [step(tool_use("Advisor")), step("never", silent_after=10, when="You advise"), step("fine")]
    async with (
        MessagesServer(script) as server,
        FakeHost(Program(tmp_path, server.url), "--advisor", "opus") as host,
    ):
        host.prompt("go")
        await eventually(lambda: len(server.requests) == 2)
        await host.request("interrupt")
        result = await host.result()
        async with asyncio.timeout(50):
            await server.hung_up.wait()
        host.prompt("again")
        second = await host.result()
    assert result["terminal_reason"] == "aborted_tools" and second["result"] == "fine"


async def test_agents_of_the_session_have_no_advisor(tmp_path: Path):
    input = {"description": "look", "prompt": "find it", "run_in_background": False}
    script = [
        step(tool_use("Agent", "g1", **input)),
        step("found", when='"text":"find it"'),
        step("ok"),
    ]
    async with MessagesServer(script) as server:
        await Program(tmp_path, server.url).run("-p", "go", "--advisor", "opus")
        offered = ["Advisor" in _tools(request) for request in server.requests]
    assert offered == [True, False, True]


async def test_a_model_with_a_small_window_has_the_tool_too(tmp_path: Path):
    settings = json.dumps({"bridleModels": {"claude-tiny": {"contextWindow": 8_000}}})
    async with MessagesServer([step("ok")]) as server:
        program = Program(tmp_path, server.url)
        await program.run("-p", "hi", "--model", "claude-tiny", "--advisor", "opus", "--settings", settings)
        assert "Advisor" in _tools(server.requests[0])


async def test_the_ledger_lists_what_the_advisor_cost(tmp_path: Path):
    script = [step(tool_use("Advisor")), step("Fine.", message=_COST), step("ok")]
    settings = json.dumps({"bridleRecordUsage": True})
    async with MessagesServer(script) as server:
        program = Program(tmp_path, server.url)
        await program.run("-p", "go", "--advisor", _ADVISOR, "--settings", settings)
    tools = json.loads((await program.run("usage", "--by", "tool", "--json")).out)
    assert {row["key"]: row["calls"] for row in tools} == {"prompt": 1, "Advisor": 2}
    rows = json.loads((await program.run("usage", "--by", "agent", "--json")).out)
    (row,) = [each for each in rows if "Advisor" in each.values()]
    assert row["calls"] == 1 and row["usd"] == pytest.approx(7.5)


async def test_without_a_ledger_what_the_advisor_cost_is_read_from_the_transcript(tmp_path: Path):
    script = [step(tool_use("Advisor")), step("Fine.", message=_COST), step("ok")]
    async with MessagesServer(script) as server:
        program = Program(tmp_path, server.url)
        await program.run("-p", "go", "--advisor", _ADVISOR)
    for by, calls in (("tool", {"Advisor": 2, "prompt": 1}), ("agent", {"Advisor": 1, "main": 2})):
        rows = json.loads((await program.run("usage", "--by", by, "--json")).out)
        assert {row["key"]: row["calls"] for row in rows} == calls
        assert rows[0]["key"] == "Advisor" and rows[0]["usd"] == pytest.approx(7.5, abs=0.001)


async def test_a_budget_that_is_used_up_asks_no_advisor(tmp_path: Path):
    script = [step(tool_use("Advisor"), message=_COST), step("ok")]
    async with MessagesServer(script) as server:
        flags = ("--advisor", "opus", "--max-budget-usd", "0.01")
        done = await Program(tmp_path, server.url).run(*_STREAM, *flags, "go")
        assert len(server.requests) == 1
    assert done.result["subtype"] == "error_max_budget_usd"
