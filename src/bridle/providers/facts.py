"""What is known of a model: how much it takes, what it can do, what it costs and how it is reached."""

from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct

from bridle.types.model import Thinking
from bridle.types.usage import Usage

ThinkingStyle = Literal["adaptive", "always", "budget", "none"]
"""The model decides how much; decides and cannot be switched off; is given a budget; cannot think."""


ALL_EFFORTS = ("low", "medium", "high", "xhigh", "max")
LONG = "[1m]"
"""Ends the id of a model that is asked with its long window."""
MILLION = 1_000_000
_WEB_SEARCH_PRICE = 0.01


class LongPrompts(Struct, frozen=True):
    """What a call costs more when its prompt is long."""

    above: int
    input_factor: float
    output_factor: float


class Access(Struct, frozen=True, kw_only=True):
    """How a user's own entry says that a model is reached."""

    dialect: str | None = None
    base_url: str | None = None
    key_env: str | None = None
    headers: tuple[tuple[str, str], ...] = ()
    quirks: Mapping[str, Any] = {}


class Model(Struct, frozen=True, kw_only=True):
    """What is known of a model; prices are dollars for a million tokens."""

    id: str
    dialect: str = "anthropic"
    vendor: str = "anthropic"
    """Whose service it is on; `anthropic` is the one that the environment names."""
    name: str = ""
    """What the service calls it, the id when empty."""
    access: Access | None = None
    context_window: int = 200_000
    window_known: bool = True
    """False when the size of the window is only assumed."""
    max_output: int = 64_000
    max_tokens: int = 32_000
    """The default limit of a request."""
    input_price: float = 0.0
    output_price: float = 0.0
    cache_read_price: float = 0.0
    cache_write_price: float = 0.0
    cache_write_1h_price: float = 0.0
    long_prompts: LongPrompts | None = None
    fast_factor: float = 0.0
    """How many times the usual price an answer in fast mode costs; 0 where the model has none."""
    priced: bool = True
    """False when the price is not known, and so counted as nothing."""
    thinking: ThinkingStyle = "none"
    efforts: tuple[str, ...] = ()
    top_effort: str = "high"
    """The highest effort that the service has a word for, where it is not ours."""
    tools: bool = True
    images: bool = True
    documents: bool = True
    label: str = ""

    @property
    def wire_name(self) -> str:
        return self.name or self.id.removesuffix(LONG)

    def default_thinking(self) -> Thinking | None:
        """How the model thinks by default."""
        match self.thinking:
            case "adaptive" | "always":
                return Thinking("adaptive")
            case "budget":
                return Thinking("enabled")
            case "none":
                return None


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
    tokens = (read * dear.input_factor + written * dear.output_factor) / MILLION
    if usage.fast:
        tokens *= model.fast_factor or 1.0
    return tokens + usage.web_searches * _WEB_SEARCH_PRICE


_USUAL_PRICE = LongPrompts(0, 1.0, 1.0)
