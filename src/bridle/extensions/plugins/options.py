"""What users set for a plugin: checked, secrets kept apart, handed to its code as text."""

import os
import os.path
from collections.abc import Callable, Mapping
from math import isfinite
from typing import Any

import msgspec
from msgspec import Struct

from bridle.config import edit
from bridle.extensions.plugins.names import PluginId
from bridle.extensions.plugins.plugin import OptionField, Options
from bridle.host.files import read_bytes
from bridle.host.paths import bridle_dir, config_home
from bridle.types.errors import ConfigError, UsageError
from bridle.types.text import encodable

_LARGEST = 4 * 1024 * 1024
_LONGEST = 64 * 1024
_EXACT = 2**53
"""From here on not every whole number is a float."""
_SERVICE = "bridle-plugins"
_TRUE, _FALSE = ("true", "yes", "on", "1"), ("false", "no", "off", "0")


def read_options(
    env: Mapping[str, str], plugin: PluginId, fields: Mapping[str, OptionField], given: Mapping[str, Any]
) -> Options:
    """The options of a plugin: what the settings say (`given`), its secrets, and defaults.

    Raises:
        ConfigError: a secret cannot be read.
    """
    if not fields:
        return Options()
    secrets = _Secrets(env)
    values: dict[str, str] = {}
    missing: list[str] = []
    for key, field in fields.items():
        value = secrets.read(plugin, key) if field.sensitive else given.get(key)
        value = field.default if value is None else value
        if value is not None:
            values[key] = _text(value)
        elif field.required:
            missing.append(key)
    plain = {key: value for key, value in values.items() if not fields[key].sensitive}
    return Options(values=values, plain=plain, missing=tuple(missing))


def save_options(
    env: Mapping[str, str], plugin: PluginId, fields: Mapping[str, OptionField], given: Mapping[str, str]
) -> None:
    """Keep what the user set: secrets in the keyring or a private file, the rest in their settings.

    Raises:
        UsageError: the plugin has no such option, or the value does not fit it.
        ConfigError: a file cannot be changed.
    """
    checked = {key: check_option(fields, key, text) for key, text in given.items()}
    secrets = _Secrets(env)
    settings = os.path.join(config_home(env), "settings.json")
    for key, value in checked.items():
        if fields[key].sensitive:
            secrets.save(plugin, key, _text(value))
        else:
            edit.set_value(settings, ("pluginConfigs", str(plugin), "options", key), value)


def check_option(fields: Mapping[str, OptionField], key: str, text: str) -> Any:
    """The value that a text stands for.

    Raises:
        UsageError: the plugin has no such option, or the text does not fit it.
    """
    field = fields.get(key)
    if field is None:
        known = ", ".join(fields) or "none"
        raise UsageError(f"unknown option {key!r}; options: {known}")
    if field.multiple:
        return [_one(field, key, part.strip()) for part in text.split(",") if part.strip()]
    return _one(field, key, text)


def forget_options(env: Mapping[str, str], plugin: PluginId) -> None:
    """Forget all that was set for a plugin.

    Raises:
        ConfigError: a file cannot be changed.
    """
    edit.remove_value(os.path.join(config_home(env), "settings.json"), ("pluginConfigs", str(plugin)))
    _Secrets(env).forget(plugin)


def _one(field: OptionField, key: str, text: str) -> Any:
    if len(text) > _LONGEST:
        raise UsageError(f"{key} is longer than {_LONGEST} characters")
    if encodable(text) != text:
        raise UsageError(f"{key} contains invalid characters")
    match field.type:
        case "number":
            return _number(field, key, text)
        case "boolean":
            if text.lower() not in (*_TRUE, *_FALSE):
                raise UsageError(f"{key} must be true or false, not {text!r}")
            return text.lower() in _TRUE
        case "directory" | "file":
            path = os.path.abspath(os.path.expanduser(text))
            exists = os.path.isdir(path) if field.type == "directory" else os.path.isfile(path)
            if not exists:
                raise UsageError(f"{key}: {field.type} {path} does not exist")
            return path
        case "string":
            return text


def _number(field: OptionField, key: str, text: str) -> float | int:
    try:
        number = float(text)
    except ValueError as error:
        raise UsageError(f"{key} must be a number, not {text!r}") from error
    if not isfinite(number):
        raise UsageError(f"{key} must be a finite number, not {text[:40]!r}")
    if (field.min is not None and number < field.min) or (field.max is not None and number > field.max):
        raise UsageError(f"{key} must be between {field.min} and {field.max}, not {text}")
    return int(number) if number.is_integer() and abs(number) < _EXACT else number


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return ",".join(map(_text, value))
    return str(value)


class _Stored(Struct):
    plugins: dict[str, dict[str, str | None]] = {}
    """None where the keyring has the secret."""


class _Secrets:
    """Secrets by plugin and option: in the system's keyring, else in a file for the user alone."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self._file = os.path.join(bridle_dir(env), "plugin-secrets.json")
        self._wanted = env.get("BRIDLE_CREDENTIALS", "").strip().lower()

    def read(self, plugin: PluginId, key: str) -> str | None:
        kept = self._all().get(str(plugin), {})
        if key not in kept:
            return None
        stored = kept[key]
        if stored is not None:
            return stored
        import keyring
        from keyring.errors import KeyringError

        try:
            return keyring.get_password(_SERVICE, f"{plugin}/{key}")
        except KeyringError as error:
            raise ConfigError(
                f"Could not read {key} of {plugin} from the keyring: {error}. Unlock the keyring."
            ) from error

    def save(self, plugin: PluginId, key: str, value: str) -> None:
        stored = None if self._put_into_keyring(f"{plugin}/{key}", value) else value
        self._change(lambda every: {**every, str(plugin): {**every.get(str(plugin), {}), key: stored}})

    def forget(self, plugin: PluginId) -> None:
        kept = self._all().get(str(plugin), {})
        for key, stored in kept.items():
            if stored is None:
                _remove_from_keyring(f"{plugin}/{key}")
        if kept:
            self._change(lambda every: {name: each for name, each in every.items() if name != str(plugin)})

    def _all(self) -> dict[str, dict[str, str | None]]:
        try:
            return msgspec.json.decode(read_bytes(self._file, _LARGEST), type=_Stored).plugins
        except FileNotFoundError:
            return {}
        except (OSError, msgspec.DecodeError) as error:
            raise ConfigError(f"{self._file} could not be read ({error}). Fix or remove it.") from error

    def _put_into_keyring(self, name: str, value: str) -> bool:
        if self._wanted == "file":
            return False
        import keyring
        from keyring.backends.fail import Keyring as NoKeyring
        from keyring.errors import KeyringError

        if isinstance(keyring.get_keyring(), NoKeyring):
            return False
        try:
            keyring.set_password(_SERVICE, name, value)
        except KeyringError:
            return False  # A keyring that is locked takes nothing; the private file does.
        return True

    def _change(self, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
        edit.update(self._file, lambda values: {"plugins": change(values.get("plugins") or {})}, mode=0o600)
        os.chmod(self._file, 0o600)


def _remove_from_keyring(name: str) -> None:
    import keyring
    from keyring.errors import KeyringError

    try:
        keyring.delete_password(_SERVICE, name)
    except KeyringError:
        pass  # Gone already, or locked away: without its name here it is not looked up again.
