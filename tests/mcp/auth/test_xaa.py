import asyncio
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from bridle.mcp.auth.authorizers import Authorizers
from bridle.mcp.auth.browser_login import BrowserLogin
from bridle.mcp.auth.errors import LoginFailed
from bridle.mcp.auth.http import AuthHttp
from bridle.mcp.auth.login import Account
from bridle.mcp.auth.saved_logins import SavedLogins
from bridle.mcp.auth.token_requests import JWT_BEARER, TOKEN_EXCHANGE
from bridle.mcp.auth.token_store import FileTokenStore
from bridle.mcp.auth.xaa import Provider, enterprise_login
from bridle.types.services.mcp import HttpServer, OAuthSettings, Server
from tests.fakes.http_server import listening
from tests.fakes.mcp_session import connected
from tests.fakes.oauth_server import FakeBrowser, FakeHouse, FakeIdentityProvider, free_port, jwt
from tests.fakes.program import Program


def _server(house: FakeHouse) -> Server:
    oauth = OAuthSettings(client_id="by-hand", xaa=True)
    return Server(name="house", config=HttpServer(url=house.url, oauth=oauth), scope="user")


def _provider(port: int) -> Provider:
    address = f"http://127.0.0.1:{port}/token"
    return Provider(issuer="https://idp.example", client_id="us", token_endpoint=address)


def _logins(tmp_path: Path) -> SavedLogins:
    return SavedLogins(FileTokenStore(str(tmp_path / ".credentials.json")))


def _env(tmp_path: Path) -> dict[str, str]:
    return {"CLAUDE_CONFIG_DIR": str(tmp_path), "MCP_CLIENT_SECRET": "s3cret"}


