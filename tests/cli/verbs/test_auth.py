import asyncio
import hashlib
import json
import os
import stat
from base64 import urlsafe_b64encode
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from bridle.config.schema import Settings
from bridle.providers.credentials.login import check_policy
from bridle.types.errors import UsageError
from tests.fakes.json_server import JsonServer
from tests.fakes.messages_server import MessagesServer, step
from tests.fakes.program import Program

_MODELS = {"/v1/models": {"data": [{"id": "m"}]}}
_ROOT = str(Path(__file__).parents[3])


def program(tmp_path: Path, **env: str) -> Program:
    return Program(tmp_path, BRIDLE_CREDENTIALS="file", BRIDLE_NO_BROWSER="1", **env)


def kept(of: Program) -> Path:
    return of.home / ".claude" / "bridle" / "credentials.json"


async def test_a_key_is_tried_and_kept_where_only_the_user_can_read_it(tmp_path: Path):
    async with JsonServer(_MODELS) as server:
        bridle = program(tmp_path, GROQ_BASE_URL=f"{server.url}/v1")
        done = await bridle.run("auth", "login", "groq", "--key-stdin", stdin="gsk-1\n")
    assert done.code == 0
    assert done.out.endswith("and works.\nNow run: bridle\n")
    assert server.asked[0].headers["authorization"] == "Bearer gsk-1"
    assert stat.S_IMODE(kept(bridle).stat().st_mode) == 0o600
    assert json.loads(kept(bridle).read_text())["keys"]["groq"]["key"] == "gsk-1"
    assert "gsk-1" not in done.out + done.err


async def test_a_key_is_kept_untested_where_the_service_cannot_be_reached(tmp_path: Path):
    bridle = program(tmp_path, GROQ_BASE_URL="http://no-such-host.invalid/v1")
    done = await bridle.run("auth", "login", "groq", "--key-stdin", stdin="gsk-1\n")
    assert done.code == 0
    assert "It could not be tested: Cannot connect to" in done.out and "--no-verify" in done.out
    assert done.out.endswith("Now run: bridle\n")
    assert json.loads(kept(bridle).read_text())["keys"]["groq"]["key"] == "gsk-1"


async def test_a_key_that_the_service_refuses_is_not_kept(tmp_path: Path):
    refused = (401, {"error": {"message": "bad key", "code": "invalid_api_key"}})
    async with JsonServer({"/v1/models": refused}) as server:
        bridle = program(tmp_path, GROQ_BASE_URL=f"{server.url}/v1")
        done = await bridle.run("auth", "login", "groq", "--key-stdin", stdin="gsk-1\n")
    assert (done.code, done.out) == (1, "")
    assert "did not accept the key (401)" in done.err
    assert not kept(bridle).exists()


async def test_a_kept_key_is_used_by_sessions_named_in_frames_and_forgotten(tmp_path: Path):
    async with MessagesServer([step("Hi")]) as server:
        bridle = program(tmp_path, ANTHROPIC_BASE_URL=server.url)
        await bridle.run("auth", "login", "--key-stdin", "--no-verify", stdin="sk-kept")
        done = await bridle.run("-p", "hi", "--output-format", "stream-json", "--verbose")
        assert done.result["result"] == "Hi"
        assert done.frames[0]["apiKeySource"] == "login"
        assert [each.headers.get("x-api-key") for each in server.requests] == ["sk-kept"]
        out = await bridle.run("auth", "logout")
        assert out.out.startswith("Removed the key of anthropic")
        again = await bridle.run("-p", "hi")
    assert (again.code, len(server.requests)) == (1, 1)


async def test_the_helpers_key_is_used_and_named_in_frames(tmp_path: Path):
    async with MessagesServer([step("Hi")]) as server:
        bridle = program(tmp_path, ANTHROPIC_BASE_URL=server.url)
        done = await bridle.run(
            "-p", "hi", "--output-format", "stream-json", "--verbose",
            "--settings", '{"apiKeyHelper": "echo from-helper"}',
        )  # fmt: skip
    assert done.frames[0]["apiKeySource"] == "apiKeyHelper"
    assert server.requests[0].headers["x-api-key"] == "from-helper"


async def test_a_project_cannot_name_a_helper(tmp_path: Path):
    async with MessagesServer([step("Hi")]) as server:
        bridle = program(tmp_path, ANTHROPIC_BASE_URL=server.url)
        (bridle.project / ".claude").mkdir()
        mark = tmp_path / "ran"
        settings = {"apiKeyHelper": f"touch {mark}; echo stolen"}
        (bridle.project / ".claude" / "settings.json").write_text(json.dumps(settings))
        done = await bridle.run("-p", "hi")
    assert done.code == 1
    assert not mark.exists()
    assert server.requests == []


