"""The models bridle knows by name, what they can do and what they cost, and the dialects they speak."""

import re
from collections.abc import Mapping
from typing import Any, Literal

import msgspec
from msgspec import Struct

from bridle.types.errors import ConfigError
from bridle.types.model import Thinking
from bridle.types.usage import Usage

ThinkingStyle = Literal["adaptive", "always", "budget", "none"]
"""Decides itself how much; decides itself and cannot be told not to; is given a budget; cannot."""

_ALL_EFFORTS = ("low", "medium", "high", "xhigh", "max")
_LONG = "[1m]"
_WEB_SEARCH_PRICE = 0.01
_MILLION = 1_000_000


class Dialect(Struct, frozen=True):
    """Where the provider of a dialect is; it is imported when a model that speaks it is first asked."""

    module: str
    provider: str
    takes_env: bool = True


DIALECTS: Mapping[str, Dialect] = {
    "anthropic": Dialect("bridle.providers.anthropic", "AnthropicProvider"),
    "offline": Dialect("bridle.providers.offline", "OfflineProvider", takes_env=False),
}


class LongPrompts(Struct, frozen=True):
    """What a call costs more when its prompt is long."""

    above: int
    input_factor: float
    output_factor: float


class Model(Struct, frozen=True, kw_only=True):
    """What is known of a model; prices are dollars for a million tokens."""

    id: str
    dialect: str = "anthropic"
    context_window: int = 200_000
    max_output: int = 64_000
    max_tokens: int = 32_000
    """What a request asks for unless told otherwise."""
    input_price: float = 0.0
    output_price: float = 0.0
    cache_read_price: float = 0.0
    cache_write_price: float = 0.0
    cache_write_1h_price: float = 0.0
    long_prompts: LongPrompts | None = None
    priced: bool = True
    """False when the price is not known, and so counted as nothing."""
    thinking: ThinkingStyle = "none"
    efforts: tuple[str, ...] = ()
    label: str = ""

    def default_thinking(self) -> Thinking | None:
        """How the model thinks when nobody said otherwise."""
        match self.thinking:
            case "adaptive" | "always":
                return Thinking("adaptive")
            case "budget":
                return Thinking("enabled")
            case "none":
                return None


def find(name: str, own: Mapping[str, Any] | None = None) -> Model:
    """What is known of a model id; `own` are the user's `bridleModels`, which come first.

    Raises:
        ConfigError: the user's entry for this model cannot be read.
    """
    base = name.removesuffix(_LONG)
    model = msgspec.structs.replace(_known(base), id=base)
    for key, entry in (own or {}).items():
        if normal(key) == normal(base):
            model = _overridden(model, key, entry)
    if name != base:
        return msgspec.structs.replace(model, id=name, context_window=max(model.context_window, _MILLION))
    return model


def cost(model: Model, usage: Usage) -> float:
    """Dollars at list price for one call."""
    tier = model.long_prompts
    dear = tier if tier is not None and usage.context > tier.above else _USUAL_PRICE
    read = (
        usage.input * model.input_price
        + usage.cache_read * model.cache_read_price
        + usage.cache_write_5m * model.cache_write_price
        + usage.cache_write_1h * model.cache_write_1h_price
    )
    written = usage.output * model.output_price
    tokens = (read * dear.input_factor + written * dear.output_factor) / _MILLION
    return tokens + usage.web_searches * _WEB_SEARCH_PRICE


def resolve(name: str, env: Mapping[str, str], *, planning: bool = False) -> str:
    """The full id behind an alias; anything else is an id already."""
    base, long = (name[: -len(_LONG)], _LONG) if name.lower().endswith(_LONG) else (name, "")
    if env.get("CLAUDE_CODE_DISABLE_1M_CONTEXT") in ("1", "true"):
        long = ""
    alias = base.strip().lower()
    if alias == "opusplan":
        alias = "opus" if planning else "sonnet"
    if alias in ("", "default"):
        chosen = env.get("ANTHROPIC_MODEL") or env.get("ANTHROPIC_DEFAULT_MODEL") or "sonnet"
        alias = chosen if chosen.lower() not in ("default", "opusplan") else "sonnet"
        return resolve(alias + long, env)
    if alias not in _ALIASES:
        return base.strip() + long
    target = _first_set(env, *_OVERRIDES[alias]) or _ALIASES[alias]
    return target if target.endswith(_LONG) else target + long


def small_model(env: Mapping[str, str]) -> str:
    """The model for small questions on the side."""
    return resolve("haiku", env)


def normal(name: str) -> str:
    """An id without vendor prefix, date and variant: two ids of one model give the same."""
    name = name.removesuffix(_LONG).lower()
    start = name.find("claude-")
    if start >= 0:
        name = name[start:].replace(".", "-")
    return _VARIANT.sub("", name, count=1)


_VARIANT = re.compile(r"(?:-0)?(?:[-@]\d{8})?(?:-latest)?(?:-v\d+(?::\d+)?)?(?:@default)?$")
_USUAL_PRICE = LongPrompts(0, 1.0, 1.0)

