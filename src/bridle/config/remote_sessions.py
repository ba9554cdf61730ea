"""Sessions on other machines that the user has named, each with the key that lets messages in."""

import os.path
import re
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from bridle.config.edit import update
from bridle.host.files import read_bytes
from bridle.host.paths import bridle_dir
from bridle.types.errors import ConfigError

_LARGEST = 1_000_000
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_TAKEN = ("main", "lead", "leader", "team-lead", "coordinator")
"""Names of agents of the session itself."""


class Remote(Struct, frozen=True):
    """A session that is reached over the network."""

    address: str
    """Without the key, ending in a slash."""
    token: str
    """Lets messages in and nothing else."""


class Remotes:
    """The file in which they are kept, readable for the user alone."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self.path = os.path.join(bridle_dir(env), "remotes.json")

    def all(self) -> dict[str, Remote]:
        """Every session by its name; what cannot be read names none."""
        try:
            values = msgspec.json.decode(read_bytes(self.path, _LARGEST), type=dict[str, Any])
        except (OSError, msgspec.MsgspecError):
            return {}
        found: dict[str, Remote] = {}
        for name, value in values.items():
            try:
                found[name] = msgspec.convert(value, Remote)
            except msgspec.ValidationError:
                continue  # Something of a newer release.
        return found

    def find(self, name: str) -> Remote | None:
        return self.all().get(name) if _NAME.fullmatch(name) is not None else None

    def named_at(self, address: str) -> str | None:
        """The name of the session at an address."""
        return next((name for name, each in self.all().items() if each.address == address), None)

    def add(self, name: str, remote: Remote) -> None:
        """Name a session, in place of an earlier one of the same name.

        Raises:
            ConfigError: the name cannot be used, or the file cannot be written.
        """
        if _NAME.fullmatch(name) is None or name in _TAKEN:
            raise ConfigError(
                f"Invalid session name {name!r}: use letters, digits, dots and dashes, and not the name "
                "of an agent such as main."
            )
        self._change(lambda values: {**values, name: msgspec.to_builtins(remote)})
        # An older file may be open to others.
        os.chmod(self.path, 0o600)

    def remove(self, name: str) -> bool:
        """Forget a session; False when there is none of this name."""
        if name not in self.all():
            return False
        self._change(lambda values: {key: value for key, value in values.items() if key != name})
        return True

    def _change(self, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
        try:
            update(self.path, change, mode=0o600)
        except OSError as error:
            raise ConfigError(f"Could not write {self.path}: {error.strerror}.") from error
