"""The TLS settings that the environment asks for."""

import os
import ssl
from collections.abc import Mapping

from bridle.types.errors import ConfigError

_HASHED_ROOTS = "/etc/ssl/certs"


def client_context(env: Mapping[str, str]) -> ssl.SSLContext:
    """Roots, extra roots and client certificate for outgoing connections.

    Raises:
        ConfigError: a file that a variable names cannot be used.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.set_alpn_protocols(["http/1.1"])
    _load_roots(context, env)
    if extra := env.get("NODE_EXTRA_CA_CERTS"):
        _load(context, "NODE_EXTRA_CA_CERTS", extra)
    if certificate := env.get("CLAUDE_CODE_CLIENT_CERT"):
        _load_client_certificate(context, certificate, env)
    return context


def _load_roots(context: ssl.SSLContext, env: Mapping[str, str]) -> None:
    named = [name for name in ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "SSL_CERT_DIR") if env.get(name)]
    for name in named:
        _load(context, name, env[name])
    if named:
        return
    # Looked up per handshake in a fraction of a millisecond; the bundle takes thirty to parse.
    if _is_hashed(_HASHED_ROOTS):
        context.load_verify_locations(capath=_HASHED_ROOTS)
    else:
        context.load_default_certs()


def _load(context: ssl.SSLContext, variable: str, path: str) -> None:
    try:
        if os.path.isdir(path):
            context.load_verify_locations(capath=path)
        else:
            context.load_verify_locations(cafile=path)
    except OSError as error:
        raise ConfigError(f"{variable} names {path}, which has no usable certificates: {error}.") from error


def _load_client_certificate(context: ssl.SSLContext, certificate: str, env: Mapping[str, str]) -> None:
    key = env.get("CLAUDE_CODE_CLIENT_KEY") or None
    # Without a password OpenSSL would ask for one on the terminal.
    password = env.get("CLAUDE_CODE_CLIENT_KEY_PASSPHRASE", "")
    try:
        context.load_cert_chain(certificate, key, password=password)
    except OSError as error:
        raise ConfigError(
            f"Can't use the client certificate {certificate} ({error}): check CLAUDE_CODE_CLIENT_CERT, "
            "CLAUDE_CODE_CLIENT_KEY and CLAUDE_CODE_CLIENT_KEY_PASSPHRASE."
        ) from error


def _is_hashed(directory: str) -> bool:
    try:
        with os.scandir(directory) as entries:
            return any(len(entry.name) == 10 and entry.name.endswith(".0") for entry in entries)
    except OSError:
        return False
