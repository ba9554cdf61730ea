"""The file of a gateway: services with their keys, models, users with their rules and budgets."""

import fnmatch
import hashlib
import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from bridle.host.secrets import SECRETS
from bridle.types.errors import ConfigError

Dialect = Literal["anthropic", "chat"]
Amount = Annotated[float, Meta(ge=0)]
Count = Annotated[int, Meta(ge=1)]

_VARIABLE = re.compile(r"\$\{(\w+)\}")
_HASH = "sha256:"
_LARGEST = 4 * 1024 * 1024


class Upstream(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """A service that answers."""

    url: str
    dialect: Dialect = "anthropic"
    key: str = ""
    key_file: str = ""


class ServedModel(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """A model as users name it."""

    upstream: str
    name: str = ""
    """What the service calls it."""
    input_price: Amount | None = None
    output_price: Amount | None = None
    cache_read_price: Amount | None = None
    cache_write_price: Amount | None = None


class Budget(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """What may be used in one period."""

    usd: Amount | None = None
    tokens: Count | None = None
    requests: Count | None = None


class User(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Who may ask, and for what; an empty field allows everything that the gateway serves."""

    key: str
    """The key, `${VARIABLE}`, or `sha256:` and the hash of the key."""
    models: tuple[str, ...] = ("*",)
    """Patterns of names, such as claude-*."""
    day: Budget | None = None
    month: Budget | None = None
    requests_per_minute: Count | None = None
    max_tokens: Count | None = None
    """The longest answer that may be asked for."""
    policy: dict[str, Any] = {}
    """Managed settings for this user's sessions, over those for everyone."""
    admin: bool = False
    """May export the usage of all users."""

    def allows(self, model: str) -> bool:
        return any(fnmatch.fnmatchcase(model, pattern) for pattern in self.models)


class GatewayConfig(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    listen: str = "127.0.0.1:8787"
    workers: Annotated[int, Meta(ge=1, le=64)] = 2
    usage: str = ""
    """The database of usage; in memory when empty, for each worker alone."""
    largest_body: Count = 32 * 1024 * 1024
    upstreams: dict[str, Upstream]
    models: dict[str, ServedModel]
    users: dict[str, User]
    policy: dict[str, Any] = {}

    @property
    def address(self) -> tuple[str, int]:
        host, _, port = self.listen.rpartition(":")
        return host.strip("[]"), int(port)

    def by_hash(self) -> dict[str, str]:
        """The names of users by the hash of their keys."""
        return {_hashed(user.key): name for name, user in self.users.items()}


def hash_of(key: str) -> str:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()


def load_gateway(path: str, env: Mapping[str, str]) -> GatewayConfig:
    """Read and check the file.

    Raises:
        ConfigError: it cannot be read or used.
    """
    import yaml

    try:
        with open(path, "rb") as file:
            data = file.read(_LARGEST + 1)
        if len(data) > _LARGEST:
            raise ConfigError(f"{path} is larger than 4 MiB.")
        values = yaml.safe_load(data)
    except OSError as error:
        raise ConfigError(f"can't read {path}: {error.strerror}.") from error
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        where = getattr(error, "problem_mark", None)
        line = f", line {where.line + 1}" if where is not None else ""
        raise ConfigError(f"{path} is not valid YAML{line}.") from error
    try:
        config = msgspec.convert(_filled(values, env, path), GatewayConfig)
    except RecursionError as error:
        raise ConfigError(f"{path} is nested too deep.") from error
    except msgspec.ValidationError as error:
        raise ConfigError(f"{path}: {error}.") from error
    return _checked(config, path)


def _filled(values: Any, env: Mapping[str, str], path: str) -> Any:
    """The values with `${VARIABLE}` replaced."""
    match values:
        case str():
            return _VARIABLE.sub(lambda match: _variable(match[1], env, path), values)
        case dict():
            return {str(key): _filled(value, env, path) for key, value in values.items()}
        case list():
            return [_filled(value, env, path) for value in values]
        case _:
            return values


def _variable(name: str, env: Mapping[str, str], path: str) -> str:
    if not (value := env.get(name, "")):
        raise ConfigError(f"{path} names the variable {name}, which is not set.")
    return value


def _checked(config: GatewayConfig, path: str) -> GatewayConfig:
    port = config.listen.rpartition(":")[2]
    if not port.isdecimal() or int(port) > 65_535:
        raise ConfigError(f"{path}: listen must be host:port, not {config.listen!r}.")
    for name, model in config.models.items():
        if model.upstream not in config.upstreams:
            raise ConfigError(
                f"{path}: models.{name} names the upstream {model.upstream!r}, which is not defined."
            )
    for name, place in config.upstreams.items():
        if not place.url.startswith(("https://", "http://")):
            raise ConfigError(f"{path}: upstreams.{name}.url must begin with https:// or http://.")
    if len(config.by_hash()) != len(config.users):
        raise ConfigError(f"{path}: two users have the same key.")
    upstreams = {name: _with_key(name, place, path) for name, place in config.upstreams.items()}
    SECRETS.learn(*(place.key for place in upstreams.values()))
    SECRETS.learn(*(user.key for user in config.users.values() if not user.key.startswith(_HASH)))
    return msgspec.structs.replace(config, upstreams=upstreams)


def _with_key(name: str, place: Upstream, path: str) -> Upstream:
    if not place.key_file:
        return place
    try:
        with open(place.key_file, encoding="utf-8") as file:
            return msgspec.structs.replace(place, key=file.read(65_536).strip())
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: upstreams.{name}.keyFile is not readable.") from error


def _hashed(key: str) -> str:
    return key.removeprefix(_HASH).lower() if key.startswith(_HASH) else hash_of(key)
