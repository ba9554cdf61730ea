import asyncio
import json
import os
import sys
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from bridle.mcp.auth.browser_login import BrowserLogin
from bridle.mcp.auth.challenge import read_challenge
from bridle.mcp.auth.errors import LoginFailed
from bridle.mcp.auth.http import AuthHttp, redacted
from bridle.mcp.auth.login import Account, log_in, log_out
from bridle.mcp.auth.oauth import OAuthAuthorizer
from bridle.mcp.auth.saved_logins import Login, SavedLogins, login_key
from bridle.mcp.auth.token_store import FileTokenStore
from bridle.types.services.mcp import HttpServer, OAuthSettings, Server
from tests.fakes.mcp_session import connected
from tests.fakes.oauth_server import FakeBrowser, FakeHouse, free_port, oddly


def _account(house: FakeHouse, tmp_path: Path, env: dict[str, str] | None = None, **oauth: Any) -> Account:
    server = Server(
        name="house", config=HttpServer(url=house.url, oauth=OAuthSettings(**oauth)), scope="user"
    )
    around = {"CLAUDE_CONFIG_DIR": str(tmp_path), **(env or {})}
    return Account.of(server, SavedLogins(FileTokenStore(str(tmp_path / ".credentials.json"))), around)


@asynccontextmanager
async def _wire() -> AsyncGenerator[AuthHttp, None]:
    wire = AuthHttp({})
    try:
        yield wire
    finally:
        await wire.close()


async def _enter(house: FakeHouse, account: Account, browser: FakeBrowser | None = None) -> Login:
    async with _wire() as wire, asyncio.timeout(50):
        return await log_in(account, BrowserLogin(open_page=browser or FakeBrowser(), patience=5), wire=wire)


async def test_person_logs_in_and_calls_are_let_in(tmp_path: Path):
    async with FakeHouse() as house, asyncio.timeout(50):
        account, browser = _account(house, tmp_path), FakeBrowser()
        authorizer = OAuthAuthorizer(account, visit=BrowserLogin(open_page=browser, patience=5))
        async with connected(HttpServer(url=house.url), authorizer=authorizer) as servers:
            (state,) = servers.status()
            result = await servers.call("s", "knock", {})
    assert state.status == "connected"
    assert result["content"] == [{"type": "text", "text": "come in"}]
    (page,) = browser.pages
    assert page["code_challenge_method"] == "S256"
    assert page["resource"] == house.url
    assert page["scope"] == "read"
    exchange = next(fields for path, fields in house.asked if path == "/token")
    assert (exchange["resource"], exchange["redirect_uri"]) == (house.url, page["redirect_uri"])


async def test_login_is_kept_for_the_user_alone_and_leaves_other_secrets_as_they_are(tmp_path: Path):
    kept = tmp_path / ".credentials.json"
    kept.write_text('{"claudeAiOauth": {"accessToken": "theirs"}}')
    async with FakeHouse() as house:
        account = _account(house, tmp_path)
        login = await _enter(house, account)
    stored = json.loads(kept.read_text())
    assert stored["claudeAiOauth"] == {"accessToken": "theirs"}
    entry = stored["mcpOAuth"][account.key]
    assert (entry["serverName"], entry["serverUrl"]) == ("house", house.url)
    assert entry["accessToken"] == login.access_token
    assert entry["discoveryState"]["authorizationServerUrl"] == house.issuer
    assert entry["expiresAt"] > time.time() * 1000
    assert kept.stat().st_mode & 0o777 == 0o600


def test_key_of_a_login_changes_with_address_and_headers():
    def key(**fields: Any) -> str:
        return login_key(
            Server(name="n", config=HttpServer(url="https://a.example/mcp", **fields), scope="user")
        )

    assert key().startswith("n|") and len(key()) == 18
    assert key() != key(headers={"X": "1"})


async def test_second_login_uses_the_registration_of_the_first(tmp_path: Path):
    async with FakeHouse() as house:
        account = _account(house, tmp_path)
        await _enter(house, account)
        await _enter(house, account)
    assert [path for path, _ in house.asked].count("/register") == 1


async def test_denied_login_says_so_and_keeps_nothing(tmp_path: Path):
    async with FakeHouse() as house:
        house.denies = True
        account = _account(house, tmp_path)
        with pytest.raises(LoginFailed, match="denied"):
            await _enter(house, account)
    assert account.logins.find(account.key) is None


