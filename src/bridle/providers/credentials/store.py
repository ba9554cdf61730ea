"""Keeps the keys that users give to `bridle auth login`: in the system's keyring, else in a private file."""

import os
from collections.abc import Callable, Mapping
from typing import Any, Literal

import msgspec
from msgspec import Struct

from bridle.config.edit import update
from bridle.host.files import read_bytes
from bridle.host.paths import credentials_file
from bridle.types.errors import ConfigError

Where = Literal["keyring", "file"]

_LARGEST = 1024 * 1024
_SERVICE = "bridle"
_PRIVATE = 0o600


class SavedKey(Struct, frozen=True, rename="camel"):
    """What the file says of one vendor."""

    where: Where = "file"
    key: str = ""
    """Empty where the keyring has it."""
    address: str = ""
    """The service that it was given for; no other is shown it."""
    saved_at: str = ""
    way: Literal["key", "oauth"] = "key"


class _File(Struct, frozen=True):
    keys: dict[str, SavedKey] = {}


class Credentials:
    """One key for each vendor. Calls block."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self._env = env
        self.path = credentials_file(env)

    def vendors(self) -> dict[str, SavedKey]:
        """Who has a key.

        Raises:
            ConfigError: the file cannot be read.
        """
        try:
            return msgspec.json.decode(read_bytes(self.path, _LARGEST), type=_File).keys
        except FileNotFoundError:
            return {}
        except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
            raise ConfigError(f"Could not read {self.path} ({error}). Fix or remove it.") from error

    def key(self, vendor: str, address: str) -> str:
        """The key of a vendor for the service at `address`, empty when none is kept.

        Raises:
            ConfigError: the file or the keyring cannot be read.
        """
        kept = self.vendors().get(vendor)
        if kept is None or kept.address != address:
            return ""
        if kept.where == "file":
            return kept.key
        import keyring
        from keyring.errors import KeyringError

        try:
            return keyring.get_password(_SERVICE, vendor) or ""
        except KeyringError as error:
            raise ConfigError(
                f"Could not read the {vendor} key from the keyring: {error}. Unlock the keyring."
            ) from error

    def save(
        self, vendor: str, key: str, *, address: str, now: str, way: Literal["key", "oauth"] = "key"
    ) -> Where:
        """Keep a key for the service at `address`, in the keyring where there is one; says where it went.

        Raises:
            ConfigError: it cannot be written.
        """
        where: Where = "keyring" if self._put_into_keyring(vendor, key) else "file"
        kept: dict[str, Any] = {"where": where, "address": address, "savedAt": now, "way": way}
        if where == "file":
            kept["key"] = key
        self._change(lambda keys: {**keys, vendor: kept})
        return where

    def forget(self, vendor: str) -> bool:
        """Remove a key; whether there was one.

        Raises:
            ConfigError: it cannot be removed.
        """
        kept = self.vendors().get(vendor)
        if kept is None:
            return False
        if kept.where == "keyring":
            import keyring
            from keyring.errors import KeyringError, PasswordDeleteError

            try:
                keyring.delete_password(_SERVICE, vendor)
            except PasswordDeleteError:
                pass  # It was removed there already.
            except KeyringError as error:
                raise ConfigError(
                    f"Could not remove the {vendor} key from the keyring: {error}. Unlock the keyring."
                ) from error
        self._change(lambda keys: {name: value for name, value in keys.items() if name != vendor})
        return True

    def _put_into_keyring(self, vendor: str, key: str) -> bool:
        wanted = self._env.get("BRIDLE_CREDENTIALS", "").strip().lower()
        if wanted == "file":
            return False
        import keyring
        from keyring.core import recommended
        from keyring.errors import KeyringError

        if wanted != "keyring" and not recommended(keyring.get_keyring()):
            return False
        try:
            keyring.set_password(_SERVICE, vendor, key)
            if keyring.get_password(_SERVICE, vendor) != key:
                raise KeyringError("it does not save values")
        except KeyringError as error:
            if wanted != "keyring":
                return False
            raise ConfigError(
                f"Could not save the key in the keyring: {error}. Set BRIDLE_CREDENTIALS=file to use a file."
            ) from error
        return True

    def _change(self, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
        try:
            update(
                self.path, lambda values: {**values, "keys": change(values.get("keys") or {})}, mode=_PRIVATE
            )
            os.chmod(self.path, _PRIVATE)
        except OSError as error:
            raise ConfigError(f"Could not write {self.path} ({error.strerror}). Check its folder.") from error
