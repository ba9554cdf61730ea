"""Models that a gateway in front of the Messages API lists, kept from one session to the next."""

import os.path
from collections.abc import Mapping

import msgspec
from msgspec import Struct

from bridle.host.files import read_bytes, write_atomic
from bridle.host.http.client import Limits
from bridle.host.paths import bridle_dir
from bridle.providers.keys import Keys
from bridle.types.errors import ConfigError, ProviderError
from bridle.types.variables import is_on

_LARGEST = 4 * 1024 * 1024
_MOST = 200
_LISTING = Limits(idle=3.0, total=3.0, body=_LARGEST)
"""Short: a list is not worth a wait."""
_SERVED = ("claude", "anthropic")
"""How the names of models begin that the Messages API is about."""


class _Kept(Struct, frozen=True):
    """What the file says: the models of one gateway."""

    base: str
    models: tuple[str, ...]


def is_wanted(env: Mapping[str, str]) -> bool:
    """Whether the user has a gateway, and wants its models listed."""
    asked = is_on(env, "CLAUDE_CODE_ENABLE_GATEWAY_MODEL_DISCOVERY")
    return asked and bool(env.get("ANTHROPIC_BASE_URL"))


def known_models(env: Mapping[str, str]) -> tuple[str, ...]:
    """What the gateway listed when it was last asked."""
    if not is_wanted(env):
        return ()
    try:
        kept = msgspec.json.decode(read_bytes(_file(env), _LARGEST), type=_Kept)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return ()  # It is only a copy: the next answer of the gateway replaces it.
    return kept.models if kept.base == env.get("ANTHROPIC_BASE_URL") else ()


async def refresh(env: Mapping[str, str], *, helper: str | None = None) -> tuple[str, ...]:
    """Ask the gateway, where that is wanted; one that does not answer leaves what is known."""
    if not is_wanted(env):
        return ()
    from bridle.providers.dialects.messages import home_headers, home_place
    from bridle.providers.service_check import list_models

    place = home_place(env, Keys(env, helper=helper))
    try:
        listed = await list_models(place, await home_headers(place), query="?limit=1000", limits=_LISTING)
    except (ProviderError, ConfigError):
        return known_models(env)
    models = tuple(name for name in listed if name.lower().startswith(_SERVED))[:_MOST]
    kept = _Kept(env["ANTHROPIC_BASE_URL"], models)
    try:
        write_atomic(_file(env), msgspec.json.encode(kept))
    except OSError:
        pass  # A home that cannot be written has no copy, and the gateway is asked again.
    return models


def _file(env: Mapping[str, str]) -> str:
    return os.path.join(bridle_dir(env), "gateway-models.json")
