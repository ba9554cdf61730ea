"""A certificate authority for one session, so that the proxy can look into encrypted requests of commands."""

import ipaddress
import os
import os.path
import ssl
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from bridle.host.files import write_new
from bridle.types.errors import ConfigError

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric.types import CertificateIssuerPrivateKeyTypes

_LASTS = timedelta(days=30)
_EARLIER = timedelta(days=1)
"""Clocks differ."""
_MOST_HOSTS = 500
_LONGEST_NAME = 64
_ROOTS = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
)
_NAMED_ROOTS = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS")
VARIABLES = (
    "SSL_CERT_FILE", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "GIT_SSL_CAINFO",
    "AWS_CA_BUNDLE", "CARGO_HTTP_CAINFO", "PIP_CERT", "DENO_CERT", "NIX_SSL_CERT_FILE",
)  # fmt: skip
"""Where programs look for the authorities that they believe."""


class Authority:
    """Signs certificates for the hosts that commands reach, with a key that never touches the disk."""

    def __init__(self, certificate: "x509.Certificate", key: "CertificateIssuerPrivateKeyTypes") -> None:
        from cryptography.hazmat.primitives.asymmetric import ec

        self._certificate = certificate
        self._key = key
        self._own_key = ec.generate_private_key(ec.SECP256R1())
        self._contexts: dict[str, ssl.SSLContext] = {}

    @property
    def pem(self) -> str:
        from cryptography.hazmat.primitives.serialization import Encoding

        return self._certificate.public_bytes(Encoding.PEM).decode()

    def context_for(self, host: str) -> ssl.SSLContext:
        """What the proxy shows to a command that wants to talk to a host."""
        if (context := self._contexts.get(host)) is None:
            if len(self._contexts) >= _MOST_HOSTS:
                self._contexts.clear()
            context = self._contexts[host] = self._make_context(host)
        return context

    def _make_context(self, host: str) -> ssl.SSLContext:
        from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

        certificate = self._certify(host).public_bytes(Encoding.PEM) + self.pem.encode()
        key = self._own_key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.set_alpn_protocols(["http/1.1"])
        with _Pipe(certificate) as shown, _Pipe(key) as hidden:
            context.load_cert_chain(shown.path, hidden.path)
        return context

    def _certify(self, host: str) -> "x509.Certificate":
        from cryptography import x509
        from cryptography.hazmat.primitives import hashes

        try:
            name: x509.GeneralName = x509.IPAddress(ipaddress.ip_address(host))
        except ValueError:
            name = x509.DNSName(host)
        public = self._own_key.public_key()
        return (
            _dated(x509.CertificateBuilder())
            .subject_name(_named(host[:_LONGEST_NAME]))
            .issuer_name(self._certificate.subject)
            .public_key(public)
            .add_extension(x509.SubjectAlternativeName([name]), critical=False)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()), critical=False
            )
            .add_extension(x509.ExtendedKeyUsage([x509.oid.ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
            .sign(self._key, hashes.SHA256())
        )


def make_authority() -> Authority:
    """A new one, whose key lives as long as this process.

    Raises:
        ConfigError: the package that makes certificates is missing.
    """
    _need_cryptography()
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = _named("bridle sandbox")
    certificate = (
        _dated(x509.CertificateBuilder())
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(
            x509.KeyUsage(
                digital_signature=False,
                content_commitment=False,
                key_encipherment=False,
                data_encipherment=False,
                key_agreement=False,
                key_cert_sign=True,
                crl_sign=True,
                encipher_only=False,
                decipher_only=False,
            ),
            critical=True,
        )
        .sign(key, hashes.SHA256())
    )
    return Authority(certificate, key)


def load_authority(certificate_path: str, key_path: str) -> Authority:
    """The user's own.

    Raises:
        ConfigError: the files cannot be used, or the package that makes certificates is missing.
    """
    _need_cryptography()
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric import ec, rsa
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        with open(certificate_path, "rb") as file:
            certificate = x509.load_pem_x509_certificate(file.read())
        with open(key_path, "rb") as file:
            key = load_pem_private_key(file.read(), password=None)
    except (OSError, ValueError, TypeError) as error:
        raise ConfigError(
            f"sandbox.network.tlsTerminate names {certificate_path} and {key_path}, "
            f"which are not usable: {error}."
        ) from error
    if not isinstance(key, ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey):
        raise ConfigError(f"sandbox.network.tlsTerminate: the key in {key_path} must be an RSA or EC key.")
    if key.public_key() != certificate.public_key():
        raise ConfigError(
            f"sandbox.network.tlsTerminate: the key in {key_path} does not match {certificate_path}."
        )
    return Authority(certificate, key)


def write_roots(authority: Authority, path: str, env: Mapping[str, str]) -> None:
    """Write a file with the authorities of this machine and ours, for commands to believe."""
    named = [env[name] for name in _NAMED_ROOTS if env.get(name)]
    usual = next((root for root in (ssl.get_default_verify_paths().cafile, *_ROOTS) if _is_file(root)), None)
    texts = [authority.pem]
    for root in (*named, *((usual,) if usual else ())):
        try:
            with open(root, encoding="utf-8", errors="replace") as file:
                texts.append(file.read())
        except OSError:
            pass  # What cannot be read here could not be read by commands either.
    write_new(path, "\n".join(texts).encode(), mode=0o644)


class _Pipe:
    """Bytes under a path that only this process can read, once: what must be a file for OpenSSL."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def __enter__(self) -> "_Pipe":
        self._reading, writing = os.pipe()
        with open(writing, "wb") as file:
            file.write(self._data)
        self.path = f"/dev/fd/{self._reading}"
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._reading)


def _need_cryptography() -> None:
    from importlib.util import find_spec

    if find_spec("cryptography") is None:
        raise ConfigError(
            "sandbox.network.tlsTerminate needs a package that is not installed: install bridle[tls]."
        )


def _dated(builder: "x509.CertificateBuilder") -> "x509.CertificateBuilder":
    from cryptography import x509

    now = datetime.now(UTC)
    return (
        builder.serial_number(x509.random_serial_number())
        .not_valid_before(now - _EARLIER)
        .not_valid_after(now + _LASTS)
    )


def _named(text: str) -> "x509.Name":
    from cryptography import x509

    return x509.Name([x509.NameAttribute(x509.oid.NameOID.COMMON_NAME, text)])


def _is_file(path: str | None) -> bool:
    return path is not None and os.path.isfile(path)
