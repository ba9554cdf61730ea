"""Calls of models that have none of their own: read out of text, or held to a schema."""

import json
from typing import Any

from bridle.providers.connect import provider_for
from bridle.types.history import History
from bridle.types.model import BlockClosed, Completed, ModelRequest, TextArrived, ToolDefinition
from tests.fakes.model_server import Api, ModelServer, Received, Said, Script, answer, call
from tests.fakes.openai_server import ChatApi

_READ: ToolDefinition = {
    "name": "Read",
    "description": "Read a file.\n\nMore that is long.",
    "input_schema": {
        "type": "object",
        "properties": {"file_path": {"type": "string", "description": "The file."}},
        "required": ["file_path"],
    },
}
_WRITTEN = '```json\n{"name": "Read", "arguments": {"file_path": "a.txt"}}\n```'


class AnyChatApi(ChatApi):
    """The API of a server at home, which wants no key and takes a schema."""

    def problem(self, request: Received) -> Script | None:
        return None


def request(*messages: Any, tools: tuple[ToolDefinition, ...] = (_READ,)) -> ModelRequest:
    said: tuple[Any, ...] = messages or ({"role": "user", "content": "Look."},)
    return ModelRequest(model="ollama/m", history=History.of(*said), tools=tools, max_tokens=100)


async def ask(server: ModelServer, asked: ModelRequest, **quirks: Any) -> list[Any]:
    own = {"ollama/m": {"quirks": quirks}} if quirks else {}
    provider = provider_for("ollama/m", {"OLLAMA_HOST": server.url}, own_models=own)
    events = [event async for event in provider.stream(asked)]
    await provider.close()
    return events


def api() -> Api:
    return AnyChatApi()


async def test_a_call_in_the_text_of_a_model_at_home_is_made():
    async with ModelServer(api(), [answer(f"Looking.\n{_WRITTEN}")]) as server:
        events = await ask(server, request())
    done = events[-1]
    assert isinstance(done, Completed)
    assert done.message["stop_reason"] == "tool_use"
    text, called = done.message["content"]
    assert text == {"type": "text", "text": "Looking.\n"}
    assert (called["type"], called.get("name"), called.get("input")) == (
        "tool_use", "Read", {"file_path": "a.txt"},
    )  # fmt: skip
    assert "".join(event.text for event in events if isinstance(event, TextArrived)) == "Looking.\n"
    assert [event.index for event in events if isinstance(event, BlockClosed)] == [0, 1]


async def test_a_call_of_its_own_counts_and_the_text_beside_it_stays_text():
    async with ModelServer(api(), [answer(_WRITTEN, call("Read", file_path="b.txt"))]) as server:
        done = (await ask(server, request()))[-1]
    assert [block["type"] for block in done.message["content"]].count("tool_use") == 1


async def test_text_is_left_alone_without_tools_and_where_the_service_calls_well():
    async with ModelServer(api(), [answer(_WRITTEN), answer(_WRITTEN)]) as server:
        without = (await ask(server, request(tools=())))[-1]
        unwanted = (await ask(server, request(), recoverCalls=False))[-1]
    assert [without.message["stop_reason"], unwanted.message["stop_reason"]] == ["end_turn", "end_turn"]
    assert unwanted.message["content"] == [{"type": "text", "text": _WRITTEN}]


async def test_schema_mode_holds_answers_to_calls_and_text():
    stated = '{"tool": "Read", "input": {"file_path": "a.txt"}}'
    async with ModelServer(api(), [answer(stated), answer('{"answer": "Done."}')]) as server:
        first = (await ask(server, request(), toolMode="schema"))[-1]
        second = (await ask(server, request(), toolMode="schema"))[-1]
    (called,) = first.message["content"]
    assert (called["name"], called["input"]) == ("Read", {"file_path": "a.txt"})
    assert second.message["content"] == [{"type": "text", "text": "Done."}]
    body = server.requests[0].body
    assert "tools" not in body
    schema = body["response_format"]["json_schema"]["schema"]
    assert schema["anyOf"][0]["properties"] == {
        "tool": {"const": "Read"},
        "input": {
            "type": "object",
            "properties": {"file_path": {"type": "string"}},
            "required": ["file_path"],
        },
    }
    assert "Read: Read a file. Input:" in body["messages"][0]["content"]


async def test_schema_mode_tells_earlier_calls_and_results_as_text():
    used = {"type": "tool_use", "id": "c1", "name": "Read", "input": {"file_path": "a.txt"}}
    history = (
        {"role": "user", "content": "Look."},
        {"role": "assistant", "content": [used]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "hello"}]},
    )
    async with ModelServer(api(), [answer('{"answer": "hello"}')]) as server:
        await ask(server, request(*history), toolMode="schema")
    _, _, said, heard = server.requests[0].body["messages"]
    assert json.loads(said["content"]) == {"tool": "Read", "input": {"file_path": "a.txt"}}
    assert heard == {"role": "user", "content": "Result of Read:\n\nhello"}


async def test_an_answer_that_breaks_the_schema_is_shown_as_it_is():
    async with ModelServer(api(), [answer('{"tool": "Bash", "input": {}}'), answer("no json")]) as server:
        for expected in ('{"tool": "Bash", "input": {}}', "no json"):
            done = (await ask(server, request(), toolMode="schema"))[-1]
            assert done.message["content"] == [{"type": "text", "text": expected}]


class SilentApi(AnyChatApi):
    """A server that counts nothing."""

    def frames(self, said: Said) -> list[bytes]:
        return [frame for frame in super().frames(said) if b'"usage"' not in frame]


async def test_what_no_service_counts_is_guessed():
    async with ModelServer(SilentApi(), [answer("Hello there.")]) as server:
        events = await ask(server, request())
    sent = len(server.requests[0].raw) // 4
    assert events[0].message["usage"]["input_tokens"] == sent
    assert json.loads(events[0].wire)["message"]["usage"]["input_tokens"] == sent
    assert events[-1].message["usage"]["input_tokens"] == sent
    assert events[-1].message["usage"]["output_tokens"] > 0


async def test_a_count_of_the_service_takes_the_place_of_the_guess():
    async with ModelServer(api(), [answer("Hello there.")]) as server:
        events = await ask(server, request())
    assert events[0].message["usage"]["input_tokens"] > 0
    assert events[-1].message["usage"]["input_tokens"] == 8