async def test_answer_with_another_state_is_not_used(tmp_path: Path):
    async with FakeHouse() as house:
        house.breaks_state = True
        with pytest.raises(LoginFailed, match="state"):
            await _enter(house, _account(house, tmp_path))
    assert house.grants() == []


async def test_code_that_has_expired_is_refused_in_one_sentence(tmp_path: Path):
    async with FakeHouse() as house:
        house.codes_last = -1
        with pytest.raises(LoginFailed, match="invalid_grant"):
            await _enter(house, _account(house, tmp_path))


async def test_server_without_s256_is_not_logged_in_to(tmp_path: Path):
    async with FakeHouse() as house:
        house.metadata = {"code_challenge_methods_supported": ["plain"]}
        browser = FakeBrowser()
        with pytest.raises(LoginFailed, match="PKCE"):
            await _enter(house, _account(house, tmp_path), browser)
    assert browser.pages == []


async def test_metadata_of_another_issuer_is_refused(tmp_path: Path):
    async with FakeHouse() as house:
        house.metadata = {"issuer": "https://evil.example"}
        with pytest.raises(LoginFailed, match=r"evil\.example"):
            await _enter(house, _account(house, tmp_path))


async def test_metadata_of_another_resource_is_refused(tmp_path: Path):
    async with FakeHouse() as house:
        house.resource = "https://evil.example/mcp"
        with pytest.raises(LoginFailed, match=r"evil\.example"):
            await _enter(house, _account(house, tmp_path))


async def test_answer_of_another_issuer_is_not_used(tmp_path: Path):
    async with FakeHouse() as house:
        house.iss = "https://evil.example"
        with pytest.raises(LoginFailed, match=r"evil\.example"):
            await _enter(house, _account(house, tmp_path))


async def test_answer_must_name_its_issuer_where_that_is_promised(tmp_path: Path):
    async with FakeHouse() as house:
        house.metadata = {"authorization_response_iss_parameter_supported": True}
        with pytest.raises(LoginFailed):
            await _enter(house, _account(house, tmp_path))
        house.iss = house.issuer
        await _enter(house, _account(house, tmp_path))


async def test_server_without_any_metadata_is_logged_in_to_at_the_usual_places(tmp_path: Path):
    async with FakeHouse() as house:
        house.publishes = house.publishes_resource = False
        login = await _enter(house, _account(house, tmp_path))
    assert login.access_token in house.access


async def test_authorization_server_that_publishes_nothing_is_named(tmp_path: Path):
    async with FakeHouse() as house:
        house.publishes = False
        with pytest.raises(LoginFailed, match="publishes no metadata"):
            await _enter(house, _account(house, tmp_path))


async def test_metadata_address_of_the_configuration_must_be_https(tmp_path: Path):
    async with FakeHouse() as house:
        account = _account(house, tmp_path, auth_server_metadata_url="http://a.example/meta")
        with pytest.raises(LoginFailed, match="authServerMetadataUrl must use https://"):
            await _enter(house, account)


async def test_endpoint_that_could_be_overheard_is_refused(tmp_path: Path):
    async with FakeHouse() as house:
        house.metadata = {"token_endpoint": "http://a.example/token"}
        with pytest.raises(LoginFailed, match="it does not use https"):
            await _enter(house, _account(house, tmp_path))


async def test_server_that_registers_nobody_asks_for_a_client_id(tmp_path: Path):
    async with FakeHouse() as house:
        house.metadata = {"registration_endpoint": None}
        with pytest.raises(LoginFailed, match="--client-id"):
            await _enter(house, _account(house, tmp_path))


async def test_published_client_document_is_used_where_it_is_supported(tmp_path: Path):
    address = "https://client.example/bridle.json"
    async with FakeHouse() as house:
        house.metadata = {"client_id_metadata_document_supported": True, "registration_endpoint": None}
        browser = FakeBrowser()
        account = _account(house, tmp_path, env={"MCP_OAUTH_CLIENT_METADATA_URL": address})
        with pytest.raises(LoginFailed):
            # The fake does not fetch documents; what matters is who bridle says it is.
            async with _wire() as wire:
                await log_in(account, BrowserLogin(open_page=browser, patience=0.2), wire=wire)
    assert browser.pages[0]["client_id"] == address


