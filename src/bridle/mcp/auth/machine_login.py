"""Logins of machines: clients with a secret or a key of their own, and workloads with a token."""

import asyncio
import os
import time
import uuid

from bridle.mcp.auth.challenge import Challenge
from bridle.mcp.auth.dpop import Prover, wants_proofs
from bridle.mcp.auth.errors import LoginFailed
from bridle.mcp.auth.http import AuthHttp
from bridle.mcp.auth.login import Account, wanted_scope
from bridle.mcp.auth.metadata import ServerMetadata, discover
from bridle.mcp.auth.saved_logins import Login, made_login
from bridle.mcp.auth.signing import SigningKey, read_key_file
from bridle.mcp.auth.token_requests import JWT_BEARER, TOKEN_EXCHANGE, ClientIdentity, ask_for_tokens

_ASSERTION_TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
_JWT = "urn:ietf:params:oauth:token-type:jwt"
_ASSERTION_LASTS = 300


async def machine_login(account: Account, wire: AuthHttp, said: Challenge) -> Login:
    """A login without a person; what comes of it is kept until it ends.

    Raises:
        LoginFailed: it did not work; the same is not tried in another way.
    """
    settings = account.settings
    if not account.own:
        raise LoginFailed(
            f"{account.name} logs in with a key or token of this machine, which a project or plugin may not "
            "use: add the server with `bridle mcp add --scope user`."
        )
    found = await discover(wire, account.url, challenge=said, metadata_url=settings.auth_server_metadata_url)
    if settings.client_id is None:
        raise LoginFailed(f"{account.name} needs a clientId for the grant {settings.grant_type}.")
    scope = wanted_scope(settings, found, said, None)
    fields = {
        **({"scope": scope} if scope else {}),
        **({"resource": found.audience} if found.audience else {}),
    }
    client = ClientIdentity(client_id=settings.client_id)
    match settings.grant_type:
        case "client_credentials":
            fields["grant_type"] = "client_credentials"
            client, proof = await _client(account, found.server, client)
            fields |= proof
        case "jwt_bearer":
            fields |= {"grant_type": JWT_BEARER, "assertion": await _workload_token(account)}
        case _:
            fields |= {
                "grant_type": TOKEN_EXCHANGE,
                "subject_token": await _workload_token(account),
                "subject_token_type": _JWT,
            }
    prover = Prover(SigningKey.new()) if wants_proofs(found.server, chosen=settings.dpop) else None
    tokens = await ask_for_tokens(wire, found.server, client, fields, prover=prover)
    login = made_login(
        None,
        tokens,
        now=account.clock(),
        name=account.name,
        url=account.url,
        client=client,
        found=found,
        prover=prover,
    )
    await asyncio.to_thread(account.logins.save, account.key, login)
    return login


async def _client(
    account: Account, server: ServerMetadata, client: ClientIdentity
) -> tuple[ClientIdentity, dict[str, str]]:
    """Who asks, with a secret or with the fields of a signed assertion (private_key_jwt)."""
    pem = account.env.get("MCP_CLIENT_PRIVATE_KEY", "")
    if not pem and account.settings.private_key_file is not None:
        pem = await asyncio.to_thread(read_key_file, account.settings.private_key_file)
    if pem:
        return client, _assertion(SigningKey.read(pem), client.client_id, server.issuer)
    secret = await asyncio.to_thread(account.client_secret)
    if secret is None:
        raise LoginFailed(
            f"{account.name} needs a secret or a key: set MCP_CLIENT_SECRET, MCP_CLIENT_PRIVATE_KEY or "
            "oauth.privateKeyFile."
        )
    return ClientIdentity(client_id=client.client_id, client_secret=secret), {}


def _assertion(key: SigningKey, client_id: str, issuer: str) -> dict[str, str]:
    now = int(time.time())
    claims = {
        "iss": client_id,
        "sub": client_id,
        "aud": issuer,
        "jti": str(uuid.uuid4()),
        "iat": now,
        "exp": now + _ASSERTION_LASTS,
    }
    return {"client_assertion_type": _ASSERTION_TYPE, "client_assertion": key.sign(claims, typ="JWT")}


async def _workload_token(account: Account) -> str:
    """The token that the platform gives this workload, read again because platforms renew it."""
    settings = account.settings
    if settings.assertion_file is not None:
        token = await asyncio.to_thread(read_key_file, os.path.expanduser(settings.assertion_file))
    else:
        token = account.env.get(settings.assertion_variable or "MCP_WORKLOAD_TOKEN", "")
    if not (token := token.strip()):
        raise LoginFailed(
            f"{account.name} needs the token of this workload: set oauth.assertionFile or MCP_WORKLOAD_TOKEN."
        )
    return token
