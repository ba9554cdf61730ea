import json
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.host import FakeHost
from tests.fakes.messages_server import MessagesServer, step
from tests.fakes.program import Program

_SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer", "minimum": 0}},
    "required": ["name", "age"],
}
_JSON = ("--output-format", "json")


def _answer(id: str = "t1", **input: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": "StructuredOutput", "input": input}


async def _run(folder: Path, *steps: Any, flags: tuple[str, ...] = ()) -> tuple[Any, list[Any], int]:
    async with MessagesServer(steps) as server:
        done = await Program(folder, server.url).run(
            "-p", "who?", "--json-schema", json.dumps(_SCHEMA), *_JSON, *flags
        )
        return done.result, [request.body for request in server.requests], done.code


async def test_valid_answer_ends_the_turn_at_once(tmp_path: Path):
    result, requests, code = await _run(tmp_path, step("Here.", _answer(name="Ada", age=36)))
    assert (result["subtype"], code, len(requests)) == ("success", 0, 1)
    assert result["structured_output"] == {"name": "Ada", "age": 36} == json.loads(result["result"])
    assert (result["num_turns"], result["stop_reason"]) == (2, "tool_use")
    (tool,) = [each for each in requests[0]["tools"] if each["name"] == "StructuredOutput"]
    assert tool["input_schema"] == _SCHEMA


async def test_invalid_answer_is_told_what_is_wrong_and_may_be_mended(tmp_path: Path):
    steps = step(_answer(name="Ada", age=-1)), step(_answer("t2", name="Ada", age=1))
    result, requests, _ = await _run(tmp_path, *steps)
    told = requests[1]["messages"][-1]["content"][0]
    assert told["is_error"] and "age" in told["content"] and "schema" in told["content"]
    assert result["structured_output"] == {"name": "Ada", "age": 1}


async def test_five_invalid_answers_end_the_turn(tmp_path: Path):
    steps = [step(_answer(f"t{i}", name=i)) for i in range(6)]
    result, requests, code = await _run(tmp_path, *steps)
    assert (result["subtype"], code) == ("error_max_structured_output_retries", 1)
    assert result["terminal_reason"] == "structured_output_retry_exhausted"
    assert len(requests) == 5 and len(result["errors"]) == 1


async def test_answer_in_plain_words_is_asked_for_once_more(tmp_path: Path):
    result, requests, _ = await _run(tmp_path, step("Ada."), step(_answer(name="Ada", age=1)))
    nudge = requests[1]["messages"][-1]["content"][-1]["text"]
    assert "StructuredOutput" in nudge and result["structured_output"] == {"name": "Ada", "age": 1}


async def test_second_answer_in_plain_words_is_a_plain_success(tmp_path: Path):
    result, requests, code = await _run(tmp_path, step("Ada."), step("I said Ada."))
    assert (result["subtype"], result["result"], code) == ("success", "I said Ada.", 0)
    assert "structured_output" not in result and len(requests) == 2


async def test_answer_needs_no_permission_in_any_mode(tmp_path: Path):
    result, _, _ = await _run(
        tmp_path, step(_answer(name="Ada", age=1)), flags=("--permission-mode", "dontAsk")
    )
    assert result["structured_output"]["age"] == 1 and result["permission_denials"] == []


async def test_text_output_is_the_json(tmp_path: Path):
    async with MessagesServer([step(_answer(name="Ada", age=1))]) as server:
        done = await Program(tmp_path, server.url).run("-p", "who?", "--json-schema", json.dumps(_SCHEMA))
    assert json.loads(done.out) == {"name": "Ada", "age": 1}


@pytest.mark.parametrize(
    "schema",
    [
        "{",
        "[]",
        '{"type": "array"}',
        '{"type": "nonsense"}',
        '{"properties": 3}',
        '{"$ref": "http://127.0.0.1:9/remote.json"}',
    ],
)
async def test_bad_schema_is_one_line_and_no_request(tmp_path: Path, schema: str):
    async with MessagesServer() as server:
        done = await Program(tmp_path, server.url).run("-p", "who?", "--json-schema", schema)
        assert server.requests == []
    assert done.code == 1 and len(done.err.splitlines()) == 1 and done.out == ""


async def test_schema_may_come_with_the_introduction_and_holds_for_every_turn(tmp_path: Path):
    steps = [step(_answer(name="Ada", age=1)), step(_answer("t2", name="Bob", age=2))]
    async with MessagesServer(steps) as server, FakeHost(Program(tmp_path, server.url)) as host:
        await host.request("initialize", jsonSchema=_SCHEMA)
        host.prompt("who?")
        first = await host.result()
        host.prompt("who else?")
        second = await host.result()
    names = [each["structured_output"]["name"] for each in (first, second)]
    assert names == ["Ada", "Bob"]


async def test_conversation_goes_on_validly_after_an_answer(tmp_path: Path):
    async with MessagesServer([step(_answer(name="Ada", age=1)), step("plain"), step("plain")]) as server:
        program = Program(tmp_path, server.url)
        await program.run("-p", "who?", "--json-schema", json.dumps(_SCHEMA))
        done = await program.run("-p", "-c", "and now?")
        messages = server.requests[1].body["messages"]
    assert done.out == "plain\n"
    assert [message["role"] for message in messages] == ["user", "assistant", "user"]
    assert messages[-1]["content"][0]["tool_use_id"] == "t1"
