"""JSON Web Tokens that look right and prove nothing."""

import base64
import binascii
import re
from collections.abc import Callable
from typing import Any

from msgspec import DecodeError, json

TOKEN = re.compile(r"(eyJ[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+)")
_CHECKED_BY_CLIENTS = ("iss", "aud", "exp", "nbf", "iat")


def fake_token(
    token: str, *, claims: tuple[str, ...], signature: str, cover: Callable[[str], str]
) -> str | None:
    """A token that decodes like another one, with another signature; None when that is no token.

    Named claims are covered and all others kept; without names only those that clients check are kept.
    None also when none of the named claims is there.
    """
    parts = token.split(".")
    if len(parts) != 3 or not all(parts):
        return None
    head, payload = (_read(part) for part in parts[:2])
    if head is None or payload is None or not isinstance(head.get("alg"), str):
        return None
    if claims and payload.keys().isdisjoint(claims):
        return None
    if claims:
        shown = {name: _covered(value, cover) if name in claims else value for name, value in payload.items()}
    else:
        shown = {name: value for name, value in payload.items() if name in _CHECKED_BY_CLIENTS}
    return f"{parts[0]}.{_write(json.encode(shown))}.{_write(signature.encode())}"


def _covered(value: Any, cover: Callable[[str], str]) -> str:
    return cover(value if isinstance(value, str) else json.encode(value).decode())


def _read(part: str) -> dict[str, Any] | None:
    try:
        value = json.decode(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    except (binascii.Error, ValueError, DecodeError):
        return None
    return value if isinstance(value, dict) else None


def _write(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
