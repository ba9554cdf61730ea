"""Models in this process; what needs the real one is skipped where its packages are not at hand."""

import asyncio
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from bridle.providers import in_process
from bridle.providers.connect import provider_for
from bridle.types.errors import ProviderError
from bridle.types.history import History
from bridle.types.model import Completed, ModelRequest, Provider, TextArrived, ToolDefinition
from bridle.types.usage import Usage
from tests.fakes.program import Program
from tests.fakes.real_model import FOLDER, engine_at_hand, needs_model

_MODEL = "local/smollm2"
_BRIEF = '{"temperature": 0, "grammar": "root ::= [A-Za-z,!. ]{1,60}"}'
"""A model this small may repeat one sentence until its window is full; a folder's name can start it."""
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


@pytest.fixture
def engine() -> Generator[None, None, None]:
    with engine_at_hand():
        yield


def request(text: str = "Say hello.", **fields: Any) -> ModelRequest:
    history = History.of({"role": "user", "content": text})
    given: dict[str, Any] = {"max_tokens": 24, **fields}
    return ModelRequest(model=_MODEL, history=history, **given)


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
@pytest.mark.usefixtures("engine")
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
@pytest.mark.usefixtures("engine")
async def test_a_schema_makes_the_real_model_call_a_tool_properly():
    own = {_MODEL: {"quirks": {"toolMode": "schema"}}}
    provider = provider_for(_MODEL, {}, own_models=own)
    wish = "Use the tool Light to switch the light on."
    asked = request(wish, tools=(_LIGHT,), max_tokens=60, extra={"temperature": 0})
    message, _ = await whole(provider, asked)
    await provider.close()
    (called,) = message["content"]
    assert (called["type"], called["name"]) == ("tool_use", "Light")
    assert called["input"]["state"] in ("on", "off")


@pytest.mark.slow
@needs_model
@pytest.mark.usefixtures("engine")
async def test_the_loop_goes_on_while_the_real_model_thinks():
    provider = provider_for(_MODEL, {})
    await whole(provider, request())
    asking = asyncio.create_task(whole(provider, request("Tell a story.")))
    rounds = 0
    while not asking.done():
        await asyncio.wait([asking], timeout=0.01)
        rounds += 1
    await asking
    await provider.close()
    # An engine that kept the interpreter to itself would let the loop run once or twice.
    assert rounds > 5


@pytest.mark.slow
@needs_model
async def test_a_whole_session_runs_on_the_real_model(tmp_path: Path):
    program = Program(tmp_path, CLAUDE_CODE_EXTRA_BODY=_BRIEF, PYTHONPATH=FOLDER)
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


async def test_without_the_engine_the_way_to_it_is_told(tmp_path: Path):
    file = tmp_path / "mine.gguf"
    file.write_bytes(b"GGUF")
    done = await Program(tmp_path).run("-p", "Hi", "--model", f"local/{file}")
    assert done.code == 1 and "bridle[local]" in done.out and done.out.count("\n") == 1


@pytest.mark.slow
@needs_model
async def test_a_file_that_is_no_model_is_told_with_its_name(tmp_path: Path):
    file = tmp_path / "mine.gguf"
    file.write_bytes(b"GGUF")
    done = await Program(tmp_path, PYTHONPATH=FOLDER).run("-p", "Hi", "--model", f"local/{file}")
    assert done.code == 1 and str(file) in done.out and done.out.count("\n") == 1


@pytest.mark.slow
@needs_model
async def test_the_sample_is_offered_where_it_is_installed(tmp_path: Path):
    listed = await Program(tmp_path, PYTHONPATH=FOLDER).run("local")
    assert "local/smollm2" in listed.out and "too weak for work" in listed.out
