"""Where the chains of a user are, and the key that signs them."""

import os
import stat
from collections.abc import Mapping

from bridle.features.audit.records import Key
from bridle.host.files import make_folders, write_new
from bridle.host.paths import bridle_dir
from bridle.types.errors import ConfigError

_SIZE = 32
_SERVICE = "bridle-audit"


def audit_folder(env: Mapping[str, str]) -> str:
    return os.path.join(bridle_dir(env), "audit")


def chain_file(env: Mapping[str, str], session_id: str) -> str:
    return os.path.join(audit_folder(env), f"{session_id}.jsonl")


def head_file(chain: str) -> str:
    return f"{chain.removesuffix('.jsonl')}.head"


def key_file(env: Mapping[str, str]) -> str:
    return os.path.join(audit_folder(env), "key")


def load_key(env: Mapping[str, str], *, keyring: bool = False, create: bool = False) -> Key:
    """The key of this user, made at its first use if `create` says so.

    Raises:
        ConfigError: there is none, or it cannot be used.
        OSError: the file cannot be read or written.
    """
    return _from_keyring(env, create) if keyring else _from_file(env, create)


def _from_file(env: Mapping[str, str], create: bool) -> Key:
    path = key_file(env)
    if create and not os.path.lexists(path):
        make_folders(os.path.dirname(path), private=True)
        _place(path)
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        raise ConfigError(f"No audit key at {path}.") from None
    try:
        status = os.fstat(descriptor)
        text = os.read(descriptor, 200)
    finally:
        os.close(descriptor)
    if not stat.S_ISREG(status.st_mode) or status.st_mode & 0o077 or status.st_uid != os.getuid():
        raise ConfigError(f"Other users can read the audit key. Run: chmod 600 {path}")
    return _parsed(text.decode("ascii", "replace"), path)


def _place(path: str) -> None:
    """Put a new key there; the first of several processes wins, and no one sees half a key."""
    temporary = f"{path}.{os.urandom(8).hex()}"
    write_new(temporary, f"{os.urandom(_SIZE).hex()}\n".encode())
    try:
        os.link(temporary, path)
    except FileExistsError:
        pass  # Another process was faster.
    finally:
        os.unlink(temporary)


def _from_keyring(env: Mapping[str, str], create: bool) -> Key:
    import keyring
    from keyring.errors import KeyringError

    name = audit_folder(env)
    try:
        kept = keyring.get_password(_SERVICE, name)
        if kept is None and create:
            keyring.set_password(_SERVICE, name, os.urandom(_SIZE).hex())
            kept = keyring.get_password(_SERVICE, name)
    except KeyringError as error:
        raise ConfigError(
            f"Can't read the audit key from the keyring: {error}. Unlock the keyring."
        ) from error
    if kept is None:
        raise ConfigError("The keyring has no audit key.")
    return _parsed(kept, "the keyring")


def _parsed(text: str, where: str) -> Key:
    try:
        secret = bytes.fromhex(text.strip())
    except ValueError:
        secret = b""
    if len(secret) != _SIZE:
        raise ConfigError(f"The audit key in {where} is damaged: restore it from a backup.")
    return Key(secret)