def _exchanges(forms: list[str], *, status: int = 200, **body: Any) -> Any:
    """A token endpoint that takes proofs and gives grants."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        length = next(
            int(line.split(":")[1]) for line in head.splitlines() if line.lower().startswith("content-length")
        )
        forms.append((await reader.readexactly(length)).decode())
        told = json.dumps(body).encode()
        writer.write(f"HTTP/1.1 {status} Told\r\nContent-Length: {len(told)}\r\n\r\n".encode() + told)
        await writer.drain()
        writer.close()

    return serve


async def test_one_proof_of_the_provider_opens_a_server_without_a_person(tmp_path: Path):
    forms: list[str] = []
    kind = "urn:ietf:params:oauth:token-type:id-jag"
    answers = _exchanges(forms, access_token="the-grant", issued_token_type=kind, token_type="N_A")
    logins = _logins(tmp_path)
    logins.save_id_token("https://idp.example", "who-i-am", time.time() + 3600)
    async with listening(answers) as port, FakeHouse() as house, asyncio.timeout(50):
        provider = _provider(port)
        house.know("by-hand", "s3cret", "http://localhost/callback")
        authorizers = Authorizers(_env(tmp_path), logins=logins, provider=provider)
        server = _server(house)
        async with connected(server, authorizer=authorizers(server)) as servers:
            (state,) = servers.status()
    assert state.status == "connected", state.error
    assert "subject_token=who-i-am" in forms[0] and "audience=" in forms[0]
    assert house.grants() == ["urn:ietf:params:oauth:grant-type:jwt-bearer"]


async def test_proof_that_the_provider_refuses_is_forgotten(tmp_path: Path):
    forms: list[str] = []
    refuses = _exchanges(forms, status=400, error="invalid_grant")
    logins, wire = _logins(tmp_path), AuthHttp({})
    logins.save_id_token("https://idp.example", "old", time.time() + 3600)
    async with listening(refuses) as port, FakeHouse() as house, asyncio.timeout(50):
        account = Account.of(_server(house), logins, _env(tmp_path))
        with pytest.raises(LoginFailed, match="invalid_grant"):
            await enterprise_login(account, _provider(port), wire=wire, challenge=None, visit=None)
    await wire.close()
    assert logins.id_token("https://idp.example", time.time()) is None


@pytest.mark.parametrize(
    ("knob", "said"),
    [
        ({"resource": "http://127.0.0.1:1/other"}, "is for"),
        ({"metadata": {"grant_types_supported": ["authorization_code"]}}, "no authorization server supports"),
        ({"metadata": {"issuer": "https://evil.example"}}, "evil"),
        ({"publishes_resource": False}, "publishes no protected resource metadata"),
    ],
)
async def test_chain_that_does_not_fit_together_breaks(tmp_path: Path, knob: dict[str, Any], said: str):
    provider = Provider(
        issuer="https://idp.example", client_id="us", token_endpoint="http://127.0.0.1:9/token"
    )
    logins, wire = _logins(tmp_path), AuthHttp({})
    logins.save_id_token("https://idp.example", "proof", time.time() + 3600)
    async with FakeHouse() as house, asyncio.timeout(50):
        for name, value in knob.items():
            setattr(house, name, value)
        account = Account.of(_server(house), logins, _env(tmp_path))
        with pytest.raises(LoginFailed, match=said):
            await enterprise_login(account, provider, wire=wire, challenge=None, visit=None)
    await wire.close()


async def test_person_logs_in_at_the_provider_once_for_every_server_behind_it(tmp_path: Path):
    logins, wire, browser = _logins(tmp_path), AuthHttp({}), FakeBrowser()
    port = free_port()
    async with FakeIdentityProvider() as idp, FakeHouse() as house, FakeHouse() as barn, asyncio.timeout(50):
        idp.know("us", None, f"http://localhost:{port}/callback", scope="openid")
        provider = Provider(issuer=idp.issuer, client_id="us", callback_port=port)
        visit = BrowserLogin(open_page=browser, patience=5)
        for each in (house, barn):
            each.know("by-hand", "s3cret", "http://localhost/callback")
            account = Account.of(_server(each), logins, _env(tmp_path))
            login = await enterprise_login(account, provider, wire=wire, challenge=None, visit=visit)
            assert login is not None and login.access_token in each.access
        await wire.close()
    assert [page["scope"] for page in browser.pages] == ["openid"]
    assert idp.grants() == ["authorization_code", TOKEN_EXCHANGE, TOKEN_EXCHANGE]
    assert house.grants() == barn.grants() == [JWT_BEARER]


async def test_proof_that_has_ended_is_asked_for_again(tmp_path: Path):
    logins, wire, browser = _logins(tmp_path), AuthHttp({}), FakeBrowser()
    port = free_port()
    async with FakeIdentityProvider() as idp, FakeHouse() as house, asyncio.timeout(50):
        idp.lasts = 1
        idp.know("us", None, f"http://localhost:{port}/callback", scope="openid")
        house.know("by-hand", "s3cret", "http://localhost/callback")
        provider = Provider(issuer=idp.issuer, client_id="us", callback_port=port)
        account = Account.of(_server(house), logins, _env(tmp_path))
        for _ in range(2):
            visit = BrowserLogin(open_page=browser, patience=5)
            await enterprise_login(account, provider, wire=wire, challenge=None, visit=visit)
        await wire.close()
    assert len(browser.pages) == 2


async def test_login_that_the_provider_refuses_is_said(tmp_path: Path):
    wire, port = AuthHttp({}), free_port()
    async with FakeIdentityProvider() as idp, FakeHouse() as house, asyncio.timeout(50):
        idp.denies = True
        idp.know("us", None, f"http://localhost:{port}/callback", scope="openid")
        provider = Provider(issuer=idp.issuer, client_id="us", callback_port=port)
        account = Account.of(_server(house), _logins(tmp_path), _env(tmp_path))
        visit = BrowserLogin(open_page=FakeBrowser(), patience=5)
        with pytest.raises(LoginFailed, match="the login was denied"):
            await enterprise_login(account, provider, wire=wire, challenge=None, visit=visit)
        await wire.close()


async def test_nobody_who_logs_in_at_the_provider_is_not_waited_for_forever(tmp_path: Path):
    async def ignore(url: str) -> None:
        del url

    wire, port = AuthHttp({}), free_port()
    async with FakeIdentityProvider() as idp, FakeHouse() as house, asyncio.timeout(50):
        idp.know("us", None, f"http://localhost:{port}/callback", scope="openid")
        provider = Provider(issuer=idp.issuer, client_id="us", callback_port=port)
        account = Account.of(_server(house), _logins(tmp_path), _env(tmp_path))
        visit = BrowserLogin(open_page=ignore, patience=0.2)
        with pytest.raises(LoginFailed, match="The login timed out after"):
            await enterprise_login(account, provider, wire=wire, challenge=None, visit=visit)
        await wire.close()


async def test_program_logs_in_by_the_provider_and_uses_the_server(tmp_path: Path):
    port = free_port()
    async with FakeIdentityProvider() as idp, FakeHouse() as house, asyncio.timeout(60):
        idp.know("us", None, f"http://localhost:{port}/callback", scope="openid")
        house.know("by-hand", "s3cret", "http://localhost/callback")
        program = Program(tmp_path, BRIDLE_CREDENTIALS="file", MCP_CLIENT_SECRET="s3cret")
        settings = program.home / ".claude" / "settings.json"
        settings.parent.mkdir(exist_ok=True)
        xaa = {"issuer": idp.issuer, "clientId": "us", "callbackPort": port}
        settings.write_text(json.dumps({"xaaIdp": xaa}))
        entry = {"type": "http", "url": house.url, "oauth": {"clientId": "by-hand", "xaa": True}}
        added = await program.run("mcp", "add-json", "house", json.dumps(entry))
        assert added.code == 0, added.err
        process = await program.start("mcp", "login", "house", "--no-browser")
        assert process.stdout is not None
        while not (line := (await process.stdout.readline()).decode().strip()).startswith("http"):
            assert not process.stdout.at_eof()
        await FakeBrowser()(line)
        said = (await process.stdout.read()).decode()
        assert await process.wait() == 0
        listed = await program.run("mcp", "list")
    assert "Logged in to house." in said
    assert listed.out.endswith("(HTTP) - ✓ Connected\n")


def test_end_of_a_proof_is_read_from_it(tmp_path: Path):
    from bridle.mcp.auth.xaa import _expiry

    assert _expiry(jwt(exp=123)) == 123.0
    assert _expiry("nonsense") is None
    logins = _logins(tmp_path)
    logins.save_id_token("i", "t", time.time() + 10)
    assert logins.id_token("i", time.time()) is None


_KEEPER = """
import os, sys
from bridle.mcp.auth.saved_logins import Login, SavedLogins
from bridle.mcp.auth.token_store import KeyringTokenStore, open_vault
vault = open_vault(os.environ, "linux")
assert isinstance(vault, KeyringTokenStore)
logins = SavedLogins(vault)
logins.save("k", Login(server_name="n", access_token="a"))
print(logins.find("k").access_token)
"""


async def test_logins_are_kept_in_the_keyring_where_that_is_asked_for(tmp_path: Path):
    env = {
        **os.environ,
        "BRIDLE_CREDENTIALS": "keyring",
        "PYTHON_KEYRING_BACKEND": "tests.fakes.keyring_file.FakeKeyring",
        "FAKE_KEYRING": str(tmp_path / "ring"),
        "CLAUDE_CONFIG_DIR": str(tmp_path),
        "PYTHONPATH": f"{Path('src').resolve()}:{Path.cwd()}",
    }
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", _KEEPER, env=env, stdout=asyncio.subprocess.PIPE
    )
    async with asyncio.timeout(50):
        out, _ = await process.communicate()
    assert out.decode().strip() == "a"
    assert not (tmp_path / ".credentials.json").exists()
    assert "mcpOAuth" in (tmp_path / "ring").read_text()