async def test_status_tells_where_keys_come_from_and_exits_one_without(tmp_path: Path):
    bridle = program(tmp_path)
    none = await bridle.run("auth", "status")
    assert none.code == 1
    assert json.loads(none.out)["loggedIn"] is False
    some = await bridle.run("auth", "status", ANTHROPIC_API_KEY="k", OPENAI_API_KEY="k")
    told = json.loads(some.out)
    assert (some.code, told["loggedIn"], told["authMethod"]) == (0, True, "api_key")
    assert told["apiKeySource"] == "ANTHROPIC_API_KEY"
    assert told["vendors"] == {"anthropic": "ANTHROPIC_API_KEY", "openai": "OPENAI_API_KEY"}
    text = await bridle.run("auth", "status", "--text", ANTHROPIC_API_KEY="k")
    assert "ANTHROPIC_API_KEY" in text.out


async def test_status_names_the_way_of_logging_in_as_other_programs_know_it(tmp_path: Path):
    bridle = program(tmp_path)
    (bridle.home / ".claude").mkdir(exist_ok=True)
    settings = bridle.home / ".claude" / "settings.json"
    expected: list[tuple[dict[str, str], dict[str, str], str, str | None]] = [
        ({}, {}, "none", None),
        ({"ANTHROPIC_AUTH_TOKEN": "t"}, {}, "oauth_token", None),
        ({}, {"apiKeyHelper": "echo k"}, "api_key_helper", "apiKeyHelper"),
        ({"CLAUDE_CODE_USE_BEDROCK": "1"}, {}, "third_party", None),
    ]
    for env, kept_settings, method, source in expected:
        settings.write_text(json.dumps(kept_settings))
        told = json.loads((await bridle.run("auth", "status", "--json", **env)).out)
        assert (told["authMethod"], told.get("apiKeySource")) == (method, source)


async def test_the_keyring_keeps_the_key_out_of_the_file(tmp_path: Path):
    ring = tmp_path / "ring.json"
    env = {
        "BRIDLE_CREDENTIALS": "keyring",
        "PYTHON_KEYRING_BACKEND": "tests.fakes.plain_keyring.PlainKeyring",
        "PLAIN_KEYRING": str(ring),
        "PYTHONPATH": os.pathsep.join((_ROOT, os.environ.get("PYTHONPATH", ""))),
    }
    async with MessagesServer([step("Hi")]) as server:
        bridle = Program(tmp_path, ANTHROPIC_BASE_URL=server.url, **env)
        done = await bridle.run("auth", "login", "--key-stdin", "--no-verify", stdin="sk-ringed")
        assert "in the keyring" in done.out
        assert "sk-ringed" not in kept(bridle).read_text()
        assert json.loads(ring.read_text()) == {"bridle/anthropic": "sk-ringed"}
        assert (await bridle.run("-p", "hi")).out == "Hi\n"
        assert server.requests[0].headers["x-api-key"] == "sk-ringed"
        await bridle.run("auth", "logout", "--all")
    assert json.loads(ring.read_text()) == {}


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (["login", "grok"], 1, "did you mean groq?"),
        (["login", "bedrock"], 1, "aws sso login"),
        (["login", "openai", "--browser"], 1, "use an API key"),
        (["login", "--sso"], 1, "use an API key"),
        (["login"], 1, "add --key-stdin"),
        (["frobnicate"], 1, "bridle auth --help"),
    ],
)
async def test_what_cannot_be_done_is_said_with_the_way_out(
    tmp_path: Path, words: list[str], code: int, told: str
):
    done = await program(tmp_path).run("auth", *words)
    assert (done.code, done.out) == (code, "")
    assert done.err.startswith("error: ")
    assert told in done.err


@pytest.mark.parametrize("key", ["", "two words", "zwölf"])
async def test_what_is_no_key_is_refused(tmp_path: Path, key: str):
    done = await program(tmp_path).run("auth", "login", "groq", "--key-stdin", stdin=key)
    assert (done.code, done.err) == (1, "error: not a key: a key is one word without spaces\n")


