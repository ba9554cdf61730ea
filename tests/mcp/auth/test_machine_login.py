"""Logins without a person, and tokens that are bound to a key."""

import json
from base64 import urlsafe_b64decode
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from bridle.mcp.auth.challenge import Challenge, read_challenge
from bridle.mcp.auth.dpop import Prover
from bridle.mcp.auth.errors import LoginFailed
from bridle.mcp.auth.http import AuthHttp
from bridle.mcp.auth.login import Account
from bridle.mcp.auth.machine_login import machine_login
from bridle.mcp.auth.oauth import OAuthAuthorizer
from bridle.mcp.auth.saved_logins import SavedLogins
from bridle.mcp.auth.signing import SigningKey
from bridle.mcp.auth.token_store import FileTokenStore
from bridle.types.services.mcp import HttpServer, OAuthSettings, Scope, Server
from tests.fakes.http_server import Heard, Wire, response
from tests.fakes.json_server import JsonServer

_METHODS = ["client_secret_basic", "private_key_jwt", "none"]


class FakeIssuer(JsonServer):
    """An authorization server and the resource behind it; `token` is what it answers next."""

    def __init__(self, **metadata: Any) -> None:
        super().__init__({})
        self._metadata = metadata
        self.forms: list[dict[str, str]] = []
        self.proofs: list[str] = []
        self.nonce = ""
        self.token: Any = {"access_token": "t", "token_type": "Bearer", "expires_in": 60}

    async def answer(self, request: Heard, wire: Wire) -> bool:
        self.answers = {
            "/.well-known/oauth-protected-resource/mcp": {
                "resource": f"{self.url}/mcp",
                "authorization_servers": [self.url],
            },
            "/.well-known/oauth-authorization-server": {
                "issuer": self.url,
                "token_endpoint": f"{self.url}/token",
                "token_endpoint_auth_methods_supported": _METHODS,
                **self._metadata,
            },
            "/token": self.token,
        }
        if request.path != "/token":
            return await super().answer(request, wire)
        self.forms.append(dict(parse_qsl(request.raw.decode())))
        self.proofs.append(request.headers.get("dpop", ""))
        if self.nonce and _claims(self.proofs[-1])[1].get("nonce") != self.nonce:
            body = json.dumps({"error": "use_dpop_nonce"}).encode()
            about = {"content-type": "application/json", "dpop-nonce": self.nonce, "connection": "close"}
            await wire.send(response(400, body, **about))
            return False
        return await super().answer(request, wire)


def _account(house: FakeIssuer, tmp_path: Path, *, scope: Scope = "user", **oauth: Any) -> Account:
    env = {"CLAUDE_CONFIG_DIR": str(tmp_path), **oauth.pop("env", {})}
    settings = OAuthSettings(client_id="me", **oauth)
    server = Server(name="far", config=HttpServer(url=f"{house.url}/mcp", oauth=settings), scope=scope)
    return Account.of(server, SavedLogins(FileTokenStore(str(tmp_path / "vault.json"))), env)


async def _enter(account: Account) -> Any:
    wire = AuthHttp({})
    try:
        return await machine_login(account, wire, Challenge())
    finally:
        await wire.close()


def _claims(token: str) -> tuple[dict[str, Any], dict[str, Any]]:
    if not token:
        return {}, {}
    head, body, _ = (part + "=" * (-len(part) % 4) for part in token.split("."))
    return json.loads(urlsafe_b64decode(head)), json.loads(urlsafe_b64decode(body))


def _pem(key: Any) -> str:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()


async def test_client_with_a_secret_logs_in(tmp_path: Path):
    async with FakeIssuer() as house:
        secret = {"MCP_CLIENT_SECRET": "s3cret"}
        account = _account(house, tmp_path, grant_type="client_credentials", scopes="read", env=secret)
        login = await _enter(account)
        asked = next(each for each in house.asked if each.path == "/token")
    assert (login.access_token, login.expires_at is not None) == ("t", True)
    assert house.forms[0]["grant_type"] == "client_credentials" and house.forms[0]["scope"] == "read"
    assert house.forms[0]["resource"] == f"{house.url}/mcp"
    assert asked.headers["authorization"].startswith("Basic ")
    kept = account.logins.find(account.key)
    assert kept is not None and kept.access_token == login.access_token


async def test_client_with_a_key_signs_who_it_is(tmp_path: Path):
    key = ec.generate_private_key(ec.SECP256R1())
    (tmp_path / "key.pem").write_text(_pem(key))
    async with FakeIssuer() as house:
        account = _account(
            house, tmp_path, grant_type="client_credentials", private_key_file=str(tmp_path / "key.pem")
        )
        await _enter(account)
    (form,) = house.forms
    assert form["client_assertion_type"].endswith("client-assertion-type:jwt-bearer")
    head, claims = _claims(form["client_assertion"])
    assert (head["alg"], claims["iss"], claims["sub"], claims["aud"]) == ("ES256", "me", "me", house.url)
    assert claims["exp"] - claims["iat"] == 300
    body, _, signature = form["client_assertion"].rpartition(".")
    raw = urlsafe_b64decode(signature + "=" * (-len(signature) % 4))
    one, other = int.from_bytes(raw[:32], "big"), int.from_bytes(raw[32:], "big")
    key.public_key().verify(encode_dss_signature(one, other), body.encode(), ec.ECDSA(SHA256()))


