"""Proof that the client that asked for a code exchanges it (RFC 7636), and states that cannot be guessed."""

import os
from base64 import urlsafe_b64encode

from bridle.mcp.auth.errors import LoginFailed
from bridle.mcp.auth.metadata import ServerMetadata


def new_secret() -> str:
    """A text of 43 characters that no one can guess."""
    return urlsafe_b64encode(os.urandom(32)).rstrip(b"=").decode()


def challenge_of(verifier: str) -> str:
    """What may be shown of a verifier: its S256 digest."""
    import hashlib

    return urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()


def require_s256(server: ServerMetadata) -> None:
    """Raises LoginFailed when the server says that it does without S256."""
    methods = server.code_challenge_methods_supported
    if methods is not None and "S256" not in methods:
        raise LoginFailed(f"Refused to log in: {server.issuer} does not support PKCE with S256.")
