import json
from pathlib import Path
from typing import Any

from tests.fakes.json_server import JsonServer
from tests.fakes.program import Program

_VARIABLES = ("OLLAMA_HOST", "LLAMACPP_BASE_URL", "LMSTUDIO_BASE_URL", "VLLM_BASE_URL", "SGLANG_BASE_URL")
_NOWHERE = dict.fromkeys(_VARIABLES, "http://127.0.0.1:9/v1")
_OLLAMA: dict[str, Any] = {
    "/v1/models": {"data": [{"id": "qwen3:8b", "owned_by": "library"}]},
    "/api/show": {"model_info": {"qwen3.context_length": 8192}, "capabilities": ["completion"]},
}


async def test_a_running_server_is_found_and_how_to_use_it_is_told(tmp_path: Path):
    async with JsonServer(_OLLAMA) as server:
        done = await Program(tmp_path, **{**_NOWHERE, "OLLAMA_HOST": server.url}).run("local")
    assert done.code == 0
    assert done.out.startswith(f"Ollama at {server.url}/v1\n")
    assert "8,192 tokens, no native tool calls, small: prompts and tools are shortened" in done.out
    assert "bridle --model ollama/qwen3:8b" in done.out


async def test_what_was_found_can_be_had_as_json(tmp_path: Path):
    async with JsonServer(_OLLAMA) as server:
        done = await Program(tmp_path, **{**_NOWHERE, "OLLAMA_HOST": server.url}).run("local", "--json")
    told = json.loads(done.out)
    assert told["servers"][0]["models"] == [{"name": "ollama/qwen3:8b", "window": 8192, "tools": False}]
    assert isinstance(told["inProcess"]["installed"], bool)


async def test_without_any_server_the_way_to_one_is_told(tmp_path: Path):
    done = await Program(tmp_path, **_NOWHERE).run("local")
    assert (done.code, done.out.splitlines()[0][:17]) == (0, "No server found. ")
    wrong = await Program(tmp_path).run("local", "frobnicate")
    assert (wrong.code, wrong.out) == (1, "")
