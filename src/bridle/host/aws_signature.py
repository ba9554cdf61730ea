"""Amazon's Signature Version 4: proves who sends a request without sending the secret."""

import hmac
from collections.abc import Iterable
from hashlib import sha256
from urllib.parse import quote

from msgspec import Struct

ALGORITHM = "AWS4-HMAC-SHA256"


class AwsCredentials(Struct, frozen=True):
    access_key: str
    secret_key: str
    session_token: str | None = None


class Scope(Struct, frozen=True):
    """When, where and for what a signature holds; `moment` is like 20150830T123600Z."""

    moment: str
    region: str
    service: str

    @property
    def text(self) -> str:
        return f"{self.moment[:8]}/{self.region}/{self.service}/aws4_request"

    @property
    def encodes_paths(self) -> bool:
        """Whether a path is encoded once more before it is signed, as everywhere but in S3."""
        return not self.service.startswith("s3")


def authorization(
    method: str,
    target: str,
    headers: Iterable[tuple[str, str]],
    body: bytes,
    *,
    credentials: AwsCredentials,
    scope: Scope,
    digest: str | None = None,
) -> str:
    """The `Authorization` header for a request that has all its other headers; `target` is as it is sent.

    `digest` stands for the body where the request itself says what it is, or that it is not signed.
    """
    named = _canonical_headers(headers)
    signed = ";".join(named)
    path, _, query = target.partition("?")
    lines = [
        method,
        quote(path or "/", safe="/-_.~") if scope.encodes_paths else path or "/",
        _canonical_query(query),
        *(f"{name}:{value}" for name, value in named.items()),
        "",
        signed,
        digest or sha256(body).hexdigest(),
    ]
    request = sha256("\n".join(lines).encode()).hexdigest()
    text = "\n".join((ALGORITHM, scope.moment, scope.text, request))
    signature = hmac.new(_key(credentials.secret_key, scope), text.encode(), sha256).hexdigest()
    return (
        f"{ALGORITHM} Credential={credentials.access_key}/{scope.text}, "
        f"SignedHeaders={signed}, Signature={signature}"
    )


def _canonical_headers(headers: Iterable[tuple[str, str]]) -> dict[str, str]:
    gathered: dict[str, list[str]] = {}
    for name, value in headers:
        gathered.setdefault(name.lower(), []).append(" ".join(value.split()))
    return {name: ",".join(gathered[name]) for name in sorted(gathered)}


def _canonical_query(query: str) -> str:
    pairs = sorted(tuple(pair.partition("=")[::2]) for pair in query.split("&") if pair)
    return "&".join(f"{name}={value}" for name, value in pairs)


def _key(secret: str, scope: Scope) -> bytes:
    key = f"AWS4{secret}".encode()
    for part in scope.text.split("/"):
        key = hmac.new(key, part.encode(), sha256).digest()
    return key
