"""Keys that sign tokens (JWS): those of registered clients, and those that access is bound to."""

import hashlib
import os
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from bridle.host.files import read_bytes
from bridle.mcp.auth.errors import LoginFailed

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes

_LARGEST = 64 * 1024
_CURVES = {"secp256r1": ("P-256", "ES256", 32), "secp384r1": ("P-384", "ES384", 48)}


class SigningKey:
    """A private key and the algorithm that it signs with."""

    def __init__(self, key: "PrivateKeyTypes", algorithm: str) -> None:
        self._key = key
        self.algorithm = algorithm

    @classmethod
    def new(cls) -> "SigningKey":
        """A fresh key for ES256.

        Raises:
            LoginFailed: the package for keys is not installed.
        """
        _require()
        from cryptography.hazmat.primitives.asymmetric import ec

        return cls(ec.generate_private_key(ec.SECP256R1()), "ES256")

    @classmethod
    def read(cls, pem: str) -> "SigningKey":
        """The key in a PEM text without a password.

        Raises:
            LoginFailed: there is none that can sign, or the package for keys is not installed.
        """
        _require()
        from cryptography.exceptions import UnsupportedAlgorithm
        from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
        from cryptography.hazmat.primitives.serialization import load_pem_private_key

        try:
            key = load_pem_private_key(pem.encode(), password=None)
        except (ValueError, TypeError, UnsupportedAlgorithm) as error:
            raise LoginFailed(
                f"The private key cannot be read: {error}. It must be PEM (PKCS#8) without a password."
            ) from error
        match key:
            case ec.EllipticCurvePrivateKey() if key.curve.name in _CURVES:
                return cls(key, _CURVES[key.curve.name][1])
            case rsa.RSAPrivateKey():
                return cls(key, "RS256")
            case ed25519.Ed25519PrivateKey():
                return cls(key, "EdDSA")
            case _:
                raise LoginFailed("The private key must be RSA, P-256, P-384 or Ed25519.")

    def pem(self) -> str:
        """The key as text, for a place that only the user can read."""
        from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

        return self._key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()

    def public(self) -> dict[str, str]:
        """The public half as a JSON Web Key; only keys on curves are shown to servers."""
        from cryptography.hazmat.primitives.asymmetric import ec

        assert isinstance(self._key, ec.EllipticCurvePrivateKey)
        name, _, size = _CURVES[self._key.curve.name]
        point = self._key.public_key().public_numbers()
        return {
            "crv": name,
            "kty": "EC",
            "x": _text(point.x.to_bytes(size, "big")),
            "y": _text(point.y.to_bytes(size, "big")),
        }

    def sign(self, claims: Mapping[str, Any], **header: Any) -> str:
        """A signed token with these claims."""
        head = {"alg": self.algorithm, **header}
        parts = (_text(msgspec.json.encode(head)), _text(msgspec.json.encode(claims)))
        body = ".".join(parts)
        return f"{body}.{_text(self._signature(body.encode()))}"

    def _signature(self, data: bytes) -> bytes:
        from cryptography.hazmat.primitives import hashes
        from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
        from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

        match self._key:
            case ec.EllipticCurvePrivateKey() as key:
                size = _CURVES[key.curve.name][2]
                wide = hashes.SHA384() if size > 32 else hashes.SHA256()
                one, other = decode_dss_signature(key.sign(data, ec.ECDSA(wide)))
                return one.to_bytes(size, "big") + other.to_bytes(size, "big")
            case rsa.RSAPrivateKey() as key:
                return key.sign(data, padding.PKCS1v15(), hashes.SHA256())
            case ed25519.Ed25519PrivateKey() as key:
                return key.sign(data)
            case _:
                raise AssertionError("no key of another kind is read")


def read_key_file(path: str) -> str:
    """The text of a key file.

    Raises:
        LoginFailed: it cannot be read.
    """
    place = os.path.expanduser(path)
    try:
        return read_bytes(place, _LARGEST).decode("utf-8", "replace")
    except OSError as error:
        raise LoginFailed(f"{place} cannot be read: {error.strerror or error}.") from error


def digest_of(text: str) -> str:
    """The SHA-256 of a text, as tokens carry it."""
    return _text(hashlib.sha256(text.encode()).digest())


def can_sign() -> bool:
    """Whether the package for keys is installed."""
    from importlib.util import find_spec

    return find_spec("cryptography") is not None


def _require() -> None:
    if not can_sign():
        raise LoginFailed("Signed logins need a package that is not installed: pip install 'bridle[tls]'.")


def _text(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()
