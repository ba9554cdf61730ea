"""What users say of models, in the setting `bridleModels` and in variables."""

from collections.abc import Mapping
from typing import Any, Literal

import msgspec
from msgspec import Struct

from bridle.providers.facts import ALL_EFFORTS, Access, LongPrompts, Model, ThinkingStyle
from bridle.types.errors import ConfigError

_FAMILIES = ("FABLE", "OPUS", "SONNET", "HAIKU")
_VARIABLES = ("ANTHROPIC_CUSTOM_MODEL_OPTION", *(f"ANTHROPIC_DEFAULT_{name}_MODEL" for name in _FAMILIES))
_SUFFIX = "_SUPPORTED_CAPABILITIES"


class _Entry(Struct, rename="camel", forbid_unknown_fields=False):
    """One of the user's `bridleModels`."""

    input_price: float | None = None
    output_price: float | None = None
    cache_read_price: float | None = None
    cache_write_price: float | None = None
    cache_write_1h_price: float | None = msgspec.field(default=None, name="cacheWrite1hPrice")
    long_prompts: tuple[int, float, float] | None = None
    """Above so many tokens input and output cost so many times as much."""
    context_window: int | None = None
    max_output: int | None = None
    max_tokens: int | None = None
    """The limit of a request where nothing else is said."""
    thinking: ThinkingStyle | Literal["enabled"] | bool | None = None
    dialect: str | None = None
    name: str | None = None
    capabilities: tuple[str, ...] | None = None
    efforts: tuple[str, ...] | None = None
    base_url: str | None = None
    key_env: str | None = None
    headers: dict[str, str] | None = None
    quirks: dict[str, Any] | None = None


_ACCESS = ("base_url", "key_env", "headers", "quirks", "capabilities", "long_prompts")


def overridden(model: Model, name: str, entry: Any) -> Model:
    """The model with what the user's entry `name` says of it.

    Raises:
        ConfigError: the entry cannot be read.
    """
    try:
        given = msgspec.convert(entry, _Entry)
    except msgspec.ValidationError as error:
        raise ConfigError(f"Ignored the bridleModels entry {name!r}: {error}.") from error
    changes: dict[str, Any] = {}
    if given.input_price is not None:
        changes |= {
            "input_price": given.input_price,
            "cache_read_price": given.input_price / 10,
            "cache_write_price": given.input_price * 1.25,
            "cache_write_1h_price": given.input_price * 2,
            "long_prompts": None,
            "priced": True,
        }
    if given.long_prompts is not None:
        changes["long_prompts"] = LongPrompts(*given.long_prompts)
    if given.cache_write_price is not None:
        changes["cache_write_1h_price"] = given.cache_write_price * 1.6
    if given.thinking is True or given.thinking == "enabled":
        given.thinking = "budget" if model.thinking == "none" else model.thinking
    elif given.thinking is False:
        given.thinking = "none"
    if given.context_window is not None:
        changes["window_known"] = True
    if given.max_output is not None:
        changes["max_tokens"] = min(model.max_tokens, given.max_output)
    if given.capabilities is not None:
        changes |= _capable(model, given.capabilities)
    changes |= _reached(model, given)
    plain = {
        key: value
        for key, value in msgspec.structs.asdict(given).items()
        if value is not None and key not in _ACCESS
    }
    return msgspec.structs.replace(model, **(changes | plain))


def _capable(model: Model, caps: tuple[str, ...]) -> dict[str, Any]:
    found: dict[str, Any] = {"tools": "tools" in caps, "images": "images" in caps, "documents": "pdf" in caps}
    if "reasoning" in caps and model.thinking == "none":
        found |= {"thinking": "adaptive", "efforts": ALL_EFFORTS}
    return found


def _reached(model: Model, given: _Entry) -> dict[str, Any]:
    """How an entry with a dialect or an address of its own is reached."""
    if not (given.base_url or given.key_env or given.headers or given.quirks or given.dialect):
        return {}
    headers = tuple((given.headers or {}).items())
    access = Access(
        dialect=given.dialect,
        base_url=given.base_url,
        key_env=given.key_env,
        headers=headers,
        quirks=given.quirks or {},
    )
    found: dict[str, Any] = {"access": access}
    if model.vendor == "anthropic" and (given.base_url or given.dialect not in (None, "offline")):
        # Another address must not be given Anthropic's key.
        found["vendor"] = "custom"
    return found


def declared(env: Mapping[str, str]) -> dict[str, Any]:
    """Entries like those of `bridleModels`, one for each model that a variable tells of."""
    found: dict[str, Any] = {}
    for variable in _VARIABLES:
        name, listed = env.get(variable, "").strip(), env.get(variable + _SUFFIX, "")
        if name and listed:
            found[name] = _declared_entry({word.strip().lower() for word in listed.split(",")})
    return found


def _declared_entry(able: set[str]) -> dict[str, Any]:
    efforts = ["low", "medium", "high"] if able & {"effort", "xhigh_effort", "max_effort"} else []
    efforts += ["xhigh"] if "xhigh_effort" in able else []
    efforts += ["max"] if "max_effort" in able else []
    thinking = "adaptive" if "adaptive_thinking" in able else "budget" if "thinking" in able else "none"
    return {"efforts": efforts, "thinking": thinking}
