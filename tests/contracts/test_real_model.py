"""What the dialects owe their caller, spoken to llama.cpp's server with a real model of 135M parameters."""

import asyncio
import json
from collections.abc import AsyncGenerator, Generator
from pathlib import Path
from typing import Any

import pytest

from bridle.providers.connect import Providers
from bridle.types.block import text_of
from bridle.types.errors import ProviderError
from bridle.types.history import History
from bridle.types.model import (
    BlockClosed,
    Completed,
    ModelEvent,
    ModelRequest,
    PieceArrived,
    Started,
    TextArrived,
    ToolDefinition,
)
from bridle.types.usage import Usage
from tests.fakes.program import Program
from tests.fakes.real_model import KEY, needs_model, real_server

pytestmark = [pytest.mark.slow, needs_model]

_LIGHT: ToolDefinition = {
    "name": "Light",
    "description": "Switch the light.",
    "input_schema": {
        "type": "object",
        "properties": {"state": {"type": "string", "enum": ["on", "off"]}},
        "required": ["state"],
        "additionalProperties": False,
    },
}
_ROOTS = {"chat": "/v1", "responses": "/v1", "anthropic": ""}
_MUST_CALL: dict[str, dict[str, Any]] = {
    "chat": {"tool_choice": "required"},
    "responses": {"tool_choice": "required"},
    "anthropic": {"tool_choice": {"type": "any"}},
}


class Asked:
    """The server, asked in one dialect."""

    def __init__(self, dialect: str, address: str, key: str = KEY, **entry: Any) -> None:
        self.dialect = dialect
        row = {"dialect": dialect, "baseUrl": address + _ROOTS[dialect], "keyEnv": "REAL_KEY", **entry}
        self.providers = Providers({"REAL_KEY": key}, {"real": {"contextWindow": 4096, **row}})

    def request(self, *messages: Any, **fields: Any) -> ModelRequest:
        given: dict[str, Any] = {"max_tokens": 24, "extra": {"temperature": 0}, **fields}
        return ModelRequest(model="real", history=History.of(*messages), **given)

    async def stream(self, request: ModelRequest) -> list[ModelEvent]:
        async with asyncio.timeout(60):
            return [event async for event in self.providers.stream(request)]

    async def call(self, *, stream: bool) -> list[ModelEvent]:
        """What comes when the model must call a tool."""
        extra = {"temperature": 0, **_MUST_CALL[self.dialect]}
        wish = _user("Use the tool Light to switch the light on.")
        return await self.stream(
            self.request(wish, tools=(_LIGHT,), max_tokens=80, extra=extra, stream=stream)
        )


@pytest.fixture(scope="module")
def address() -> Generator[str, None, None]:
    with real_server() as given:
        yield given


@pytest.fixture(params=_ROOTS)
async def asked(request: pytest.FixtureRequest, address: str) -> AsyncGenerator[Asked, None]:
    made = Asked(request.param, address)
    yield made
    await made.providers.close()


@pytest.mark.parametrize("stream", [True, False])
async def test_the_model_answers(asked: Asked, stream: bool):
    events = await asked.stream(asked.request(_user("Say hello."), stream=stream))
    message = _completed(events).message
    streamed = [event.text for event in events if isinstance(event, TextArrived)]
    assert isinstance(events[0], Started)
    assert text_of(message["content"]).strip() and "".join(streamed) == text_of(message["content"])
    assert len(streamed) > 3 or not stream
    assert message["stop_reason"] in ("end_turn", "max_tokens")
    usage = Usage.from_api(message["usage"])
    assert usage.context > 0 and 0 < usage.output <= 24


@pytest.mark.parametrize("stream", [True, False])
async def test_a_call_that_the_server_holds_to_the_schema_is_read(asked: Asked, stream: bool):
    events = await asked.call(stream=stream)
    (called,) = [event for event in events if isinstance(event, BlockClosed)]
    block: Any = called.block
    assert called.flaw is None
    assert (block["type"], block["name"], block["id"] != "") == ("tool_use", "Light", True)
    assert block["input"]["state"] in ("on", "off") and len(block["input"]) == 1
    assert _completed(events).message["stop_reason"] == "tool_use"
    assert len([event for event in events if isinstance(event, PieceArrived)]) > 3 or not stream


