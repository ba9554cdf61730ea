"""S41: which variables a server of a project would be given, and which of them may hold credentials."""

import pytest

from bridle.config.mcp.variables import credentials, given_variables
from bridle.config.variables import may_hold_credential
from bridle.providers.vendors import VENDORS
from tests.tables import table

_ENV = {"AWS_SECRET_ACCESS_KEY": "s", "ANTHROPIC_API_KEY": "k", "PLAIN": "p", "AWS_REGION": "r", "EMPTY": ""}


def test_every_place_of_a_definition_is_looked_at():
    raw = {
        "type": "http",
        "url": "https://x.test/${PLAIN}?${ANTHROPIC_API_KEY:-none}",
        "headers": {"A": "Bearer ${ANTHROPIC_API_KEY}", "B": "${UNSET:-x}${EMPTY}"},
        "oauth": {"scopes": ["${AWS_SECRET_ACCESS_KEY}"]},
    }
    url = raw["url"]
    assert given_variables(raw, _ENV) == {
        "PLAIN": f"url of {url}",
        "ANTHROPIC_API_KEY": f"url, headers.A of {url}",
        "AWS_SECRET_ACCESS_KEY": f"oauth.scopes of {url}",
    }
    assert credentials(raw, _ENV) == ("ANTHROPIC_API_KEY", "AWS_SECRET_ACCESS_KEY")


def test_programs_are_looked_at_alike():
    raw = {"command": "run", "args": ["--key", "${ANTHROPIC_API_KEY}"], "env": {"R": "${AWS_REGION}"}}
    assert given_variables(raw, _ENV) == {"ANTHROPIC_API_KEY": "args of run", "AWS_REGION": "env.R of run"}
    assert credentials(raw, _ENV) == ("ANTHROPIC_API_KEY",)


@pytest.mark.parametrize("raw", [None, [], "${PLAIN}", {"url": 7}, {"headers": [["${PLAIN}"]]}])
def test_odd_definitions_are_no_trouble(raw: object):
    assert credentials(raw, _ENV) == ()
    given_variables(raw, _ENV)


def test_keys_of_every_model_service_count_as_credentials():
    names = {name for vendor in VENDORS for name in vendor.key_env}
    assert names and [name for name in sorted(names) if not may_hold_credential(name)] == []


@table(
    ("name", "credential"),
    [
        ("AWS_SESSION_TOKEN", True),
        ("aws_secret_access_key", True),
        ("GOOGLE_APPLICATION_CREDENTIALS", True),
        ("AZURE_CLIENT_SECRET", True),
        ("CLAUDE_CODE_OAUTH_TOKEN", True),
        ("CLOUDFLARE_API_TOKEN", True),
        ("AWS_REGION", False),
        ("AWS_PROFILE", False),
        ("CLAUDE_PROJECT_DIR", False),
        ("GITHUB_TOKEN", False),
        ("MCP_TOKEN", False),
        ("HOME", False),
    ],
)
def test_what_counts_as_a_credential(name: str, credential: bool):
    assert may_hold_credential(name) is credential
