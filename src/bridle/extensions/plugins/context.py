"""What changing plugins needs of the program around it."""

import os
import os.path
from collections.abc import Callable, Mapping
from datetime import UTC, datetime

from msgspec import Struct

from bridle.config.schema import Settings
from bridle.extensions.plugins.names import Scope, plugins_dir
from bridle.extensions.plugins.sources import Source
from bridle.host.paths import config_home
from bridle.types.errors import UsageError


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class PluginContext(Struct, frozen=True, kw_only=True):
    env: Mapping[str, str]
    cwd: str
    settings: Settings
    enabled_by_management: Mapping[str, bool] = {}
    """The switches that only the administrator can turn."""
    now: Callable[[], str] = _now
    may_run: Callable[[Source], bool] = lambda _: False
    """Whether the user lets a command be run that makes a plugin; asked before anything else happens."""
    reached: Callable[[str], None] = lambda _: None
    """Called after every step that changes something on disk."""

    def settings_file(self, scope: Scope) -> str:
        """Where the switches of a scope stand.

        Raises:
            UsageError: the scope is the administrator's.
        """
        match scope:
            case "user":
                return os.path.join(config_home(self.env), "settings.json")
            case "project":
                return os.path.join(self.cwd, ".claude", "settings.json")
            case "local":
                return os.path.join(self.cwd, ".claude", "settings.local.json")
            case "managed":
                raise UsageError("only your organization can change its settings")

    def check_command(self, source: Source) -> None:
        """Nothing, unless a source is a command and the user does not let it run.

        Raises:
            UsageError: it is, and they do not.
        """
        if source.kind == "command" and not self.may_run(source):
            raise UsageError(f"the command {' '.join(source.words)!r} was not run")

    def staging(self) -> str:
        """A new name for a folder that nothing refers to yet, on the file system of the plugins."""
        folder = os.path.join(plugins_dir(self.env), ".staging")
        os.makedirs(folder, exist_ok=True)
        return os.path.join(folder, os.urandom(8).hex())


def clear_staging(env: Mapping[str, str]) -> None:
    """Remove what earlier runs left behind; called with the lock held, so that no other process uses it."""
    remove_tree(os.path.join(plugins_dir(env), ".staging"))


def remove_tree(folder: str) -> None:
    """Remove a folder with all that is in it; what cannot be removed stays and does no harm."""
    import shutil

    shutil.rmtree(folder, ignore_errors=True)
