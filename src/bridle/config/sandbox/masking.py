"""Sets up what masks credentials in a session: placeholders, copies of files, a proxy that looks inside."""

import os.path
from collections.abc import Callable, Iterator, Mapping

from msgspec import Struct

from bridle.config.sandbox.schema import TlsTerminate
from bridle.host.sandbox.authority import Authority, load_authority, make_authority, write_roots
from bridle.host.sandbox.interception import Interceptor
from bridle.host.sandbox.masking.copies import Copies
from bridle.host.sandbox.masking.credentials import CredentialStore
from bridle.host.sandbox.masking.settings import Mask, MaskingSettings
from bridle.host.sandbox.private_dir import PrivateDir
from bridle.types.errors import ConfigError


class Masking(Struct, frozen=True, kw_only=True):
    vault: CredentialStore
    copies: Copies
    interceptor: Interceptor | None
    roots_file: str | None
    """The certificates that commands are to believe."""


def set_up_masking(
    wishes: MaskingSettings,
    tls: TlsTerminate | None,
    *,
    private: PrivateDir,
    env: Mapping[str, str],
    warn: Callable[[str], None],
) -> Masking:
    """Everything that a session needs for its masks.

    Raises:
        ConfigError: a mask does not fit what it is for and its settings call that an error.
    """
    vault = CredentialStore(wishes.variables, wishes.pairs)
    copies = Copies(wishes.files, vault, private.folder)
    for name, mask in _misfits(wishes, vault, copies, env):
        _complain(name, mask, warn)
    authority = None if tls is None else _authority(tls, warn)
    roots_file = None
    if authority is not None:
        roots_file = os.path.join(private.folder, "roots.pem")
        write_roots(authority, roots_file, env)
    interceptor = None
    if authority is not None or wishes.plaintext:
        interceptor = Interceptor(
            vault, authority=authority, signing=wishes.signing, plaintext=wishes.plaintext, env=env
        )
    return Masking(vault=vault, copies=copies, interceptor=interceptor, roots_file=roots_file)


def _authority(tls: TlsTerminate, warn: Callable[[str], None]) -> Authority | None:
    """The authority that the settings ask for; without one, nothing is put in and nothing leaks."""
    try:
        if tls.ca_cert_path is None and tls.ca_key_path is None:
            return make_authority()
        if tls.ca_cert_path is None or tls.ca_key_path is None:
            raise ConfigError("sandbox.network.tlsTerminate needs both caCertPath and caKeyPath, or neither.")
        return load_authority(os.path.expanduser(tls.ca_cert_path), os.path.expanduser(tls.ca_key_path))
    except ConfigError as error:
        warn(f"{error} Until then requests do not get masked values.")
        return None


def _misfits(
    wishes: MaskingSettings, vault: CredentialStore, copies: Copies, env: Mapping[str, str]
) -> Iterator[tuple[str, Mask]]:
    for variable in wishes.variables:
        if vault.finds_nothing_in(variable, env):
            yield variable.name, variable.mask
    for file in wishes.files:
        if copies.finds_nothing_in(file):
            yield file.path, file.mask


def _complain(name: str, mask: Mask, warn: Callable[[str], None]) -> None:
    found = f"sandbox.credentials: nothing to mask in {name}"
    match mask.no_match:
        case "error":
            raise ConfigError(f"{found}; fix its mask")
        case "deny":
            warn(f"{found}; it is hidden")
        case "warn":
            warn(f"{found}; commands see it unmasked")