async def test_client_of_the_configuration_proves_itself_with_its_secret(tmp_path: Path):
    port, browser = free_port(), FakeBrowser()
    async with FakeHouse() as house:
        house.know("by-hand", "s3cret", f"http://localhost:{port}/callback")
        env = {"MCP_CLIENT_SECRET": "s3cret"}
        account = _account(house, tmp_path, env=env, client_id="by-hand", callback_port=port)
        login = await _enter(house, account, browser)
    assert browser.pages[0]["redirect_uri"] == f"http://localhost:{port}/callback"
    assert login.client_id == "by-hand"
    exchange = next(fields for path, fields in house.asked if path == "/token")
    assert "client_secret" not in exchange


async def test_address_may_be_pasted_when_the_browser_is_elsewhere(tmp_path: Path):
    async with FakeHouse() as house, _wire() as wire, asyncio.timeout(50):
        browser, opened = FakeBrowser(), asyncio.Event()

        async def show(url: str) -> None:
            browser.ended_at = await browser.follow(url)
            opened.set()

        async def pasted() -> str:
            await opened.wait()
            return f"  {browser.ended_at}\n"

        login = await log_in(
            _account(house, tmp_path), BrowserLogin(open_page=show, pasted=pasted), wire=wire
        )
    assert login.access_token in house.access


async def test_nobody_coming_back_ends_the_login(tmp_path: Path):
    async def ignore(url: str) -> None:
        del url

    async with FakeHouse() as house, _wire() as wire:
        with pytest.raises(LoginFailed, match="The login timed out after"):
            await log_in(_account(house, tmp_path), BrowserLogin(open_page=ignore, patience=0.05), wire=wire)


async def test_token_that_is_over_is_refreshed_before_it_is_used(tmp_path: Path):
    async with FakeHouse() as house:
        account = _account(house, tmp_path)
        house.tokens_last = 1
        old = await _enter(house, account)
        house.tokens_last = 3600
        headers = await OAuthAuthorizer(account).headers("POST", house.url)
    fresh = account.logins.find(account.key)
    assert fresh is not None and fresh.access_token != old.access_token
    assert headers == {"Authorization": f"Bearer {fresh.access_token}"}
    assert fresh.refresh_token != old.refresh_token


async def test_requests_at_once_share_one_refresh(tmp_path: Path):
    async with FakeHouse() as house:
        account = _account(house, tmp_path)
        house.tokens_last = 1
        await _enter(house, account)
        house.tokens_last = 3600
        authorizer = OAuthAuthorizer(account)
        several = await asyncio.gather(*(authorizer.headers("POST", house.url) for _ in range(5)))
    assert len({each["Authorization"] for each in several}) == 1
    assert house.grants().count("refresh_token") == 1


_REFRESHER = """
import asyncio, sys
from bridle.mcp.auth.login import Account
from bridle.mcp.auth.saved_logins import SavedLogins
from bridle.mcp.auth.oauth import OAuthAuthorizer
from bridle.mcp.auth.token_store import FileTokenStore
from bridle.types.services.mcp import HttpServer, OAuthSettings, Server
url, home = sys.argv[1:]
server = Server(name="house", config=HttpServer(url=url, oauth=OAuthSettings()), scope="user")
logins = SavedLogins(FileTokenStore(home + "/.credentials.json"))
account = Account.of(server, logins, {"CLAUDE_CONFIG_DIR": home})
sys.stdin.readline()
print(asyncio.run(OAuthAuthorizer(account).headers("POST", account.url))["Authorization"])
"""


async def test_two_processes_that_refresh_at_once_end_up_with_one_login(tmp_path: Path):
    async with FakeHouse() as house, asyncio.timeout(50):
        house.tokens_last = 1
        await _enter(house, _account(house, tmp_path))
        house.tokens_last = 3600
        processes = [
            await asyncio.create_subprocess_exec(
                sys.executable, "-c", _REFRESHER, house.url, str(tmp_path),
                stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
                env={**os.environ, "PYTHONPATH": "src"},
            )
            for _ in range(2)
        ]  # fmt: skip
        outputs = await asyncio.gather(*(each.communicate(b"go\n") for each in processes))
    first, second = (output.decode().strip() for output, _ in outputs)
    assert first == second != ""
    assert house.grants().count("refresh_token") == 1


async def test_revoked_refresh_token_means_a_new_login(tmp_path: Path):
    async with FakeHouse() as house, asyncio.timeout(50):
        account = _account(house, tmp_path)
        await _enter(house, account)
        house.refreshes.clear()
        house.access.clear()
        authorizer = OAuthAuthorizer(account)
        async with connected(HttpServer(url=house.url), authorizer=authorizer) as servers:
            (state,) = servers.status()
    assert state.status == "needs-auth"
    left = account.logins.find(account.key)
    assert left is not None and (left.access_token, left.refresh_token) == ("", None)


