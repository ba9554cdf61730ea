"""One entry of `mcpServers`, from plain JSON to a server that can be started."""

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from bridle.types.errors import ConfigError
from bridle.types.services.mcp import SdkServer, ServerConfig, StdioServer

VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
_ALIASES = {"streamable-http": "http", "streamableHttp": "http", "streamable_http": "http", "websocket": "ws"}
_SCHEMES = {
    "http": ("http://", "https://"),
    "sse": ("http://", "https://"),
    "sse-ide": ("http://", "https://"),
    "ws": ("ws://", "wss://"),
    "ws-ide": ("ws://", "wss://"),
}
_KINDS = ("stdio", *_SCHEMES, "sdk")
_LONGEST_NAME = 200


def read_entry(name: str, raw: Any, env: Mapping[str, str]) -> ServerConfig:
    """The server that an entry describes, with variables filled in.

    Raises:
        ConfigError: the entry cannot be used; the message says why and what to do.
    """
    if not name.strip() or len(name) > _LONGEST_NAME:
        raise ConfigError("a server needs a name of 1 to 200 characters")
    if not isinstance(raw, dict):
        raise ConfigError("must be an object with a command or a url")
    kind = _kind(raw)
    values = {key: value for key, value in raw.items() if value is not None}
    filled = {**expand(values, env), "type": kind}
    if kind == "sdk":
        filled.setdefault("name", name)
    if kind in _SCHEMES:
        _check_url(filled.get("url"), kind)
    elif kind == "stdio" and not str(filled.get("command") or "").strip():
        raise ConfigError("needs a command")
    try:
        return msgspec.convert(filled, ServerConfig)
    except msgspec.ValidationError as error:
        raise ConfigError(str(error).replace("`$.", "`")) from error


def unset_variables(raw: Any, env: Mapping[str, str]) -> tuple[str, ...]:
    """The variables that an entry names, that are not set and that have no default."""
    match raw:
        case str():
            found = VARIABLE.finditer(raw)
            return tuple(each[1] for each in found if each[2] is None and env.get(each[1]) is None)
        case list():
            return tuple(name for each in raw for name in unset_variables(each, env))
        case dict():
            return tuple(name for each in raw.values() for name in unset_variables(each, env))
        case _:
            return ()


def expand(value: Any, env: Mapping[str, str]) -> Any:
    """Every text with `${NAME}` and `${NAME:-default}` filled in.

    Raises:
        ConfigError: a variable is not set and has no default.
    """
    match value:
        case str() if "${" in value:
            return VARIABLE.sub(lambda match: _value_of(match, env), value)
        case list():
            return [expand(each, env) for each in value]
        case dict():
            return {key: expand(each, env) for key, each in value.items()}
        case _:
            return value


def identity(config: ServerConfig) -> tuple[str, ...]:
    """What makes two configurations the same server: what is started, or where it is."""
    match config:
        case StdioServer():
            return ("command", config.command, *config.args)
        case SdkServer():
            return ("sdk", config.name)
        case _:
            return ("url", config.url)


def _kind(raw: Mapping[str, Any]) -> str:
    given = raw.get("type")
    if given is None:
        if "url" in raw and "command" not in raw:
            raise ConfigError('has a url but no type; add "type": "http" or "type": "sse"')
        return "stdio"
    kind = _ALIASES.get(given, given) if isinstance(given, str) else given
    if kind not in _KINDS:
        raise ConfigError(f"has the unknown type {given!r}; use stdio, http, sse or ws")
    return kind


def _check_url(url: Any, kind: str) -> None:
    if not isinstance(url, str) or not url.startswith(_SCHEMES[kind]):
        shown = f" and not {url[:200]!r}" if isinstance(url, str) else ""
        raise ConfigError(f"needs a url that begins with {' or '.join(_SCHEMES[kind])}{shown}")


def _value_of(match: re.Match[str], env: Mapping[str, str]) -> str:
    name, default = match[1], match[2]
    if (value := env.get(name)) is not None:
        return value
    if default is None:
        raise ConfigError(f"uses ${{{name}}}, which is not set; set it, or write ${{{name}:-default}}")
    return default
