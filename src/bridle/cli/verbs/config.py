"""`bridle config`: look at settings, see where they come from, change them."""

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from bridle.cli.say import say, tell
from bridle.cli.subcommands.parser import ParsedArguments
from bridle.config import edit, explain
from bridle.config.feature_settings import checked, key_of
from bridle.config.json_schema import settings_schema
from bridle.config.load import Config, load
from bridle.config.schema import TYPES
from bridle.config.validate import check, misspelled
from bridle.host.paths import config_home
from bridle.host.secrets import without_secrets
from bridle.host.stdio import complain
from bridle.types.errors import ConfigError, UsageError

if TYPE_CHECKING:
    from bridle.types.package import FeatureSetting


def explain_key(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """Say which sources set a key."""
    explanation = explain.explain(_load(env), given.one("key"), _defaults(env))
    return (
        say(_pretty(explain.to_json(explanation))) if given.on("json") else tell(*explain.render(explanation))
    )


def get_value(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """Print the value of a key."""
    return say(_pretty(explain.explain(_load(env), given.one("key"), _defaults(env)).value))


def list_values(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """Print every value; `config get` shows what variables with secrets hold."""
    del given
    return say(_pretty(without_secrets(_load(env).raw)))


def print_schema(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """Print the schema of settings files."""
    del given
    return say(_pretty(settings_schema(_rows(env))))


def check_files(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """Print what is wrong; the exit code is 1 if anything is."""
    del given
    config = _load(env)
    problems = (*map(str, config.problems), *checked(config.raw, _rows(env))[1])
    for problem in problems:
        tell(problem)
    if not problems:
        say(f"{len(config.layers)} settings file(s), no problems\n")
    return 1 if problems else 0


def set_value(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """Write a value.

    Raises:
        UsageError: the key is none, or one slip away from a setting.
        ConfigError: it cannot have this value, or the file cannot be written.
    """
    path, key, value = _file(given, env), given.one("key"), _value(given.one("value"))
    key_path = _path(key)
    nested = _nested(key_path, value)
    if slip := next(misspelled(nested), None):
        raise UsageError(f"{key}: {slip[1]}")
    values, faults = check(nested)
    wrong = [fault[1] for fault in faults] or checked(values, _rows(env))[1]
    if wrong:
        raise ConfigError(f"invalid value for {key}: {wrong[0]}")
    try:
        edit.set_value(path, key_path, value)
    except OSError as error:
        raise ConfigError(f"{path} cannot be written ({error.strerror}): check its permissions") from error
    if key_path[0] not in TYPES:
        complain(f"note: {key_path[0]} is not a setting of bridle; it is kept for other programs")
    return 0


def unset_value(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """Remove a value."""
    edit.remove_value(_file(given, env), _path(given.one("key")))
    return 0


def _load(env: Mapping[str, str]) -> Config:
    return load(cwd=os.getcwd(), env=env, flag=None, setting_sources=None)


def _nested(path: tuple[str, ...], value: Any) -> dict[str, Any]:
    first, *rest = path
    return {first: _nested(tuple(rest), value) if rest else value}


def _path(key: str) -> tuple[str, ...]:
    parts = tuple(key.split("."))
    if not all(parts):
        raise UsageError(
            f"{key!r} is not a valid key: write names joined with dots, such as permissions.allow"
        )
    return parts


def _value(text: str) -> Any:
    try:
        return msgspec.json.decode(text.encode())
    except msgspec.DecodeError:
        return text


def _file(given: ParsedArguments, env: Mapping[str, str]) -> str:
    match given.text("scope"):
        case "project":
            return os.path.join(os.getcwd(), ".claude", "settings.json")
        case "local":
            return os.path.join(os.getcwd(), ".claude", "settings.local.json")
        case _:
            return os.path.join(config_home(env), "settings.json")


def _pretty(value: Any) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n"


def _rows(env: Mapping[str, str]) -> "tuple[FeatureSetting, ...]":
    """The settings of features that approved packages bring."""
    from bridle.session.parts.packages import approved_packages

    packages = approved_packages(env, warn=complain)
    return () if packages is None else packages.settings()


def _defaults(env: Mapping[str, str]) -> dict[str, Any]:
    return {key_of(row): row.default for row in _rows(env)}