async def test_openrouter_logs_in_by_the_browser_with_a_proof_that_only_we_have(tmp_path: Path):
    async with JsonServer({"/api/v1/auth/keys": {"key": "sk-or-new"}}) as server:
        bridle = program(tmp_path, OPENROUTER_BASE_URL=f"{server.url}/api/v1")
        process = await bridle.start("auth", "login", "openrouter", "--browser")
        assert process.stdout is not None
        async with asyncio.timeout(50):
            await process.stdout.readline()
            page = urlsplit((await process.stdout.readline()).decode().strip())
            asked = {name: values[0] for name, values in parse_qs(page.query).items()}
            assert (page.path, asked["code_challenge_method"]) == ("/auth", "S256")
            await visit(f"{asked['callback_url']}&code=code-1")
            out, err = await process.communicate()
    assert (process.returncode, err) == (0, b"")
    assert b"saved in" in out
    sent = server.asked[0].body
    assert sent["code"] == "code-1"
    digest = hashlib.sha256(sent["code_verifier"].encode()).digest()
    assert urlsafe_b64encode(digest).rstrip(b"=").decode() == asked["code_challenge"]
    assert json.loads(kept(bridle).read_text())["keys"]["openrouter"]["key"] == "sk-or-new"


async def test_the_answer_to_another_login_is_not_used(tmp_path: Path):
    async with JsonServer({}) as server:
        bridle = program(tmp_path, OPENROUTER_BASE_URL=f"{server.url}/api/v1")
        process = await bridle.start("auth", "login", "openrouter", "--browser")
        assert process.stdout is not None
        async with asyncio.timeout(50):
            await process.stdout.readline()
            page = urlsplit((await process.stdout.readline()).decode().strip())
            back = parse_qs(page.query)["callback_url"][0].partition("?")[0]
            await visit(f"{back}?state=wrong&code=code-1")
            _, err = await process.communicate()
    assert process.returncode == 1
    assert b"a different login" in err
    assert server.asked == []


async def visit(address: str) -> None:
    """What a browser does at the end of a login."""
    parts = urlsplit(address)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
    writer.write(f"GET {parts.path}?{parts.query} HTTP/1.1\r\nHost: {parts.netloc}\r\n\r\n".encode())
    await writer.drain()
    await reader.read()
    writer.close()
    await writer.wait_closed()


async def test_a_way_to_log_in_that_the_settings_rule_out_is_refused(tmp_path: Path):
    bridle = program(tmp_path)
    (bridle.home / ".claude").mkdir()
    (bridle.home / ".claude" / "settings.json").write_text('{"forceLoginMethod": "claudeai"}')
    flags = ("--key-stdin", "--no-verify")
    done = await bridle.run("auth", "login", *flags, stdin="sk-1")
    assert (done.code, done.out) == (1, "")
    assert "forceLoginMethod allows only a subscription" in done.err
    assert (await bridle.run("auth", "login", "groq", *flags, stdin="sk-1")).code == 0


def test_keys_are_for_the_gateway_where_the_settings_want_one():
    settings = Settings(force_login_method="gateway", force_login_gateway_url="https://models.example/")
    check_policy("anthropic", settings, {"ANTHROPIC_BASE_URL": "https://models.example"})
    check_policy("openai", settings, {})
    with pytest.raises(UsageError, match="set ANTHROPIC_BASE_URL to https"):
        check_policy("anthropic", settings, {})


class OrganizationServer(JsonServer):
    """Lists no models, and says whose key it was asked with."""

    def __init__(self, organization: str | None) -> None:
        super().__init__({"/v1/models": {"data": []}})
        self.headers = {"anthropic-organization-id": organization} if organization else {}


@pytest.mark.parametrize("organization", ["other", None])
async def test_a_key_of_another_organization_than_the_settings_pin_is_not_kept(
    tmp_path: Path, organization: str | None
):
    async with OrganizationServer(organization) as server:
        bridle = program(tmp_path, ANTHROPIC_BASE_URL=server.url)
        (bridle.home / ".claude").mkdir()
        (bridle.home / ".claude" / "settings.json").write_text('{"forceLoginOrgUUID": ["ours", "theirs"]}')
        done = await bridle.run("auth", "login", "--key-stdin", "--no-verify", stdin="sk-1")
    assert (done.code, done.out) == (1, "")
    assert "forceLoginOrgUUID requires ours or theirs" in done.err
    assert not kept(bridle).exists()


async def test_a_key_of_the_organization_that_the_settings_pin_is_kept(tmp_path: Path):
    async with OrganizationServer("ours") as server:
        bridle = program(tmp_path, ANTHROPIC_BASE_URL=server.url)
        (bridle.home / ".claude").mkdir()
        (bridle.home / ".claude" / "settings.json").write_text('{"forceLoginOrgUUID": "ours"}')
        done = await bridle.run("auth", "login", "--key-stdin", stdin="sk-1")
    assert (done.code, done.err) == (0, "")
    assert kept(bridle).exists()
