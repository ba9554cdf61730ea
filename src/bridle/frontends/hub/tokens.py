"""Keys of devices and machines, one-time codes, and signed tokens of sessions."""

import hmac
import re
import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from hashlib import sha256
from typing import Literal

import msgspec
from msgspec import Struct

Kind = Literal["dev", "mch", "env"]
"""A device, a machine, or an environment of a machine."""

_HEADER = {"alg": "HS256", "typ": "JWT"}
_CODE_LETTERS = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ"
"""Without letters that look like digits."""
_CODE_LENGTH = 10
"""Characters of 32 kinds: 50 bits, for ten minutes and few tries."""
_ID = re.compile(r"[A-Za-z0-9_-]{1,80}")


class Claims(Struct, frozen=True):
    """What a session token says."""

    session_id: str
    exp: int
    """Unix seconds after which it is not valid."""
    epoch: int = 0
    """The registration of the worker that it was made for; 0 for any."""


def new_id(prefix: str) -> str:
    """A name that can stand in a path."""
    return f"{prefix}_{secrets.token_hex(12)}"


def new_key(kind: Kind) -> str:
    """A random key of 256 bits that says what it opens."""
    return f"{kind}_{secrets.token_urlsafe(32)}"


def new_code() -> str:
    """A code that a person can type."""
    code = "".join(secrets.choice(_CODE_LETTERS) for _ in range(_CODE_LENGTH))
    return f"{code[:5]}-{code[5:]}"


def read_code(text: str) -> str:
    """A typed code in the form in which it was made."""
    plain = re.sub(r"[\s-]", "", text).upper()
    return f"{plain[:5]}-{plain[5:]}"


def digest_of(key: str) -> str:
    """What is stored of a key: it cannot be turned back, and a key of 256 bits cannot be guessed."""
    return sha256(key.encode()).hexdigest()


def is_safe_id(text: str) -> bool:
    """Whether a name can stand in a path and leads nowhere else."""
    return _ID.fullmatch(text) is not None


def sign(claims: Claims, secret: bytes) -> str:
    """A JSON web token."""
    head, body = _encoded(_HEADER), _encoded(claims)
    return f"{head}.{body}.{_signature(f'{head}.{body}', secret)}"


def verify(token: str, secret: bytes, *, now: float) -> Claims | None:
    """What a token says; None if it is not ours or not valid any more."""
    signed, _, signature = token.rpartition(".")
    head, _, body = signed.partition(".")
    if not hmac.compare_digest(signature.encode(), _signature(signed, secret).encode()):
        return None
    try:
        if msgspec.json.decode(_decoded(head)) != _HEADER:
            return None
        claims = msgspec.json.decode(_decoded(body), type=Claims)
    except (ValueError, msgspec.MsgspecError):
        return None
    return claims if claims.exp > now else None


def _signature(text: str, secret: bytes) -> str:
    return _text(hmac.new(secret, text.encode(), sha256).digest())


def _encoded(value: object) -> str:
    return _text(msgspec.json.encode(value))


def _text(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def _decoded(text: str) -> bytes:
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))
