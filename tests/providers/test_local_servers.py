import asyncio
from typing import Any

from bridle.providers.local_servers import LocalModel, discover
from tests.fakes.json_server import JsonServer

_VARIABLES = ("OLLAMA_HOST", "LLAMACPP_BASE_URL", "LMSTUDIO_BASE_URL", "VLLM_BASE_URL", "SGLANG_BASE_URL")
_NOWHERE = dict.fromkeys(_VARIABLES, "http://127.0.0.1:9/v1")


def listing(*names: str, **more: Any) -> dict[str, Any]:
    return {"object": "list", "data": [{"id": name, "object": "model", **more} for name in names]}


async def test_models_of_ollama_come_with_their_window_and_whether_they_call_tools():
    shown = {"model_info": {"qwen3.context_length": 40960}, "capabilities": ["completion", "tools"]}
    answers = {"/v1/models": listing("qwen3:8b", owned_by="library"), "/api/show": shown}
    async with JsonServer(answers) as server:
        (found,) = await discover({**_NOWHERE, "OLLAMA_HOST": server.url})
    assert (found.vendor, found.base) == ("ollama", f"{server.url}/v1")
    assert found.models == (LocalModel(name="ollama/qwen3:8b", window=40960, tools=True),)


async def test_every_kind_of_server_tells_its_window_in_its_own_way():
    llama = {
        "/v1/models": listing("m.gguf", owned_by="llamacpp"),
        "/props": {"default_generation_settings": {"n_ctx": 8192}},
    }
    studio = {
        "/v1/models": listing("s", owned_by="organization_owner"),
        "/api/v0/models": {"data": [{"id": "s", "max_context_length": 32768, "capabilities": ["tool_use"]}]},
    }
    served = {"/v1/models": listing("v", owned_by="vllm", max_model_len=16384)}
    async with JsonServer(llama) as one, JsonServer(studio) as two, JsonServer(served) as three:
        env = {"LLAMACPP_BASE_URL": one.url, "LMSTUDIO_BASE_URL": two.url, "VLLM_BASE_URL": three.url}
        found = await discover({**_NOWHERE, **env})
    assert [(each.vendor, each.models) for each in found] == [
        ("llamacpp", (LocalModel(name="llamacpp/m.gguf", window=8192),)),
        ("lmstudio", (LocalModel(name="lmstudio/s", window=32768, tools=True),)),
        ("vllm", (LocalModel(name="vllm/v", window=16384),)),
    ]


async def test_a_server_of_another_kind_is_not_taken_for_what_usually_listens_there():
    async with JsonServer({"/v1/models": listing("v", owned_by="vllm")}) as server:
        assert await discover({**_NOWHERE, "LLAMACPP_BASE_URL": server.url}) == ()


async def test_whoever_is_silent_or_no_model_server_costs_little_time():
    async with JsonServer({"/v1/models": None}) as silent, JsonServer({"/v1/models": ["x"]}) as odd:
        env = {**_NOWHERE, "OLLAMA_HOST": silent.url, "VLLM_BASE_URL": odd.url}
        async with asyncio.timeout(50):
            assert await discover(env, patience=0.2) == ()
