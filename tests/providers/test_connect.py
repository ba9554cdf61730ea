import subprocess
import sys
from typing import Any

import pytest

from bridle.providers.connect import Providers, longest_overload_delay, provider_for, retries
from bridle.types.errors import ConfigError, ProviderError
from bridle.types.history import History
from bridle.types.model import Completed, FallbackStarted, ModelRequest, Waiting
from tests.fakes.messages_server import MessagesServer, fault, step


def request(model: str) -> ModelRequest:
    history = History.of({"role": "user", "content": "What are you?"})
    return ModelRequest(model=model, history=history, max_tokens=100)


async def skip(_: float) -> None:
    pass


def env_for(server: MessagesServer, **more: str) -> dict[str, str]:
    return {"ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": "key", **more}


async def test_a_model_is_asked_and_asked_again():
    async with MessagesServer([fault(529), step("Hi")]) as server:
        provider = provider_for("claude-sonnet-4-5", env_for(server), sleep=skip)
        events = [event async for event in provider.stream(request("claude-sonnet-4-5"))]
        await provider.close()
    assert isinstance(events[0], Waiting)
    assert isinstance(events[-1], Completed)


async def test_the_number_of_retries_comes_from_the_environment():
    async with MessagesServer([fault(500, repeat=True)]) as server:
        env = env_for(server, CLAUDE_CODE_MAX_RETRIES="2")
        provider = provider_for("claude-sonnet-4-5", env, sleep=skip)
        with pytest.raises(ProviderError):
            _ = [event async for event in provider.stream(request("claude-sonnet-4-5"))]
        await provider.close()
        assert len(server.requests) == 3


@pytest.mark.parametrize(
    ("given", "expected"), [("", 10), ("0", 0), ("3", 3), ("99", 15), ("-1", 10), ("x", 10)]
)
def test_the_number_of_retries_is_bounded(given: str, expected: int):
    assert retries({"CLAUDE_CODE_MAX_RETRIES": given}) == expected


def test_an_unattended_run_may_try_more_often():
    watched = {"CLAUDE_CODE_RETRY_WATCHDOG": "1"}
    assert retries({**watched, "CLAUDE_CODE_MAX_RETRIES": "99"}) == 99 and retries(watched) == 50


async def test_an_unattended_run_waits_for_as_long_as_a_service_is_busy():
    script = [*[fault(529)] * 4, *[fault(429)] * 4, step("Hi")]
    async with MessagesServer(script) as server:
        env = env_for(server, CLAUDE_CODE_RETRY_WATCHDOG="1", CLAUDE_CODE_MAX_RETRIES="2")
        provider = provider_for("claude-sonnet-4-5", env, sleep=skip)
        events = [event async for event in provider.stream(request("claude-sonnet-4-5"))]
        await provider.close()
    assert [type(event) for event in events].count(Waiting) == 8 and isinstance(events[-1], Completed)


async def test_overload_that_stays_can_be_made_to_end_the_call():
    async with MessagesServer([fault(529, repeat=True)]) as server:
        env = env_for(server, FALLBACK_FOR_ALL_PRIMARY_MODELS="1")
        provider = provider_for("claude-sonnet-4-5", env, sleep=skip)
        with pytest.raises(ProviderError):
            _ = [event async for event in provider.stream(request("claude-sonnet-4-5"))]
        await provider.close()
        assert len(server.requests) == 3


@pytest.mark.parametrize("name", ["nosuch/model", "opnai/gpt-5"])
def test_an_unknown_vendor_is_told_before_anything_else(name: str):
    with pytest.raises(ConfigError, match="Unknown vendor"):
        Providers({}, {}).of(name)


@pytest.mark.parametrize(
    ("name", "env"),
    [
        ("z-ai/glm", {"ANTHROPIC_BASE_URL": "http://gateway"}),
        ("arn:aws:bedrock:us-east-1:1:inference-profile/x", {"CLAUDE_CODE_USE_BEDROCK": "1"}),
        ("anthropic/claude-opus-5", {}),
        ("mine/model", {}),
    ],
)
def test_gateways_clouds_and_own_entries_may_have_names_of_any_form(name: str, env: dict[str, str]):
    own = {"mine/model": {"dialect": "chat", "baseUrl": "http://127.0.0.1:9/v1"}}
    assert Providers(env, own).of(name)


@pytest.mark.parametrize(("variable", "streamed"), [("", False), ("1", True)])
async def test_asking_for_whole_answers_can_be_switched_off(variable: str, streamed: bool):
    script = [step("Hi", close_after=50), step("Hi", close_after=50), step("Hi")]
    async with MessagesServer(script) as server:
        env = env_for(server, CLAUDE_CODE_DISABLE_NONSTREAMING_FALLBACK=variable)
        provider = provider_for("claude-sonnet-4-5", env, sleep=skip)
        _ = [event async for event in provider.stream(request("claude-sonnet-4-5"))]
        await provider.close()
        assert server.requests[-1].body["stream"] is streamed


async def test_the_offline_planner_needs_neither_key_nor_network():
    provider = provider_for("offline", {})
    events = [event async for event in provider.stream(request("offline"))]
    await provider.close()
    assert isinstance(events[-1], Completed)


async def test_a_fallback_may_speak_another_dialect():
    async with MessagesServer([fault(529)] * 3) as server:
        provider = provider_for("claude-sonnet-4-5", env_for(server), fallbacks=("offline",), sleep=skip)
        events = [event async for event in provider.stream(request("claude-sonnet-4-5"))]
        await provider.close()
    assert any(isinstance(event, FallbackStarted) for event in events)
    assert isinstance(events[-1], Completed)


def test_one_provider_serves_all_models_of_a_dialect():
    providers = Providers({}, {})
    assert providers.of("claude-sonnet-4-5") is providers.of("anything")
    assert providers.of("offline") is not providers.of("anything")


def test_users_give_a_model_its_dialect_and_a_wrong_one_is_named():
    own: dict[str, Any] = {"mine": {"dialect": "offline"}, "odd": {"dialect": "klingon"}}
    providers = Providers({}, own)
    assert providers.of("mine") is providers.of("offline")
    with pytest.raises(ConfigError, match="klingon"):
        providers.of("odd")


def test_the_way_to_the_first_request_imports_little():
    heavy = (
        "httpx anyio email importlib.metadata http.client urllib.request urllib.parse tempfile zlib random"
    )
    code = (
        "import sys, asyncio; before = set(sys.modules);"
        "from bridle.providers.connect import provider_for; provider_for('claude-sonnet-4-5', {});"
        f"loaded = set(sys.modules) - before; print(*(set({heavy.split()!r}) & loaded))"
    )
    command = [sys.executable, "-c", code]
    result = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert result.stdout.strip() == ""


@pytest.mark.parametrize(("given", "seconds"), [("120000", 120.0), ("", 32.0), ("0", 32.0), ("soon", 32.0)])
def test_how_long_an_overloaded_service_is_left_alone_comes_from_the_environment(given: str, seconds: float):
    assert longest_overload_delay({"CLAUDE_CODE_OVERLOADED_RETRY_MAX_DELAY_MS": given}) == seconds
