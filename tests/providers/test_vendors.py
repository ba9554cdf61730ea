import subprocess
import sys
from typing import Any

import pytest

from bridle.providers import catalog
from bridle.providers.connect import Providers
from bridle.providers.routes import place_of, vendor_of
from bridle.providers.vendors import VENDORS, altered, find
from bridle.types.errors import ConfigError, ProviderError
from bridle.types.history import History
from bridle.types.model import ModelRequest
from tests.fakes.model_server import ModelServer, answer
from tests.fakes.openai_server import ChatApi, ResponsesApi
from tests.tables import table

NAMED = (
    "openai azure openrouter groq mistral deepseek xai together fireworks cerebras vllm sglang llamacpp "
    "lmstudio ollama moonshot zai gemini vertex bedrock foundry anthropic"
)


def request(model: str) -> ModelRequest:
    return ModelRequest(model=model, history=History.of({"role": "user", "content": "Hi"}), max_tokens=10)


def test_every_vendor_has_one_row_and_speaks_a_dialect_that_exists():
    names = [vendor.name for vendor in VENDORS]
    assert len(set(names)) == len(names) and set(NAMED.split()) <= set(names)
    assert {vendor.dialect for vendor in VENDORS} <= set(catalog.DIALECTS)
    assert all(vendor.key_env or not vendor.key_needed or vendor.name == "vertex" for vendor in VENDORS)


@table("vendor", [vendor.name for vendor in VENDORS if vendor.name != "custom"])
def test_every_vendor_can_be_asked(vendor: str):
    providers = Providers({}, {})
    assert providers.of(f"{vendor}/some-model") is providers.of(f"{vendor}/another")


@pytest.mark.parametrize(
    ("model", "env", "base"),
    [
        ("openai/gpt-5", {}, "https://api.openai.com/v1"),
        ("ollama/x", {"OLLAMA_HOST": "10.0.0.1:11434"}, "http://10.0.0.1:11434/v1"),
        ("ollama/x", {"OLLAMA_HOST": "https://models.example/api/v1/"}, "https://models.example/api/v1"),
        ("azure/x", {"AZURE_OPENAI_ENDPOINT": "https://me.openai.azure.com/"},
         "https://me.openai.azure.com/openai/v1"),
        ("foundry/claude-opus-5", {"ANTHROPIC_FOUNDRY_RESOURCE": "me"},
         "https://me.services.ai.azure.com/anthropic"),
        ("bedrock/claude-opus-5", {"AWS_REGION": "eu-west-1"},
         "https://bedrock-runtime.eu-west-1.amazonaws.com"),
        ("vertex/claude-opus-5", {"CLOUD_ML_REGION": "us-east5"},
         "https://us-east5-aiplatform.googleapis.com/v1"),
    ],
)  # fmt: skip
def test_addresses_come_from_the_row_or_a_variable(model: str, env: dict[str, str], base: str):
    found = catalog.find(model)
    assert place_of(vendor_of(found, found.vendor, env), env).base == base


def test_another_address_is_spoken_to_in_the_older_dialect():
    found = catalog.find("openai/gpt-5")
    assert vendor_of(found, "openai", {}).dialect == "responses"
    assert vendor_of(found, "openai", {"OPENAI_BASE_URL": "http://127.0.0.1:1/v1"}).dialect == "chat"


@pytest.mark.parametrize(
    ("variable", "vendor"),
    [
        ("CLAUDE_CODE_USE_BEDROCK", "bedrock"),
        ("CLAUDE_CODE_USE_VERTEX", "vertex"),
        ("CLAUDE_CODE_USE_FOUNDRY", "foundry"),
    ],
)
def test_a_variable_sends_the_models_of_anthropic_to_a_cloud(variable: str, vendor: str):
    providers = Providers({variable: "1"}, {})
    assert providers.of("claude-sonnet-4-5") is providers.of(f"{vendor}/claude-sonnet-4-5")
    assert providers.of("offline") is not providers.of("claude-sonnet-4-5")


@pytest.mark.parametrize("model", ["openai/gpt-5", "mistral/x", "gemini/gemini-2.5-pro", "minimax/x"])
async def test_a_missing_key_is_said_with_the_variable_to_set(model: str):
    providers = Providers({}, {})
    vendor = find(model.partition("/")[0])
    assert vendor is not None
    with pytest.raises(ProviderError, match=vendor.key_env[0]) as caught:
        _ = [event async for event in providers.stream(request(model))]
    assert caught.value.kind == "authentication_failed"


async def test_a_missing_address_is_said_with_the_variable_to_set():
    with pytest.raises(ProviderError, match="AZURE_OPENAI_BASE_URL"):
        _ = [event async for event in Providers({}, {}).stream(request("azure/x"))]


async def test_a_vendor_of_a_known_dialect_is_one_entry_of_the_user():
    async with ModelServer(ChatApi(), [answer("Hi")]) as server:
        own: dict[str, Any] = {
            "mine": {
                "dialect": "chat",
                "name": "served-name",
                "baseUrl": f"{server.url}/v1",
                "keyEnv": "MINE",
                "headers": {"X-Team": "blue"},
                "quirks": {"limitField": "max_completion_tokens", "systemRole": "developer"},
            }
        }
        providers = Providers({"MINE": "test-key"}, own)
        _ = [event async for event in providers.stream(request("mine"))]
        await providers.close()
        (asked,) = server.requests
    assert asked.headers["x-team"] == "blue"
    assert (asked.body["model"], asked.body["max_completion_tokens"]) == ("served-name", 10)


async def test_an_entry_may_choose_the_dialect_of_a_known_vendor():
    async with ModelServer(ResponsesApi(), [answer("Hi")]) as server:
        own: dict[str, Any] = {"openai/gpt-5": {"dialect": "responses"}}
        env = {"OPENAI_BASE_URL": f"{server.url}/v1", "OPENAI_API_KEY": "test-key"}
        providers = Providers(env, own)
        _ = [event async for event in providers.stream(request("openai/gpt-5"))]
        await providers.close()
        assert server.requests[0].path == "/v1/responses"


def test_a_quirk_that_does_not_exist_is_named():
    vendor = find("groq")
    assert vendor is not None
    assert altered(vendor, {"images": False}).quirks.limit_field == "max_completion_tokens"
    with pytest.raises(ConfigError, match="groq"):
        altered(vendor, {"imagess": False})


def test_start_up_knows_nothing_of_other_vendors():
    code = (
        "import sys; from bridle.providers.connect import provider_for;"
        "provider_for('claude-sonnet-4-5', {}); provider_for('offline', {});"
        "print([name for name in sys.modules if name.startswith('bridle.providers.')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    for name in ("vendors", "foreign", "exchange", "routes", "chat", "bedrock", "own_models"):
        assert f"'bridle.providers.{name}'" not in done.stdout