@pytest.mark.parametrize(
    ("make", "algorithm"),
    [
        (lambda: rsa.generate_private_key(65537, 2048), "RS256"),
        (lambda: ec.generate_private_key(ec.SECP384R1()), "ES384"),
        (ed25519.Ed25519PrivateKey.generate, "EdDSA"),
    ],
)
def test_keys_of_every_kind_sign(make: Any, algorithm: str):
    key = SigningKey.read(_pem(make()))
    assert _claims(key.sign({"a": 1}, typ="JWT")) == ({"alg": algorithm, "typ": "JWT"}, {"a": 1})


@pytest.mark.parametrize("text", ["", "no key", _pem(ec.generate_private_key(ec.SECP521R1()))])
def test_what_is_no_key_gets_a_sentence(text: str):
    with pytest.raises(LoginFailed, match="private key"):
        SigningKey.read(text)


@pytest.mark.parametrize(
    ("grant", "field"), [("jwt_bearer", "assertion"), ("token_exchange", "subject_token")]
)
async def test_workload_shows_the_token_of_its_platform(tmp_path: Path, grant: str, field: str):
    (tmp_path / "token").write_text("a.b.c\n")
    async with FakeIssuer() as house:
        account = _account(house, tmp_path, grant_type=grant, assertion_file=str(tmp_path / "token"))
        await _enter(account)
    (form,) = house.forms
    assert form[field] == "a.b.c" and form["client_id"] == "me"
    assert form["grant_type"].endswith("jwt-bearer" if grant == "jwt_bearer" else "token-exchange")


async def test_refused_grant_is_not_tried_again_and_says_why(tmp_path: Path):
    async with FakeIssuer() as house:
        house.token = (400, {"error": "invalid_grant", "error_description": "expired"})
        token = {"MCP_WORKLOAD_TOKEN": "a.b.c"}
        authorizer = OAuthAuthorizer(
            _account(house, tmp_path, grant_type="jwt_bearer", env=token), silent=machine_login
        )
        with pytest.raises(LoginFailed, match="invalid_grant: expired"):
            await authorizer.challenged(401, "Bearer")
    assert len(house.forms) == 1


async def test_project_may_not_use_keys_of_the_machine(tmp_path: Path):
    async with FakeIssuer() as house:
        token = {"MCP_WORKLOAD_TOKEN": "a.b.c"}
        with pytest.raises(LoginFailed, match="--scope user"):
            await _enter(_account(house, tmp_path, scope="project", grant_type="jwt_bearer", env=token))
    assert house.forms == []


@pytest.mark.parametrize("oauth", [{"grant_type": "jwt_bearer"}, {"grant_type": "client_credentials"}])
async def test_what_is_missing_is_named(tmp_path: Path, oauth: dict[str, Any]):
    async with FakeIssuer() as house:
        with pytest.raises(LoginFailed, match="set "):
            await _enter(_account(house, tmp_path, **oauth))


async def test_tokens_are_bound_to_a_key_where_the_server_can_do_that(tmp_path: Path):
    async with FakeIssuer(dpop_signing_alg_values_supported=["ES256"]) as house:
        house.nonce = "n1"
        house.token = {"access_token": "t", "token_type": "DPoP"}
        account = _account(house, tmp_path, grant_type="jwt_bearer", env={"MCP_WORKLOAD_TOKEN": "a.b.c"})
        login = await _enter(account)
        authorizer = OAuthAuthorizer(account)
        sent = await authorizer.headers("POST", f"{house.url}/mcp?x=1")
        authorizer.note_nonce(f"{house.url}/mcp", "n2")
        again = await authorizer.challenged(401, 'DPoP error="use_dpop_nonce"')
        later = await authorizer.headers("POST", f"{house.url}/mcp")
    heads, claims = zip(*map(_claims, (*house.proofs, sent["DPoP"], later["DPoP"])), strict=True)
    assert [each.get("nonce") for each in claims] == [None, "n1", None, "n2"]
    assert {each["typ"] for each in heads} == {"dpop+jwt"} and len({each["jti"] for each in claims}) == 4
    assert all("d" not in each["jwk"] for each in heads) and len({each["jwk"]["x"] for each in heads}) == 1
    assert (claims[0]["htm"], claims[0]["htu"]) == ("POST", f"{house.url}/token")
    assert (claims[2]["htu"], "ath" in claims[2], "ath" in claims[0]) == (f"{house.url}/mcp", True, False)
    assert sent["Authorization"] == "DPoP t" and again is True
    assert login.dpop_key is not None and login.dpop_key.startswith("-----BEGIN PRIVATE KEY")


async def test_bound_tokens_can_be_declined(tmp_path: Path):
    async with FakeIssuer(dpop_signing_alg_values_supported=["ES256"]) as house:
        token = {"MCP_WORKLOAD_TOKEN": "a.b.c"}
        login = await _enter(_account(house, tmp_path, grant_type="jwt_bearer", dpop=False, env=token))
    assert house.proofs == [""] and login.dpop_key is None


def test_challenge_of_either_scheme_is_read():
    bound = read_challenge('DPoP error="use_dpop_nonce", resource_metadata="https://x/y"')
    assert (bound.error, bound.resource_metadata) == ("use_dpop_nonce", "https://x/y")
    assert Prover(SigningKey.new()).proof("GET", "https://a/b?c").count(".") == 2
