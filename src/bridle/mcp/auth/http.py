"""Requests to authorization servers: small, bounded, over TLS or to this machine only."""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode, urljoin, urlsplit

import msgspec
from msgspec import Struct

from bridle.host.http.client import HttpClient, HttpFault, Limits, Request
from bridle.mcp.auth.errors import LoginFailed, OAuthRefused
from bridle.types.errors import ConfigError
from bridle.version import __version__

if TYPE_CHECKING:
    from bridle.mcp.auth.dpop import Prover

_LIMITS = Limits(connect=15.0, idle=30.0, total=30.0, body=1024 * 1024)
_MOST_REDIRECTS = 3
_LONGEST_NONCE = 1024
_LOCAL = ("127.0.0.1", "localhost", "::1")
_ALIASES = ("invalid_refresh_token", "expired_refresh_token", "token_expired")
"""What some servers say for a grant that is over."""


class Reply(Struct, frozen=True):
    status: int
    body: Any
    """The JSON value; None when there is none."""
    nonce: str = ""
    """What the server wants in the next proof (`DPoP-Nonce`)."""


class AuthHttp:
    """Opened with the first request; closed when the login is over."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self._client = HttpClient(env)

    async def document(self, url: str) -> dict[str, Any] | None:
        """A JSON object that is published at an address; None where there is no such thing.

        Raises:
            LoginFailed: the address cannot be asked, or the server is out of order.
        """
        for _ in range(_MOST_REDIRECTS):
            reply, target = await self._send("GET", url, headers={"Accept": "application/json"})
            if target is None:
                if reply.status >= 500:
                    raise LoginFailed(f"{url} returned status {reply.status}. Try again later.")
                return reply.body if reply.status == 200 and isinstance(reply.body, dict) else None
            url = urljoin(url, target)
        return None

    async def post_form(
        self,
        url: str,
        fields: Mapping[str, str],
        headers: Mapping[str, str] | None = None,
        *,
        prover: "Prover | None" = None,
    ) -> dict[str, Any]:
        """What a server answers to a form; errors in any dress are errors.

        With `prover` the form carries a proof, and once more with the nonce that the server wants in it.

        Raises:
            LoginFailed: the server cannot be asked, or refuses.
        """
        headers_sent = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"}
        body = urlencode(fields).encode()
        sent = {**headers_sent, **(headers or {})}
        for last in (False, True):
            proof = {} if prover is None else {"DPoP": prover.proof("POST", url)}
            reply, _ = await self._send("POST", url, headers={**sent, **proof}, body=body)
            if prover is None or not reply.nonce:
                break
            prover.note_nonce(url, reply.nonce)
            if last or not _wants_nonce(reply):
                break
        return _accepted(url, reply)

    async def post_json(self, url: str, value: Mapping[str, Any]) -> dict[str, Any]:
        """What a server answers to a JSON object.

        Raises:
            LoginFailed: the server cannot be asked, or refuses.
        """
        headers_sent = {"Content-Type": "application/json", "Accept": "application/json"}
        reply, _ = await self._send("POST", url, headers=headers_sent, body=msgspec.json.encode(value))
        return _accepted(url, reply)

    async def close(self) -> None:
        await self._client.close()

    async def _send(
        self, method: str, url: str, *, headers: Mapping[str, str], body: bytes = b""
    ) -> tuple[Reply, str | None]:
        require_private(url)
        all_headers = {"User-Agent": f"bridle/{__version__}", **headers}
        request = Request(method, url, tuple(all_headers.items()), body)
        try:
            async with self._client.send(request, _LIMITS) as response:
                data = await response.read()
        except (HttpFault, ConfigError) as fault:
            raise LoginFailed(f"Could not reach {_place(url)} for the login: {fault}") from fault
        moved = response.headers.get("location") if 300 <= response.status < 400 else None
        nonce = response.headers.get("dpop-nonce", "")[:_LONGEST_NONCE]
        return Reply(response.status, _decoded(data), nonce), moved if method == "GET" else None


def require_private(url: str) -> None:
    """Secrets travel over TLS, or not at all beyond this machine.

    Raises:
        LoginFailed: this address is neither https nor on this machine.
    """
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise LoginFailed(f"{url[:200]!r} is not a valid URL.") from error
    if parts.scheme == "https" or (parts.scheme == "http" and (parts.hostname or "") in _LOCAL):
        return
    raise LoginFailed(f"Refused to log in at {url[:200]}: it does not use https.")


def redacted(text: str) -> str:
    """A text without the values that must not be seen."""
    names = "access_token|refresh_token|id_token|assertion|subject_token|client_secret|code_verifier|code"
    hidden = re.sub(rf'("(?:{names})"\s*:\s*)"[^"]*"', r'\1"[REDACTED]"', text)
    return re.sub(rf"\b({names})=[^&\s\"']+", r"\1=[REDACTED]", hidden)


def _wants_nonce(reply: Reply) -> bool:
    return isinstance(reply.body, dict) and reply.body.get("error") == "use_dpop_nonce"


def _accepted(url: str, reply: Reply) -> dict[str, Any]:
    body = reply.body if isinstance(reply.body, dict) else None
    error = body.get("error") if body is not None else None
    # Some servers send their errors with a status that says success.
    if error is not None or not 200 <= reply.status < 300:
        raise _refusal(url, reply.status, body or {})
    if body is None and reply.status != 204:
        # Revocation has no body worth the name; a caller that needs one checks for it.
        return {}
    return body or {}


def _refusal(url: str, status: int, body: Mapping[str, Any]) -> OAuthRefused:
    error, why = body.get("error"), body.get("error_description")
    named = error if isinstance(error, str) else "invalid_request" if error is not None else ""
    named = "invalid_grant" if named in _ALIASES else named
    said = ": ".join(part for part in (named, why if isinstance(why, str) else "") if part)
    reason = redacted(said)[:500] or f"status {status}"
    status = 400 if 200 <= status < 300 else status
    return OAuthRefused(f"{_place(url)} denied the request: {reason}.", error=named, status=status)


def _decoded(data: bytes) -> Any:
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError):
        return None


def _place(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"[:200]
