from pathlib import Path

import pytest

from bridle.providers.connect import home_provider, provider_for
from bridle.providers.credentials.key_helper import KeyHelper
from bridle.providers.credentials.store import Credentials
from bridle.providers.keys import Keys, source_of
from bridle.types.errors import ProviderError
from bridle.types.history import History
from bridle.types.model import Completed, ModelRequest
from tests.fakes.bedrock_server import MessagesApi
from tests.fakes.messages_server import MessagesServer, fault, step
from tests.fakes.model_server import ModelServer, answer
from tests.fakes.openai_server import ChatApi


def request(model: str = "claude-sonnet-4-5") -> ModelRequest:
    return ModelRequest(model=model, history=History.of({"role": "user", "content": "Hi"}), max_tokens=100)


def counting(folder: Path) -> str:
    """A command that prints key-1, key-2 and so on."""
    file = folder / "count"
    return f"echo x >> {file}; echo key-$(wc -l < {file} | tr -d ' ')"


async def skip(_: float) -> None:
    pass


async def test_the_helpers_key_opens_the_service_in_both_headers(tmp_path: Path):
    async with MessagesServer([step("Hi")]) as server:
        env = {"ANTHROPIC_BASE_URL": server.url, "HOME": str(tmp_path)}
        provider = home_provider(env, keys=Keys(env, helper="echo secret-1"))
        assert isinstance([event async for event in provider.stream(request())][-1], Completed)
        await provider.close()
    headers = server.requests[0].headers
    assert (headers["x-api-key"], headers["authorization"]) == ("secret-1", "Bearer secret-1")


async def test_a_refused_key_makes_the_helper_run_again(tmp_path: Path):
    refused = fault(401, "authentication_error")
    async with MessagesServer([step("Hi"), refused, step("Hi again")]) as server:
        env = {"ANTHROPIC_BASE_URL": server.url, "HOME": str(tmp_path)}
        provider = provider_for("claude-sonnet-4-5", env, helper=counting(tmp_path), sleep=skip)
        for _ in range(2):
            assert isinstance([event async for event in provider.stream(request())][-1], Completed)
        await provider.close()
    assert [each.headers["x-api-key"] for each in server.requests] == ["key-1", "key-1", "key-2"]


async def test_a_variable_counts_before_the_helper(tmp_path: Path):
    async with MessagesServer([step("Hi")]) as server:
        env = {"ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": "from-variable", "HOME": str(tmp_path)}
        provider = provider_for("claude-sonnet-4-5", env, helper=counting(tmp_path))
        async for _ in provider.stream(request()):
            pass
        await provider.close()
    assert server.requests[0].headers["x-api-key"] == "from-variable"
    assert not (tmp_path / "count").exists()


async def test_the_helper_runs_again_when_its_key_is_old(tmp_path: Path):
    now = [0.0]
    env = {"CLAUDE_CODE_API_KEY_HELPER_TTL_MS": "60000", "PATH": "/usr/bin:/bin"}
    helper = KeyHelper(counting(tmp_path), env, clock=lambda: now[0])
    first = await helper.key()
    now[0] = 59.0
    second = await helper.key()
    now[0] = 61.0
    assert (first, second, await helper.key()) == ("key-1", "key-1", "key-2")


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("echo no luck >&2; exit 3", "exit code 3: no luck"),
        ("true", "printed nothing"),
        ("printf 'a\\nb'", "one key on one line"),
        ("sleep 60", "timed out"),
    ],
)
async def test_a_helper_that_gives_no_key_is_told_in_one_sentence(command: str, told: str):
    helper = KeyHelper(command, {"PATH": "/usr/bin:/bin"}, patience=0.5)
    with pytest.raises(ProviderError, match=told) as caught:
        await helper.key()
    assert caught.value.kind == "authentication_failed"


async def test_a_kept_key_opens_the_service_it_was_given_for_and_no_other(tmp_path: Path):
    async with ModelServer(ChatApi(), [answer("Hi")]) as server, ModelServer(ChatApi()) as other:
        env = {"CLAUDE_CONFIG_DIR": str(tmp_path), "BRIDLE_CREDENTIALS": "file"}
        Credentials(env).save("groq", "test-key", address=f"{server.url}/v1", now="")
        asked = request("groq/llama-3.3-70b-versatile")
        provider = provider_for(asked.model, {**env, "GROQ_BASE_URL": f"{server.url}/v1"})
        assert isinstance([event async for event in provider.stream(asked)][-1], Completed)
        await provider.close()
        elsewhere = provider_for(asked.model, {**env, "GROQ_BASE_URL": f"{other.url}/v1"})
        with pytest.raises(ProviderError, match="bridle auth login groq"):
            async for _ in elsewhere.stream(asked):
                pass
        await elsewhere.close()
    assert other.requests == []


def test_the_source_of_a_key_is_told_by_name(tmp_path: Path):
    env = {"CLAUDE_CONFIG_DIR": str(tmp_path), "BRIDLE_CREDENTIALS": "file"}
    assert source_of("openai", ("OPENAI_API_KEY",), env) is None
    assert source_of("openai", ("OPENAI_API_KEY",), env, helper="echo x") is None
    assert source_of("anthropic", ("ANTHROPIC_API_KEY",), env, helper="echo x") == "apiKeyHelper"
    Credentials(env).save("openai", "k", address="https://api.openai.com/v1", now="")
    assert source_of("openai", ("OPENAI_API_KEY",), env) == "login"
    assert source_of("openai", ("OPENAI_API_KEY",), {**env, "OPENAI_API_KEY": "k"}) == "OPENAI_API_KEY"


async def test_a_token_for_foundry_counts_before_its_key(tmp_path: Path):
    async with ModelServer(MessagesApi(), [answer("Hi")]) as server:
        env = {
            "ANTHROPIC_FOUNDRY_BASE_URL": f"{server.url}/anthropic",
            "ANTHROPIC_FOUNDRY_API_KEY": "key",
            "ANTHROPIC_FOUNDRY_AUTH_TOKEN": "test-key",
            "HOME": str(tmp_path),
        }
        provider = provider_for("foundry/claude-sonnet-4-5", env)
        async for _ in provider.stream(request("foundry/claude-sonnet-4-5")):
            pass
        await provider.close()
    assert server.requests[0].headers["authorization"] == "Bearer test-key"
    assert "x-api-key" not in server.requests[0].headers


async def test_a_model_is_asked_by_the_name_that_its_service_has_for_it(tmp_path: Path):
    async with MessagesServer([step("Hi")]) as server:
        env = {"ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": "key", "HOME": str(tmp_path)}
        names = {"claude-sonnet-4-5": "team-sonnet"}
        provider = provider_for("claude-sonnet-4-5", env, names=names)
        async for _ in provider.stream(request()):
            pass
        await provider.close()
    assert server.requests[0].body["model"] == "team-sonnet"
