"""What is special about Amazon's and Google's clouds: names, regions, and where credentials come from."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bridle.providers.aws_credentials import CredentialChain, region_of
from bridle.providers.bedrock import EventStreamReading, served_name
from bridle.providers.connect import Providers
from bridle.providers.event_stream import write
from bridle.providers.google_credentials import TokenChain
from bridle.providers.signature import AwsCredentials
from bridle.providers.vendors import find
from bridle.providers.vertex import region_of as vertex_region
from bridle.providers.vertex import served_name as vertex_name
from bridle.types.errors import ProviderError, StreamBroken
from bridle.types.history import History
from bridle.types.model import ModelRequest
from tests.fakes.bedrock_server import BedrockApi
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
from bridle.providers.aws_credentials import CredentialChain
from bridle.providers.google_credentials import TokenChain
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
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=30)
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
        async with asyncio.timeout(5):
            _ = [event async for event in Providers(env, {}).stream(request("vertex/claude-opus-5"))]


def request(model: str) -> ModelRequest:
    history = History.of({"role": "user", "content": "Hi"})
    fields: dict[str, Any] = {"model": model, "history": history, "max_tokens": 10}
    return ModelRequest(**fields)
