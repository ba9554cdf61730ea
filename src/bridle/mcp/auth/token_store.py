"""Where logins are kept: the system keyring, or a file that only the user can read."""

import os
import os.path
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import msgspec

from bridle.config.edit import update
from bridle.config.validate import parse
from bridle.host.files import read_bytes
from bridle.host.lock import FileLock, Locked
from bridle.host.paths import bridle_dir, config_home
from bridle.mcp.auth.errors import LoginFailed
from bridle.types.errors import ConfigError

_LARGEST = 16 * 1024 * 1024
_SERVICE = "Claude Code-credentials"

Change = Callable[[dict[str, Any]], dict[str, Any]]


class TokenStore(Protocol):
    """One JSON object with everything secret; keys that we do not know stay as they are. Calls block."""

    def read(self) -> dict[str, Any]:
        """What is kept; empty when nothing is or it cannot be read."""
        ...

    def change(self, change: Change) -> None:
        """Replace what is kept by what `change` makes of it.

        Raises:
            LoginFailed: it cannot be written.
        """
        ...


def open_vault(env: Mapping[str, str], platform: str) -> TokenStore:
    """The keyring on macOS or where BRIDLE_CREDENTIALS asks for it, else the file."""
    wanted = env.get("BRIDLE_CREDENTIALS", "").strip().lower()
    uses_keyring = wanted == "keyring" or (wanted != "file" and platform == "darwin")
    return (
        KeyringTokenStore(env)
        if uses_keyring
        else FileTokenStore(os.path.join(config_home(env), ".credentials.json"))
    )


class FileTokenStore:
    """A JSON file of mode 0600."""

    def __init__(self, path: str) -> None:
        self.path = path

    def read(self) -> dict[str, Any]:
        try:
            values, _, problem = parse(read_bytes(self.path, _LARGEST), file=self.path)
        except OSError:
            return {}
        return {} if problem is not None else values

    def change(self, change: Change) -> None:
        try:
            update(self.path, change, mode=0o600)
            os.chmod(self.path, 0o600)
        except (ConfigError, OSError) as error:
            raise LoginFailed(f"Could not save the login: {error}") from error


class KeyringTokenStore:
    """One entry of the system keyring."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self._env = env
        self._user = env.get("USER") or env.get("LOGNAME") or "bridle"

    def read(self) -> dict[str, Any]:
        import keyring
        from keyring.errors import KeyringError

        try:
            text = keyring.get_password(_SERVICE, self._user)
            return msgspec.json.decode(text, type=dict[str, Any]) if text else {}
        except (KeyringError, msgspec.DecodeError):
            return {}

    def change(self, change: Change) -> None:
        import keyring
        from keyring.errors import KeyringError

        folder = bridle_dir(self._env)
        try:
            os.makedirs(folder, mode=0o700, exist_ok=True)
            with FileLock(os.path.join(folder, "keyring.lock")):
                changed = change(self.read())
                keyring.set_password(_SERVICE, self._user, msgspec.json.encode(changed).decode())
        except (KeyringError, OSError, Locked) as error:
            raise LoginFailed(
                f"Could not save the login in the keyring: {error}. Set BRIDLE_CREDENTIALS=file to use "
                "a file."
            ) from error
