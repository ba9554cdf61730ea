"""The models bridle knows by name, what they can do and what they cost, and the dialects they speak."""

import re
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

from bridle.providers.facts import ALL_EFFORTS, LONG, MILLION, Model, cost
from bridle.providers.prices import own_prices, price_fields
from bridle.types.variables import is_on

__all__ = [
    "ALIASES",
    "DIALECTS",
    "MODELS",
    "Dialect",
    "Model",
    "cost",
    "find",
    "listed",
    "normal",
    "planner",
    "resolve",
    "small_model",
    "with_declared",
]


class Dialect(Struct, frozen=True):
    """Where a dialect is; it is imported when a model that speaks it is first asked."""

    module: str
    provider: str
    """The class that speaks it."""


DIALECTS: Mapping[str, Dialect] = {
    "anthropic": Dialect("bridle.providers.dialects.messages", "MessagesDialect"),
    "chat": Dialect("bridle.providers.dialects.chat", "ChatDialect"),
    "responses": Dialect("bridle.providers.dialects.responses", "ResponsesDialect"),
    "gemini": Dialect("bridle.providers.dialects.gemini", "GeminiDialect"),
    "bedrock": Dialect("bridle.providers.dialects.bedrock", "BedrockDialect"),
    "vertex": Dialect("bridle.providers.dialects.vertex", "VertexDialect"),
    "aws-messages": Dialect("bridle.providers.dialects.aws_messages", "AwsMessagesDialect"),
    "offline": Dialect("bridle.providers.offline", "OfflineProvider"),
}