async def test_the_result_of_a_call_goes_back_and_the_model_goes_on(asked: Asked):
    answer = _completed(await asked.call(stream=True)).message
    (block,) = answer["content"]
    result = {"type": "tool_result", "tool_use_id": block.get("id"), "content": "The light is on."}
    said: Any = {"role": "assistant", "content": answer["content"]}
    wish = _user("Use the tool Light to switch the light on.")
    again = asked.request(wish, said, {"role": "user", "content": [result]}, tools=(_LIGHT,))
    usage = Usage.from_api(_completed(await asked.stream(again)).message["usage"])
    assert usage.output > 0


async def test_a_limit_of_tokens_is_told_as_such(asked: Asked):
    events = await asked.stream(asked.request(_user("Count from one to one hundred."), max_tokens=3))
    told = _completed(events).message["stop_reason"]
    # This server calls an answer of Responses complete that its limit has cut.
    assert told == ("end_turn" if asked.dialect == "responses" else "max_tokens")


async def test_a_wrong_key_and_a_prompt_beyond_the_window_have_their_kinds(asked: Asked, address: str):
    other = Asked(asked.dialect, address, key="wrong")
    with pytest.raises(ProviderError) as refused:
        await other.stream(other.request(_user("Say hello.")))
    await other.providers.close()
    assert refused.value.kind == "authentication_failed" and "REAL_KEY" in str(refused.value)
    with pytest.raises(ProviderError) as too_long:
        await asked.stream(asked.request(_user("word " * 6000)))
    assert too_long.value.is_prompt_too_long and not too_long.value.retryable


async def test_who_leaves_in_the_middle_frees_the_server(asked: Asked):
    story = asked.request(_user("Tell a very long story."), max_tokens=2000)
    async with asyncio.timeout(60):
        async for event in asked.providers.stream(story):
            if isinstance(event, TextArrived):
                break
    # It has one slot only: the next answer comes when the last was given up.
    assert _completed(await asked.stream(asked.request(_user("Say hello."))))


async def test_schema_mode_makes_calls_without_tools_on_the_wire(address: str):
    asked = Asked("chat", address, quirks={"toolMode": "schema"})
    wish = asked.request(_user("Use the tool Light to switch the light on."), tools=(_LIGHT,), max_tokens=60)
    content: Any = _completed(await asked.stream(wish)).message["content"]
    await asked.providers.close()
    (called,) = content
    assert (called["type"], called["name"]) == ("tool_use", "Light")
    assert called["input"]["state"] in ("on", "off")


async def test_a_session_of_the_program_runs_the_tool_that_the_model_calls(tmp_path: Path, address: str):
    row = {"dialect": "chat", "baseUrl": f"{address}/v1", "keyEnv": "REAL_KEY", "contextWindow": 4096}
    own = {"real": {**row, "quirks": {"toolMode": "schema"}}}
    program = Program(
        tmp_path,
        REAL_KEY=KEY,
        CLAUDE_CODE_MAX_OUTPUT_TOKENS="120",
        CLAUDE_CODE_EXTRA_BODY='{"temperature": 0}',
    )
    (program.project / "a.txt").write_text("hello")
    done = await program.run(
        "-p", "Use the tool Glob with the pattern *.txt.", "--model", "real",
        "--tools", "Glob", "--max-turns", "1",
        "--system-prompt", "Be brief.", "--settings", json.dumps({"bridleModels": own}),
        "--output-format", "stream-json", "--verbose",
    )  # fmt: skip
    said = [frame["message"]["content"] for frame in done.frames if frame["type"] in ("assistant", "user")]
    (called,), (result,) = said
    assert (called["name"], called["input"]) == ("Glob", {"pattern": "*.txt"})
    assert (result["tool_use_id"], result["content"]) == (called["id"], "a.txt")
    assert done.result["subtype"] == "error_max_turns" and done.result["total_cost_usd"] == 0


def _user(text: str) -> Any:
    return {"role": "user", "content": text}


def _completed(events: list[ModelEvent]) -> Completed:
    last = events[-1]
    assert isinstance(last, Completed)
    return last
