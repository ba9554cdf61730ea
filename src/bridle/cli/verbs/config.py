"""`bridle config`: look at settings, see where they come from, change them."""

import os
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from bridle.cli.say import say, tell
from bridle.config import edit, explain
from bridle.config.load import Config, load
from bridle.config.validate import check
from bridle.host.paths import config_home
from bridle.types.errors import ConfigError, UsageError

_HELP = """\
Usage: bridle config explain <key> [--json]     every source that sets a key, and who wins
       bridle config get <key>                  the value that counts, as JSON
       bridle config list                       every value that counts, as JSON
       bridle config set <key> <value>          write to a settings file
       bridle config unset <key>                remove from a settings file
       bridle config check                      what is wrong in the settings files; exit code 1 if so
       bridle config schema                     the JSON Schema of settings files, for editors

A key is dotted, such as permissions.defaultMode. A value is JSON; what is not JSON is taken as text.
set and unset write to the user's file unless --scope project or --scope local is given.
"""
_SCOPES = ("user", "project", "local")


def run_config(argv: Sequence[str], env: Mapping[str, str]) -> int:
    """Run one subcommand.

    Raises:
        UsageError: the words are off.
        ConfigError: a file cannot be used.
    """
    words, scope, as_json = _read(argv)
    cwd = os.getcwd()
    match words:
        case [] | ["help"]:
            return say(_HELP)
        case ["explain", key]:
            told = explain.explain(_load(cwd, env), key)
            return say(_pretty(explain.to_json(told))) if as_json else tell(*explain.render(told))
        case ["get", key]:
            return say(_pretty(explain.explain(_load(cwd, env), key).value))
        case ["list"]:
            return say(_pretty(_load(cwd, env).raw))
        case ["check"]:
            return _check(_load(cwd, env))
        case ["schema"]:
            from bridle.config.published import settings_schema

            return say(_pretty(settings_schema()))
        case ["set", key, value]:
            return _set(_file(scope, cwd, env), key, _value(value))
        case ["unset", key]:
            edit.remove_value(_file(scope, cwd, env), _path(key))
            return 0
        case _:
            raise UsageError(f"cannot understand 'bridle config {' '.join(words)}': see bridle config help")


def _read(argv: Sequence[str]) -> tuple[list[str], str, bool]:
    words: list[str] = []
    scope, as_json = "user", False
    rest = list(argv)
    while rest:
        word = rest.pop(0)
        if word == "--json":
            as_json = True
        elif word in ("-h", "--help"):
            return ["help"], scope, as_json
        elif word.partition("=")[0] in ("--scope", "-s"):
            scope = word.partition("=")[2] or (rest.pop(0) if rest else "")
            if scope not in _SCOPES:
                raise UsageError(f"--scope takes one of {', '.join(_SCOPES)}, not {scope!r}")
        elif word.startswith("--"):
            raise UsageError(f"unknown option '{word}'")
        else:
            words.append(word)
    return words, scope, as_json


def _load(cwd: str, env: Mapping[str, str]) -> Config:
    return load(cwd=cwd, env=env, flag=None, setting_sources=None)


def _check(config: Config) -> int:
    for problem in config.problems:
        tell(str(problem))
    if not config.problems:
        say(f"{len(config.layers)} settings file(s), nothing wrong\n")
    return 1 if config.problems else 0


def _set(path: str, key: str, value: Any) -> int:
    key_path = _path(key)
    _, faults = check(_nested(key_path, value))
    if faults:
        raise ConfigError(f"{key} cannot be set to that: {faults[0][1]}")
    try:
        edit.set_value(path, key_path, value)
    except OSError as error:
        raise ConfigError(f"{path} cannot be written ({error.strerror}): check its permissions") from error
    return 0


def _nested(path: tuple[str, ...], value: Any) -> dict[str, Any]:
    first, *rest = path
    return {first: _nested(tuple(rest), value) if rest else value}


def _path(key: str) -> tuple[str, ...]:
    parts = tuple(key.split("."))
    if not all(parts):
        raise UsageError(f"{key!r} is not a key: write names joined with dots, such as permissions.allow")
    return parts


def _value(text: str) -> Any:
    try:
        return msgspec.json.decode(text.encode())
    except msgspec.DecodeError:
        return text


def _file(scope: str, cwd: str, env: Mapping[str, str]) -> str:
    match scope:
        case "project":
            return os.path.join(cwd, ".claude", "settings.json")
        case "local":
            return os.path.join(cwd, ".claude", "settings.local.json")
        case _:
            return os.path.join(config_home(env), "settings.json")


def _pretty(value: Any) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n"
