"""Proofs that a token is shown by the one whose key it is bound to (DPoP, RFC 9449)."""

import time
import uuid
from collections.abc import Callable
from urllib.parse import urlsplit

from bridle.mcp.auth.metadata import ServerMetadata
from bridle.mcp.auth.signing import SigningKey, can_sign, digest_of

SCHEME = "DPoP"


class Prover:
    """Signs a proof for each request; a server may want its newest nonce in it."""

    def __init__(self, key: SigningKey, *, clock: Callable[[], float] = time.time) -> None:
        self.key = key
        self._clock = clock
        self._nonces: dict[str, str] = {}

    def proof(self, method: str, url: str, token: str | None = None) -> str:
        """The proof for one request, and for the token that it carries."""
        parts = urlsplit(url)
        claims = {
            "jti": str(uuid.uuid4()),
            "htm": method,
            "htu": f"{parts.scheme}://{parts.netloc}{parts.path}",
            "iat": int(self._clock()),
        }
        if token is not None:
            claims["ath"] = digest_of(token)
        if (nonce := self._nonces.get(_origin(url))) is not None:
            claims["nonce"] = nonce
        return self.key.sign(claims, typ="dpop+jwt", jwk=self.key.public())

    def note_nonce(self, url: str, nonce: str) -> None:
        """The server of `url` wants this nonce in the next proofs."""
        self._nonces[_origin(url)] = nonce


def wants_proofs(server: ServerMetadata, *, chosen: bool | None) -> bool:
    """Whether tokens are to be bound to a key: as the user says, else where the server can do it."""
    if chosen is not None:
        return chosen
    return "ES256" in (server.dpop_signing_alg_values_supported or ()) and can_sign()


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"
