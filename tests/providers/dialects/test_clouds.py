"""What is special about Amazon's and Google's clouds: names, regions, and where credentials come from."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from bridle.host.aws_signature import AwsCredentials
from bridle.providers import catalog
from bridle.providers.connect import Providers
from bridle.providers.credentials.aws import CredentialChain, region_of
from bridle.providers.credentials.google import TokenChain
from bridle.providers.dialects.aws_event_stream import write
from bridle.providers.dialects.bedrock import BedrockDialect, EventStreamReading, served_name
from bridle.providers.dialects.vertex import region_of as vertex_region
from bridle.providers.dialects.vertex import served_name as vertex_name
from bridle.providers.routes import place_of
from bridle.providers.vendors import find
from bridle.types.errors import ProviderError, StreamBroken
from bridle.types.history import History
from bridle.types.model import ModelRequest
from tests.fakes.bedrock_server import AwsMessagesApi, BedrockApi, MessagesApi
from tests.fakes.converse_server import ConverseApi
from tests.fakes.model_server import ModelServer, answer


@pytest.mark.parametrize(
    ("name", "env", "expected"),
    [
        ("claude-sonnet-4-5", {"AWS_REGION": "us-east-1"}, "us.anthropic.claude-sonnet-4-5-20250929-v1:0"),
        ("claude-sonnet-4-5-20250929", {"AWS_REGION": "eu-west-1"},
         "eu.anthropic.claude-sonnet-4-5-20250929-v1:0"),
        ("claude-opus-5", {"AWS_REGION": "ap-south-1"}, "apac.anthropic.claude-opus-5"),
        ("claude-opus-4-6", {"ANTHROPIC_BEDROCK_REGION_PREFIX": "global"},
         "global.anthropic.claude-opus-4-6-v1"),
        ("us.anthropic.claude-opus-5", {}, "us.anthropic.claude-opus-5"),
        ("arn:aws:bedrock:us-east-1:1:inference-profile/x", {},
         "arn:aws:bedrock:us-east-1:1:inference-profile/x"),
    ],
)  # fmt: skip
def test_models_have_the_name_of_their_inference_profile(name: str, env: dict[str, str], expected: str):
    assert served_name(name, env) == expected


def test_models_have_their_date_on_vertex_where_they_need_one():
    assert vertex_name("claude-sonnet-4-5") == "claude-sonnet-4-5@20250929"
    assert vertex_name("claude-sonnet-4-5@20250929") == "claude-sonnet-4-5@20250929"
    assert vertex_name("claude-opus-5") == "claude-opus-5"


def test_regions_come_from_the_most_special_variable(tmp_path: Path):
    assert (
        vertex_region({"VERTEX_REGION_CLAUDE_HAIKU_4_5": "a", "CLOUD_ML_REGION": "b"}, "claude-haiku-4-5")
        == "a"
    )
    assert vertex_region({"VERTEX_REGION_CLAUDE_4_5_SONNET": "a"}, "claude-sonnet-4-5") == "a"
    assert vertex_region({"CLOUD_ML_REGION": "b"}, "gemini-2.5-pro") == "b"
    assert vertex_region({}, "gemini-2.5-pro") == "global"
    (tmp_path / ".aws").mkdir()
    (tmp_path / ".aws" / "config").write_text(
        "[default]\nregion = eu-north-1\n[profile x]\nregion=sa-east-1\n"
    )
    home = {"HOME": str(tmp_path)}
    assert region_of({**home, "AWS_REGION": "us-west-2"}) == "us-west-2"
    assert region_of(home) == "eu-north-1"
    assert region_of({**home, "AWS_PROFILE": "x"}) == "sa-east-1"
    assert region_of({"HOME": "/nowhere"}) == "us-east-1"


@pytest.mark.parametrize(
    ("variable", "model"),
    [
        ("3_5_HAIKU", "claude-3-5-haiku"),
        ("3_7_SONNET", "claude-3-7-sonnet-20250219"),
        ("4_0_OPUS", "claude-opus-4"),
        ("4_0_SONNET", "claude-sonnet-4@20250514"),
        ("4_1_OPUS", "claude-opus-4-1"),
        ("4_6_SONNET", "claude-sonnet-4-6"),
        ("5_OPUS", "claude-opus-5"),
        ("FABLE_5", "claude-fable-5"),
        ("HAIKU_4_5", "claude-haiku-4-5"),
    ],
)
def test_every_model_has_its_variable_on_vertex(variable: str, model: str):
    env = {f"VERTEX_REGION_CLAUDE_{variable}": "here", "CLOUD_ML_REGION": "there"}
    assert vertex_region(env, model) == "here" and vertex_region(env, "claude-opus-4-8") == "there"


async def test_credentials_in_variables_need_no_chain():
    env = {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_SESSION_TOKEN": "c"}
    assert await CredentialChain().find(env) == AwsCredentials("a", "b", "c")
    assert await TokenChain().find({"CLOUDSDK_AUTH_ACCESS_TOKEN": "t"}) == "t"


_PACKAGES = {
    "botocore/__init__.py": "",
    "botocore/exceptions.py": "class BotoCoreError(Exception): pass\n",
    "botocore/session.py": (
        "class Frozen: access_key, secret_key, token = 'chain', 'secret', None\n"
        "class Found:\n    def get_frozen_credentials(self): return Frozen\n"
        "class Session:\n"
        "    def __init__(self, profile=None): self.profile = profile\n"
        "    def get_credentials(self): return None if self.profile == 'empty' else Found()\n"
    ),
    "google/auth/__init__.py": (
        "import datetime\n"
        "class Credentials:\n"
        "    token, expiry = None, None\n"
        "    def refresh(self, request):\n"
        "        self.token = 'from the chain'\n"
        "        self.expiry = datetime.datetime.utcnow() + datetime.timedelta(hours=1)\n"
        "def default(scopes): return Credentials(), 'p'\n"
    ),
    "google/auth/exceptions.py": "class GoogleAuthError(Exception): pass\n",
}
_ASK = """
import asyncio, sys
from bridle.providers.credentials.aws import CredentialChain
from bridle.providers.credentials.google import TokenChain
from bridle.providers.routes import place_of
async def main():
    env = {"AWS_PROFILE": sys.argv[1]} if sys.argv[1:] else {}
    for ask in (CredentialChain().find(env), TokenChain().find({})):
        try:
            print(await ask)
        except Exception as error:
            print(type(error).__name__, error)