_ALIASES: Mapping[str, str] = {
    "sonnet": "claude-sonnet-5-5",
    "opus": "claude-opus-5-5",
    "haiku": "claude-haiku-5-5",
    "fable": "claude-fable-5-1",
}
_OVERRIDES: Mapping[str, tuple[str, ...]] = {
    "sonnet": ("ANTHROPIC_DEFAULT_SONNET_MODEL",),
    "opus": ("ANTHROPIC_DEFAULT_OPUS_MODEL",),
    "haiku": ("ANTHROPIC_DEFAULT_HAIKU_MODEL", "ANTHROPIC_SMALL_FAST_MODEL"),
    "fable": ("ANTHROPIC_DEFAULT_FABLE_MODEL",),
}


def _first_set(env: Mapping[str, str], *names: str) -> str | None:
    return next((env[name] for name in names if env.get(name)), None)


def _priced(name: str, input: float, output: float, **facts: Any) -> Model:
    return Model(
        id=name,
        input_price=input,
        output_price=output,
        cache_read_price=input / 10,
        cache_write_price=input * 1.25,
        cache_write_1h_price=input * 2,
        **facts,
    )


def _newest(name: str, input: float, output: float, **facts: Any) -> Model:
    facts = {"thinking": "adaptive", "efforts": _ALL_EFFORTS} | facts
    sizes = {"context_window": _MILLION, "max_output": 128_000, "max_tokens": 128_000}
    return _priced(name, input, output, **sizes, **facts)


_SONNET_LONG = LongPrompts(200_000, 2.0, 1.5)

MODELS: tuple[Model, ...] = (
    _newest("claude-fable-5-1", 10, 50, thinking="always"),
    _newest("claude-fable-5", 10, 50, thinking="always"),
    _newest("claude-opus-5-5", 4, 20, thinking="always"),
    _newest("claude-opus-5", 5, 25),
    _newest("claude-opus-4-8", 5, 25),
    _newest("claude-opus-4-7", 5, 25),
    _newest("claude-sonnet-5-5", 2, 10),
    _newest("claude-sonnet-5", 2, 10),
    _newest("claude-haiku-5-5", 0.1, 0.5, long_prompts=LongPrompts(100_000, 5.0, 5.0)),
    _priced(
        "claude-opus-4-6",
        5,
        25,
        max_output=128_000,
        max_tokens=64_000,
        thinking="adaptive",
        efforts=("low", "medium", "high", "max"),
    ),
    _priced("claude-opus-4-5", 5, 25, thinking="budget", efforts=("low", "medium", "high")),
    _priced("claude-opus-4-1", 15, 75, max_output=32_000, thinking="budget"),
    _priced("claude-opus-4", 15, 75, max_output=32_000, thinking="budget"),
    _priced("claude-sonnet-4-6", 3, 15, thinking="adaptive", efforts=("low", "medium", "high", "max")),
    _priced("claude-sonnet-4-5", 3, 15, thinking="budget", long_prompts=_SONNET_LONG),
    _priced("claude-sonnet-4", 3, 15, thinking="budget", long_prompts=_SONNET_LONG),
    _priced("claude-haiku-4-5", 1, 5, thinking="budget"),
    _priced("claude-3-7-sonnet", 3, 15, thinking="budget"),
    _priced("claude-3-5-sonnet", 3, 15, max_output=8_192, max_tokens=8_192),
    _priced("claude-3-5-haiku", 0.8, 4, max_output=8_192, max_tokens=8_192),
    Model(
        id="offline",
        dialect="offline",
        label="a small built-in planner, not a language model: no key, no network, no cost",
    ),
)
_BY_NAME: Mapping[str, Model] = {model.id: model for model in MODELS}


def _known(name: str) -> Model:
    known = _BY_NAME.get(normal(name))
    if known is not None:
        return known
    # Models that this table does not know are newer than it, if they are the vendor's at all.
    if normal(name).startswith("claude-"):
        return Model(id=name, max_output=128_000, thinking="adaptive", efforts=_ALL_EFFORTS, priced=False)
    return Model(id=name, priced=False)


class _Entry(Struct, rename="camel", forbid_unknown_fields=False):
    """One of the user's `bridleModels`."""

    input_price: float | None = None
    output_price: float | None = None
    cache_read_price: float | None = None
    cache_write_price: float | None = None
    context_window: int | None = None
    max_output: int | None = None
    thinking: ThinkingStyle | bool | None = None
    dialect: str | None = None


def _overridden(model: Model, name: str, entry: Any) -> Model:
    try:
        given = msgspec.convert(entry, _Entry)
    except msgspec.ValidationError as error:
        raise ConfigError(f"The entry {name!r} of bridleModels cannot be used: {error}.") from error
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
    if given.cache_write_price is not None:
        changes["cache_write_1h_price"] = given.cache_write_price * 1.6
    if isinstance(given.thinking, bool):
        given.thinking = (
            ("budget" if model.thinking == "none" else model.thinking) if given.thinking else "none"
        )
    if given.max_output is not None:
        changes["max_tokens"] = min(model.max_tokens, given.max_output)
    plain = {key: value for key, value in msgspec.structs.asdict(given).items() if value is not None}
    return msgspec.structs.replace(model, **(changes | plain))
