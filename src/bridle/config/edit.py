"""Changes settings files without losing what others put there."""

import os
import os.path
from collections.abc import Callable, Mapping
from typing import Any

from bridle.config.json_files import rewrite
from bridle.types.errors import ConfigError

_LOCAL = "settings.local.json"
_OF_FOLDERS = ("settings.json", _LOCAL)


def set_value(
    path: str,
    key_path: tuple[str, ...],
    value: Any,
    *,
    mode: int | None = None,
    env: Mapping[str, str] | None = None,
) -> None:
    """Set one value, with the objects around it; `mode` is for a file that is new, `env` as in `update`.

    Raises:
        ConfigError: the file does not parse, or something that is not an object is in the way.
    """

    def change(values: dict[str, Any]) -> dict[str, Any]:
        first, *rest = key_path
        return {**values, first: _with(values.get(first), tuple(rest), value, key_path)}

    update(path, change, mode=mode, env=env)


def remove_value(path: str, key_path: tuple[str, ...], *, env: Mapping[str, str] | None = None) -> None:
    """Remove one value; harmless when it is not there.

    Raises:
        ConfigError: the file does not parse.
    """
    if os.path.exists(path):
        update(path, lambda values: _without(values, key_path), env=env)


def update(
    path: str,
    change: Callable[[dict[str, Any]], dict[str, Any]],
    *,
    mode: int | None = None,
    env: Mapping[str, str] | None = None,
) -> None:
    """Replace what the file says by what `change` makes of it, with every other process kept out meanwhile.

    What is added to the settings of a folder counts as approved by the user, for whom this is done; `env`
    tells where that is kept, and is that of the process unless given.

    `change` returns a new object and leaves its argument alone. A file that stays the same is not written.
    Waiting for others blocks, so an event loop calls this in a thread.

    Raises:
        ConfigError: the file does not parse, or another process keeps it locked.
        OSError: the file cannot be read or written; it is as it was before.
    """
    name, folder = os.path.basename(path), os.path.dirname(path)
    is_new = name == _LOCAL and not os.path.exists(path)
    values, changed = rewrite(path, change, mode=mode)
    if os.path.basename(folder) == ".claude" and name in _OF_FOLDERS:
        if is_new:
            _keep_out_of_commits(folder)
        # Most changes are to other files.
        from bridle.config.content_approvals import note_own_change

        note_own_change(os.environ if env is None else env, path, values, changed)


def _keep_out_of_commits(folder: str) -> None:
    """Settings for one machine are not for others: git ignores them from the start."""
    from bridle.host.git.ignored_files import exclude

    try:
        exclude(folder, f"**/.claude/{_LOCAL}")
    except OSError:
        pass  # The settings are written; a repository that cannot be written is for its owner to see.


def _with(value: Any, rest: tuple[str, ...], new: Any, key_path: tuple[str, ...]) -> Any:
    if not rest:
        return new
    if value is not None and not isinstance(value, dict):
        taken = ".".join(key_path[: -len(rest)])
        raise ConfigError(f"Cannot set {'.'.join(key_path)}: {taken} is not an object. Remove it first.")
    inner: dict[str, Any] = value or {}
    return {**inner, rest[0]: _with(inner.get(rest[0]), rest[1:], new, key_path)}


def _without(values: dict[str, Any], key_path: tuple[str, ...]) -> dict[str, Any]:
    first, *rest = key_path
    if first not in values:
        return values
    if not rest:
        return {key: value for key, value in values.items() if key != first}
    inner = values[first]
    return {**values, first: _without(inner, tuple(rest))} if isinstance(inner, dict) else values