asyncio.run(main())
"""


def test_the_chains_are_walked_by_the_packages_that_know_them(tmp_path: Path):
    for name, text in _PACKAGES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    found, token = ask_chains(tmp_path)
    assert "access_key='chain'" in found and token == "from the chain"
    missing, _ = ask_chains(tmp_path, "empty")
    assert "aws sso login" in missing


def test_without_the_packages_the_extras_are_named(tmp_path: Path):
    aws, google = ask_chains(tmp_path)
    assert "bridle[aws]" in aws and "bridle[google]" in google


def ask_chains(path: Path, *profile: str) -> list[str]:
    # The packages of the test come first, and none of the machine's own are seen.
    blocked = "import sys; sys.path.insert(0, sys.argv.pop(1));"
    blocked += "" if any(path.iterdir()) else "sys.modules['botocore'] = sys.modules['google'] = None;"
    command = [sys.executable, "-W", "ignore", "-c", f"{blocked}\n{_ASK}", str(path), *profile]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=100)
    return done.stdout.splitlines()


async def test_a_key_of_bedrock_needs_no_signature():
    async with ModelServer(BedrockApi(), [answer("Hi")]) as server:
        env = {"ANTHROPIC_BEDROCK_BASE_URL": server.url, "AWS_BEARER_TOKEN_BEDROCK": "test-key"}
        providers = Providers(env, {})
        _ = [event async for event in providers.stream(request("bedrock/claude-opus-5"))]
        await providers.close()
        assert server.requests[0].headers["authorization"] == "Bearer test-key"
        assert server.requests[0].path.startswith("/model/us.anthropic.claude-opus-5/")


async def test_a_gateway_may_sign_instead():
    async with ModelServer(BedrockApi(), [answer("Hi")]) as server:
        env = {"ANTHROPIC_BEDROCK_BASE_URL": server.url, "CLAUDE_CODE_SKIP_BEDROCK_AUTH": "1"}
        providers = Providers(env, {})
        with pytest.raises(ProviderError):
            _ = [event async for event in providers.stream(request("bedrock/claude-opus-5"))]
        await providers.close()
        assert "authorization" not in server.requests[0].headers


@pytest.mark.parametrize(
    ("name", "kind", "retryable"),
    [
        ("throttlingException", "rate_limit", True),
        ("modelStreamErrorException", "server_error", True),
        ("validationException", "invalid_request", False),
    ],
)
def test_exceptions_in_the_stream_are_read(name: str, kind: str, retryable: bool):
    vendor = find("bedrock")
    assert vendor is not None
    reading = EventStreamReading("bedrock/x", vendor, None)
    frame = write(
        {":message-type": "exception", ":exception-type": name}, json.dumps({"message": "no"}).encode()
    )
    with pytest.raises(ProviderError) as caught:
        list(reading.feed(frame))
    assert (caught.value.kind, caught.value.retryable) == (kind, retryable)
    assert not isinstance(caught.value, StreamBroken)


async def test_vertex_needs_a_project():
    env = {"CLOUDSDK_AUTH_ACCESS_TOKEN": "t"}
    with pytest.raises(ProviderError, match="ANTHROPIC_VERTEX_PROJECT_ID"):
        async with asyncio.timeout(50):
            _ = [event async for event in Providers(env, {}).stream(request("vertex/claude-opus-5"))]


async def test_models_of_others_are_asked_in_converse_under_their_own_name():
    names = ("amazon.nova-pro-v1:0", "us.meta.llama3-3-70b-instruct-v1:0", "arn:aws:bedrock:us-east-1:1:x/y")
    async with ModelServer(ConverseApi()) as server:
        env = {"ANTHROPIC_BEDROCK_BASE_URL": server.url, "AWS_BEARER_TOKEN_BEDROCK": "test-key"}
        providers = Providers({**env, "ANTHROPIC_BEDROCK_SERVICE_TIER": "flex"}, {})
        for name in names:
            server.script(answer("Hi"))
            _ = [event async for event in providers.stream(request(f"bedrock/{name}"))]
        await providers.close()
        paths = [unquote(asked.path) for asked in server.requests]
        assert paths == [f"/model/{name}/converse-stream" for name in names]
        assert server.requests[0].body["serviceTier"] == {"type": "flex"}


async def test_converse_marks_the_cache_of_models_that_take_marks():
    async with ModelServer(ConverseApi()) as server:
        env = {"ANTHROPIC_BEDROCK_BASE_URL": server.url, "AWS_BEARER_TOKEN_BEDROCK": "test-key"}
        providers = Providers(env, {})
        for name, marked in (("amazon.nova-pro-v1:0", True), ("meta.llama3-3-70b-instruct-v1:0", False)):
            server.script(answer("Hi"))
            _ = [event async for event in providers.stream(request(f"bedrock/{name}"))]
            assert (b"cachePoint" in server.requests[-1].raw) is marked
        await providers.close()


async def test_calls_become_text_where_converse_has_no_tools_to_go_with_them():
    history = History.of(
        {"role": "user", "content": "look"},
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "c", "name": "Read", "input": {"p": 1}}],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": "found"}]},
    )
    async with ModelServer(ConverseApi(), [answer("Hi")]) as server:
        env = {"ANTHROPIC_BEDROCK_BASE_URL": server.url, "AWS_BEARER_TOKEN_BEDROCK": "test-key"}
        providers = Providers(env, {})
        asked = ModelRequest(model="bedrock/amazon.nova-pro-v1:0", history=history, max_tokens=10)
        assert [event async for event in providers.stream(asked)]
        await providers.close()
        sent = server.requests[0].raw.decode()
        assert "toolUse" not in sent and "Result of Read:" in sent and "found" in sent


@pytest.mark.parametrize(
    ("variable", "url", "base"),
    [
        ("CLAUDE_CODE_USE_MANTLE", "ANTHROPIC_BEDROCK_MANTLE_BASE_URL", "/anthropic"),
        ("CLAUDE_CODE_USE_ANTHROPIC_AWS", "ANTHROPIC_AWS_BASE_URL", ""),
    ],
)
async def test_the_messages_api_of_amazon_is_reached_by_a_variable_and_a_key(
    variable: str, url: str, base: str
):
    service = AwsMessagesApi("x", workspace=None if base else "w1")
    async with ModelServer(service, [answer("Hi")]) as server:
        keys = {"AWS_BEARER_TOKEN_BEDROCK": "test-key", "ANTHROPIC_AWS_API_KEY": "test-key"}
        env = {variable: "1", url: server.url + base, "ANTHROPIC_AWS_WORKSPACE_ID": "w1", **keys}
        providers = Providers(env, {})
        assert [event async for event in providers.stream(request("claude-opus-5"))]
        await providers.close()
        assert server.requests[0].path == f"{base}/v1/messages"


async def test_a_platform_on_aws_needs_a_workspace():
    env = {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_REGION": "us-west-2"}
    providers = Providers(env, {})
    with pytest.raises(ProviderError, match="ANTHROPIC_AWS_WORKSPACE_ID"):
        _ = [event async for event in providers.stream(request("anthropic-aws/claude-opus-5"))]
    await providers.close()


def test_regions_make_the_addresses_of_amazons_services():
    found: dict[str, str] = {}
    for name in ("bedrock", "mantle", "anthropic-aws"):
        vendor = find(name)
        assert vendor is not None
        found[name] = place_of(vendor, {"AWS_REGION": "eu-west-1"}).base
    assert found == {
        "bedrock": "https://bedrock-runtime.eu-west-1.amazonaws.com",
        "mantle": "https://bedrock-mantle.eu-west-1.api.aws/anthropic",
        "anthropic-aws": "https://aws-external-anthropic.eu-west-1.api.aws",
    }


def test_the_small_model_may_be_in_a_region_of_its_own():
    vendor = find("bedrock")
    assert vendor is not None
    env = {"AWS_REGION": "eu-west-1", "ANTHROPIC_SMALL_FAST_MODEL_AWS_REGION": "us-west-2"}
    place, dialect = place_of(vendor, env), BedrockDialect()
    small = catalog.small_model(env)
    hosts = [
        dialect.request(request(name), catalog.find(name), place).url.split("/")[2]
        for name in (small, "claude-opus-5")
    ]
    assert hosts == ["bedrock-runtime.us-west-2.amazonaws.com", "bedrock-runtime.eu-west-1.amazonaws.com"]


async def test_headers_of_the_user_go_to_every_place_of_anthropics_models():
    async with ModelServer(BedrockApi(), [answer("Hi")]) as server:
        env = {"ANTHROPIC_BEDROCK_BASE_URL": server.url, "AWS_BEARER_TOKEN_BEDROCK": "test-key"}
        providers = Providers({**env, "ANTHROPIC_CUSTOM_HEADERS": "X-Team: blue"}, {})
        _ = [event async for event in providers.stream(request("bedrock/claude-opus-5"))]
        await providers.close()
        assert server.requests[0].headers["x-team"] == "blue"


@pytest.mark.parametrize(
    ("variables", "mark"),
    [
        ({}, {"type": "ephemeral"}),
        ({"DISABLE_PROMPT_CACHING_OPUS": "1"}, None),
        ({"ENABLE_PROMPT_CACHING_1H_BEDROCK": "1"}, {"type": "ephemeral", "ttl": "1h"}),
    ],
)
async def test_variables_about_caching_hold_on_bedrock_too(variables: dict[str, str], mark: Any):
    async with ModelServer(BedrockApi(), [answer("Hi")]) as server:
        env = {"ANTHROPIC_BEDROCK_BASE_URL": server.url, "AWS_BEARER_TOKEN_BEDROCK": "test-key"}
        providers = Providers({**env, **variables}, {})
        _ = [event async for event in providers.stream(request("bedrock/claude-opus-5"))]
        await providers.close()
        (message,) = server.requests[0].body["messages"]
        assert message["content"][-1].get("cache_control") == mark


async def test_a_gateway_in_front_of_foundry_may_open_the_door():
    async with ModelServer(MessagesApi(), [answer("Hi")]) as server:
        env = {"ANTHROPIC_FOUNDRY_BASE_URL": server.url, "CLAUDE_CODE_SKIP_FOUNDRY_AUTH": "1"}
        headers = "Authorization: Bearer test-key"
        providers = Providers({**env, "ANTHROPIC_CUSTOM_HEADERS": headers}, {})
        request_ = request("foundry/claude-opus-5")
        assert [event async for event in providers.stream(request_)]
        await providers.close()
        assert "x-api-key" not in server.requests[0].headers


def request(model: str) -> ModelRequest:
    history = History.of({"role": "user", "content": "Hi"})
    fields: dict[str, Any] = {"model": model, "history": history, "max_tokens": 10}
    return ModelRequest(**fields)
