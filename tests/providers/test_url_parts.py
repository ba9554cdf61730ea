"""S41: nothing that becomes part of an address can name another host, from any source."""

from collections.abc import Callable

import pytest

from bridle.providers import routes, url_parts, vendors
from bridle.providers.catalog import find
from bridle.providers.connect import Providers
from bridle.providers.credentials.aws import region_of
from bridle.providers.dialects import aws_messages, bedrock, vertex
from bridle.providers.dialects.gemini import GeminiDialect
from bridle.providers.http_provider import ServiceEndpoint
from bridle.providers.routes import base_of
from bridle.providers.vendor import CloudCommands
from bridle.types.errors import ConfigError
from bridle.types.history import History
from bridle.types.model import ModelRequest
from tests.tables import table

HOSTILE = (
    "evil.test", "evil.test:8080/", "evil.test/", "evil.test#", "127.0.0.1:1/x?", "a@evil.test",
    "x.evil.test/#", "us-east-1.evil.test", "us east", "us\neast", "us-east-1\r\nHost: evil",
    "us-east-1%2f", "../..", "//evil", "\\evil", "us-east-1\x00", "é", "US-EAST-1" * 20, "-x", "x-",
    "a--b/", " us-east-1 ",
)  # fmt: skip


@table("text", HOSTILE)
def test_a_region_is_letters_digits_and_hyphens(text: str):
    for env in ({"AWS_REGION": text}, {"AWS_DEFAULT_REGION": text}):
        calls: tuple[Callable[[], object], ...] = (
            lambda env=env: region_of(env),
            lambda env=env: bedrock.base_url(env),
            lambda env=env: aws_messages.base_url("mantle", env),
        )
        for call in calls:
            with pytest.raises(ConfigError):
                call()
    with pytest.raises(ConfigError):
        vertex.base_url({"CLOUD_ML_REGION": text})
    with pytest.raises(ConfigError):
        vertex.region_of({"VERTEX_REGION_CLAUDE_4_5_SONNET": text}, "claude-sonnet-4-5")


def test_a_region_in_a_profile_is_checked_as_well(tmp_path_factory: pytest.TempPathFactory):
    file = tmp_path_factory.mktemp("aws") / "config"
    file.write_text("[default]\nregion = evil.test:80/\n", encoding="utf-8")
    with pytest.raises(ConfigError):
        bedrock.base_url({"AWS_CONFIG_FILE": str(file)})


@pytest.mark.parametrize(
    "region", ["us-east-1", "eu-west-3", "us-gov-west-1", "global", "us", "europe-west1"]
)
def test_real_regions_are_taken(region: str):
    assert bedrock.base_url({"AWS_REGION": region}) == f"https://bedrock-runtime.{region}.amazonaws.com"
    assert vertex.base_url({"CLOUD_ML_REGION": region}).startswith("https://")


@table("text", HOSTILE)
def test_resources_and_projects_name_no_host(text: str):
    foundry = vendors.find("foundry")
    assert foundry is not None
    with pytest.raises(ConfigError):
        routes.place_of(foundry, {"ANTHROPIC_FOUNDRY_RESOURCE": text.strip() + "/"})
    if "/" in text or "#" in text or "?" in text or "@" in text or " " in text:
        with pytest.raises(ConfigError):
            url_parts.project(text)


@pytest.mark.parametrize(
    "name", ["../x", "a/../b", "a?b", "a#b", "a b", "a%2fb", "", "a//b", "./a", "a\\b", "@evil\n"]
)
def test_names_of_models_stay_in_their_path(name: str):
    with pytest.raises(ConfigError):
        url_parts.model(name)


@pytest.mark.parametrize("name", ["gemini-3-pro", "claude-sonnet-4-5@20250929", "meta/llama-4", "x:free"])
def test_real_names_of_models_are_taken(name: str):
    assert url_parts.model(name) == name


def test_gemini_asks_under_the_path_of_its_service():
    vendor = vendors.find("gemini")
    assert vendor is not None
    place = ServiceEndpoint(vendor, {}, "https://g.test/v1", commands=CloudCommands())
    asked = ModelRequest(model="gemini/x", history=History.of({"role": "user", "content": "x"}), max_tokens=1)
    with pytest.raises(ConfigError):
        GeminiDialect().request(asked, find("gemini/../../x"), place)


@pytest.mark.parametrize(
    "url",
    ["ftp://x", "file:///etc/passwd", "http://", "https://user:pw@host", "https://host?x=1", "https://h#f",
     "https://ho st", "https://h\\evil", "javascript:x", "https://h\nx", "https://@h"],
)  # fmt: skip
def test_addresses_of_services_are_plain(url: str):
    openai = vendors.find("openai")
    assert openai is not None
    with pytest.raises(ConfigError):
        base_of(openai, {"OPENAI_BASE_URL": url if "://" in url else f"{url}://x"})
    with pytest.raises(ConfigError):
        Providers({}, {"m": {"baseUrl": url, "dialect": "chat"}}).of("m")


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:8080", "https://h.test/v1/", "http://[::1]:99/x", "https://a-b.c/d%20e"]
)
def test_usual_addresses_are_taken(url: str):
    openai = vendors.find("openai")
    assert openai is not None
    assert base_of(openai, {"OPENAI_BASE_URL": url})[1]
