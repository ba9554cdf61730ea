"""Puts real values in the place of placeholders, in the form that each part of a request needs."""

import base64
import binascii
from collections.abc import Callable, Sequence
from urllib.parse import quote, quote_plus

from msgspec import json
from msgspec.structs import replace

from bridle.host.sandbox.http_request import Head
from bridle.host.sandbox.masking.credentials import Secret


def inject_head(head: Head, secrets: Sequence[Secret]) -> Head:
    """The head with real values; a value that would break a header out of its line stays out."""
    plain = [secret for secret in secrets if _fits_header(secret.value)]
    return replace(
        head,
        target=_replaced(head.target, secrets, lambda value: quote(value, safe="")),
        headers=tuple((name, _header(name, value, plain)) for name, value in head.headers),
    )


def inject_body(body: bytes, secrets: Sequence[Secret], kind: str) -> bytes:
    """The body with real values, written as its content type wants it."""
    if not any(secret.placeholder.encode() in body for secret in secrets):
        return body
    if "urlencoded" in kind:
        write: Callable[[str], str] = quote_plus
    elif "json" in kind:
        write = _in_json
    else:
        write = str
    for secret in secrets:
        body = body.replace(secret.placeholder.encode(), write(secret.value).encode())
    return body


def overlap(secrets: Sequence[Secret]) -> int:
    """How many bytes at the end of a piece may be the beginning of a placeholder."""
    return max((len(secret.placeholder) for secret in secrets), default=1) - 1


def _header(name: str, value: str, secrets: Sequence[Secret]) -> str:
    scheme, _, rest = value.partition(" ")
    if name.lower() != "authorization" or scheme.lower() != "basic":
        return _replaced(value, secrets, str)
    try:
        known = base64.b64decode(rest.strip(), validate=True).decode()
    except (binascii.Error, ValueError):
        return value
    changed = _replaced(known, secrets, str)
    return value if changed == known else f"{scheme} {base64.b64encode(changed.encode()).decode()}"


def _replaced(text: str, secrets: Sequence[Secret], write: Callable[[str], str]) -> str:
    for secret in secrets:
        if secret.placeholder in text:
            text = text.replace(secret.placeholder, write(secret.value))
    return text


def _in_json(value: str) -> str:
    return json.encode(value).decode()[1:-1]


def _fits_header(value: str) -> bool:
    return all(" " <= character != "\x7f" and character <= "\xff" for character in value)