def find(name: str, own: Mapping[str, Any] | None = None) -> Model:
    """What is known of a model id; `own` are the user's `bridleModels`, which come first.

    Raises:
        ConfigError: the user's entry for this model cannot be read.
    """
    base = name.removesuffix(LONG)
    model = msgspec.structs.replace(_known(base), id=base)
    for key, entry in (own or {}).items():
        from bridle.providers.own_models import overridden  # Most users have no such entries.

        if not isinstance(entry, str) and _same(key, base):
            model = overridden(model, key, entry)
    if name != base:
        size = max(model.context_window, MILLION)
        return msgspec.structs.replace(model, id=name, context_window=size, window_known=True)
    if model.max_tokens * 2 > model.context_window:
        # An answer must leave room for what it is an answer to.
        return msgspec.structs.replace(model, max_tokens=max(model.context_window // 4, 256))
    return model


def resolve(
    name: str, env: Mapping[str, str], *, planning: bool = False, own: Mapping[str, Any] | None = None
) -> str:
    """The full id behind an alias; anything else is an id already.

    An entry of `own` (the user's `bridleModels`) that is a text is an alias, and comes first. A bare name
    that one vendor alone has becomes `vendor/name`, unless everything goes to a service of the user's choice.
    """
    if own and isinstance(target := own.get(name.strip()), str):
        return resolve(target, env, planning=planning)
    base, long = (name[: -len(LONG)], LONG) if name.lower().endswith(LONG) else (name, "")
    if is_on(env, "CLAUDE_CODE_DISABLE_1M_CONTEXT"):
        long = ""
    alias = base.strip().lower()
    if alias == "opusplan":
        alias = "opus" if planning else "sonnet"
    if alias in ("", "default"):
        chosen = env.get("ANTHROPIC_MODEL") or env.get("ANTHROPIC_DEFAULT_MODEL") or "sonnet"
        alias = chosen if chosen.lower() not in ("default", "opusplan") else "sonnet"
        return resolve(alias + long, env, own=own)
    if alias not in _ALIASES:
        full = base.strip()
        if (own and full in own) or not _is_foreign(full) or env.get("ANTHROPIC_BASE_URL"):
            return full + long
        from bridle.providers.foreign import with_vendor  # A file of models that most sessions do not need.

        return with_vendor(full) + long
    target = _first_set(env, *_OVERRIDES[alias]) or _ALIASES[alias]
    return target if target.endswith(LONG) else target + long


def with_declared(own: Mapping[str, Any], env: Mapping[str, str]) -> Mapping[str, Any]:
    """The user's `bridleModels` with the user's file of prices, and what variables say that models can do.

    Raises:
        ConfigError: the file of prices cannot be read.
    """
    priced: Mapping[str, Any] = own
    if given := own_prices(env):
        priced = {**given, **own}
        for name, entry in own.items():
            if name in given and isinstance(entry, dict):
                priced[name] = {**given[name], **entry}
    if not any(name.endswith("_SUPPORTED_CAPABILITIES") for name in env):
        return priced
    from bridle.providers.own_models import declared  # Only deployments with names of their own need it.

    return {**declared(env), **priced}


def planner(name: str, env: Mapping[str, str], own: Mapping[str, Any] | None = None) -> str | None:
    """The model that answers in plan mode when `name` is chosen, None when it is the same as otherwise."""
    given = (own or {}).get(name.strip())
    meant = given if isinstance(given, str) else name
    if meant.lower().removesuffix(LONG).strip() != "opusplan":
        return None
    return resolve(meant, env, planning=True)


def small_model(env: Mapping[str, str], main: Model | None = None) -> str:
    """The model for small questions on the side, of the vendor of `main` unless the environment names one."""
    if main is None or main.vendor == "anthropic" or _first_set(env, *_OVERRIDES["haiku"]):
        return resolve("haiku", env)
    from bridle.providers import vendors

    vendor = vendors.find(main.vendor)
    if vendor is None or not vendor.small:
        return main.id
    # A cloud with models of several makers may have opened only those of this one.
    elsewhere = vendor.serves_anthropic and "claude" in main.id.lower()
    return main.id if elsewhere else f"{vendor.name}/{vendor.small}"


def listed() -> tuple[Model, ...]:
    """Every model of the catalog, also those of other vendors."""
    from bridle.providers.foreign import rows

    foreign = (find(f"{vendor}/{name}") for vendor, known in rows().items() for name in known)
    return (*MODELS, *foreign)


def normal(name: str) -> str:
    """An id without vendor prefix, date and variant: two ids of one model give the same."""
    name = name.removesuffix(LONG).lower()
    start = name.find("claude-")
    if start >= 0:
        name = name[start:].replace(".", "-")
    return _VARIANT.sub("", name, count=1)


_VARIANT = re.compile(r"(?:-0)?(?:[-@]\d{8})?(?:-latest)?(?:-v\d+(?::\d+)?)?(?:@default)?$")

_ALIASES: Mapping[str, str] = {
    "sonnet": "claude-sonnet-5-5",
    "opus": "claude-opus-5-5",
    "haiku": "claude-haiku-5-5",
    "fable": "claude-fable-5-2",
    "best": "claude-fable-5-2",
}
ALIASES = ("default", *_ALIASES, "opusplan")
"""Short names that always exist."""
_OVERRIDES: Mapping[str, tuple[str, ...]] = {
    "sonnet": ("ANTHROPIC_DEFAULT_SONNET_MODEL",),
    "opus": ("ANTHROPIC_DEFAULT_OPUS_MODEL",),
    "haiku": ("ANTHROPIC_DEFAULT_HAIKU_MODEL", "ANTHROPIC_SMALL_FAST_MODEL"),
    "fable": ("ANTHROPIC_DEFAULT_FABLE_MODEL",),
    "best": ("ANTHROPIC_DEFAULT_FABLE_MODEL",),
}


def _first_set(env: Mapping[str, str], *names: str) -> str | None:
    return next((env[name] for name in names if env.get(name)), None)


def _priced(name: str, **facts: Any) -> Model:
    return Model(id=name, **price_fields(name), **facts)


def _newest(name: str, **facts: Any) -> Model:
    facts = {"thinking": "adaptive", "efforts": ALL_EFFORTS, "max_tokens": 64_000} | facts
    return _priced(name, context_window=MILLION, max_output=128_000, **facts)


MODELS: tuple[Model, ...] = (
    _newest("claude-fable-5-2", thinking="always", max_tokens=128_000),
    _newest("claude-fable-5-1", thinking="always"),
    _newest("claude-fable-5", thinking="always"),
    _newest("claude-opus-5-5", thinking="always", max_tokens=128_000, fast_factor=2.0),
    _newest("claude-opus-5", fast_factor=2.0),
    _newest("claude-opus-4-8", fast_factor=2.0),
    _newest("claude-opus-4-7", fast_factor=6.0),
    _newest("claude-sonnet-5-5", max_tokens=128_000),
    _newest("claude-sonnet-5"),
    _newest("claude-haiku-5-5", max_tokens=128_000),
    _priced(
        "claude-opus-4-6",
        max_output=128_000,
        max_tokens=64_000,
        thinking="adaptive",
        efforts=("low", "medium", "high", "max"),
    ),
    _priced("claude-opus-4-5", thinking="budget", efforts=("low", "medium", "high")),
    _priced("claude-opus-4-1", max_output=32_000, thinking="budget"),
    _priced("claude-opus-4", max_output=32_000, thinking="budget"),
    _priced("claude-sonnet-4-6", thinking="adaptive", efforts=("low", "medium", "high", "max")),
    _priced("claude-sonnet-4-5", thinking="budget"),
    _priced("claude-sonnet-4", thinking="budget"),
    _priced("claude-haiku-4-5", thinking="budget"),
    _priced("claude-3-7-sonnet", thinking="budget"),
    _priced("claude-3-5-sonnet", max_output=8_192, max_tokens=8_192),
    _priced("claude-3-5-haiku", max_output=8_192, max_tokens=8_192),
    Model(
        id="offline",
        dialect="offline",
        label="a built-in planner, not a language model: no key, no network, no cost",
    ),
)
_BY_NAME: Mapping[str, Model] = {model.id: model for model in MODELS}


def _same(key: str, name: str) -> bool:
    """Whether an entry of the user is about this model; a vendor in both must be the same."""
    if "/" in key and "/" in name and "claude" not in name:
        return key.lower() == name.lower()
    return normal(key) == normal(name)


def _known(name: str) -> Model:
    if "/" in name and not name.startswith("anthropic/"):
        from bridle.providers.foreign import served

        if (model := served(name, _claude)) is not None:
            return model
    known = _BY_NAME.get(normal(name))
    if known is not None:
        return known
    # Models that this table does not know are newer than it, if they are the vendor's at all.
    if normal(name).startswith("claude-"):
        adaptive: dict[str, Any] = {"thinking": "adaptive", "efforts": ALL_EFFORTS, "max_output": 128_000}
        return Model(id=name, priced=False, window_known=False, **adaptive)
    return Model(id=name, priced=False, window_known=False)


def _is_foreign(name: str) -> bool:
    """Whether a bare name is none of Anthropic's, nor ours."""
    return bool(name) and "/" not in name and "claude" not in name.lower() and name not in _BY_NAME


def _claude(name: str) -> Model | None:
    return _known(name) if "claude-" in name.lower() else None