async def test_token_of_another_process_is_taken_up_after_a_refusal(tmp_path: Path):
    async with FakeHouse() as house:
        account = _account(house, tmp_path)
        await _enter(house, account)
        authorizer = OAuthAuthorizer(account)
        await authorizer.headers("POST", house.url)
        fresh = await _enter(house, account)
        assert await authorizer.challenged(401, "Bearer")
        headers = await authorizer.headers("POST", house.url)
    assert headers["Authorization"] == f"Bearer {fresh.access_token}"
    assert house.grants().count("refresh_token") == 0


async def test_more_rights_are_asked_for_when_a_call_needs_them(tmp_path: Path):
    async with FakeHouse() as house, asyncio.timeout(50):
        house.needs = ("write",)
        account, browser = _account(house, tmp_path), FakeBrowser()
        authorizer = OAuthAuthorizer(account, visit=BrowserLogin(open_page=browser, patience=5))
        async with connected(HttpServer(url=house.url), authorizer=authorizer) as servers:
            result = await servers.call("s", "knock", {})
    assert result["content"][0]["text"] == "come in"
    assert [page["scope"] for page in browser.pages] == ["read", "read write"]


async def test_rights_that_nobody_can_give_now_are_remembered_for_the_next_login(tmp_path: Path):
    async with FakeHouse() as house, asyncio.timeout(50):
        account = _account(house, tmp_path)
        await _enter(house, account)
        house.needs = ("write",)
        async with connected(HttpServer(url=house.url), authorizer=OAuthAuthorizer(account)) as servers:
            with pytest.raises(Exception, match="needs more permissions than your login has"):
                await servers.call("s", "knock", {})
            (state,) = servers.status()
        assert state.status == "needs-auth"
        browser = FakeBrowser()
        await _enter(house, account, browser)
    assert browser.pages[0]["scope"] == "read write"


async def test_logging_out_revokes_both_tokens_and_forgets_them(tmp_path: Path):
    async with FakeHouse() as house, _wire() as wire:
        account = _account(house, tmp_path)
        await _enter(house, account)
        assert await log_out(account, wire=wire) is None
    hints = [fields["token_type_hint"] for path, fields in house.asked if path == "/revoke"]
    assert hints == ["refresh_token", "access_token"]
    assert (house.access, house.refreshes) == ({}, {})
    assert account.logins.find(account.key) is None


async def test_errors_with_the_status_of_success_are_errors(tmp_path: Path):
    async with FakeHouse() as house:
        house.odd_tokens = [oddly(200, ok=False, error="invalid_refresh_token")]
        with pytest.raises(LoginFailed, match="invalid_grant"):
            await _enter(house, _account(house, tmp_path))
        house.odd_tokens = [oddly(200, hello="there")]
        with pytest.raises(LoginFailed, match="returned no usable token"):
            await _enter(house, _account(house, tmp_path))


async def test_authorization_server_that_is_out_of_order_does_not_end_a_login(tmp_path: Path):
    async with FakeHouse() as house:
        account = _account(house, tmp_path)
        house.tokens_last = 1
        old = await _enter(house, account)
        house.odd_tokens = [oddly(503)]
        headers = await OAuthAuthorizer(account).headers("POST", house.url)
    assert headers == {"Authorization": f"Bearer {old.access_token}"}
    kept = account.logins.find(account.key)
    assert kept is not None and kept.refresh_token == old.refresh_token


def test_challenge_is_read_among_others():
    header = (
        'Basic realm="x", Bearer error="insufficient_scope", scope="a  b", resource_metadata="https://m/"'
    )
    said = read_challenge(header)
    assert (said.error, said.scope, said.resource_metadata) == ("insufficient_scope", "a b", "https://m/")
    assert said.wants_more
    assert read_challenge('Basic realm="x"') == read_challenge("")
    assert read_challenge('Bearer scope=a, DPoP algs="x"').scope == "a"


def test_secrets_are_not_told():
    assert redacted('{"access_token": "abc", "x": "y"}') == '{"access_token": "[REDACTED]", "x": "y"}'
    assert redacted("client_secret=abc&x=y") == "client_secret=[REDACTED]&x=y"
