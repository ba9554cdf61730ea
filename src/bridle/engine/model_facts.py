"""What is known of the models that a session may use."""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from bridle.engine.runtime import ModelFacts
from bridle.providers import catalog
from bridle.providers.catalog import Model
from bridle.transcripts.session import Session
from bridle.types.model import Thinking
from bridle.types.usage import Usage

SMALL_WINDOW = 16_384
"""A model with fewer tokens than this gets a short prompt and few tools."""

Facts = Callable[[str], ModelFacts]


class ModelSettings(Struct, frozen=True, kw_only=True):
    """What the user has said about all models."""

    own: Mapping[str, Any] = {}
    """Models of the user's settings."""
    thinking: Thinking | None = None
    """How models that can think do it; None for the usual way of each."""
    fixed_budget: bool = False
    """Models that can do with a budget for thinking have one."""
    summarized: bool = False
    """Summaries of the thinking are asked for."""
    window: int | None = None
    """The window of every model, whatever it says of itself."""
    lenient: bool = False
    """The service is left to say that a conversation is too long where the window is only guessed."""
    efforts: tuple[str, ...] | None = None
    """The levels of effort of every model."""


def known_models(wishes: ModelSettings) -> Facts:
    """What the engine must know of any model, looked up once each."""
    known: dict[str, ModelFacts] = {}

    def facts(name: str) -> ModelFacts:
        if name not in known:
            known[name] = _facts(catalog.find(name, wishes.own), wishes)
        return known[name]

    return facts


def window_in_use(facts: Facts, session: Session) -> Callable[[], int]:
    """How many tokens the model that answers now can hold."""
    return lambda: facts(session.state.model).context_window


def has_small_window(facts: Facts) -> Callable[[str], bool]:
    """Which models have so small a window that they get a short prompt."""
    return lambda model: facts(model).context_window < SMALL_WINDOW


def _facts(model: Model, wishes: ModelSettings) -> ModelFacts:
    def cost(usage: Usage) -> float:
        return catalog.cost(model, usage)

    thinks = model.thinking != "none"
    known_window = wishes.window is not None or model.window_known
    usual = _usual_thinking(model, wishes)
    return ModelFacts(
        context_window=wishes.window or model.context_window,
        window_enforced=not wishes.lenient or known_window,
        max_output=model.max_output,
        max_tokens=model.max_tokens,
        thinking=(wishes.thinking or usual) if thinks else None,
        efforts=model.efforts if wishes.efforts is None else wishes.efforts,
        cost=cost,
        is_priced=model.priced,
        fast_factor=model.fast_factor if model.vendor == "anthropic" else 0.0,
    )


def _usual_thinking(model: Model, wishes: ModelSettings) -> Thinking | None:
    """How a model thinks when nothing else is said."""
    budgeted = wishes.fixed_budget and catalog.normal(model.id).endswith("-4-6")
    thinking = Thinking("enabled") if budgeted else model.default_thinking()
    if thinking is None or thinking.mode == "disabled" or not wishes.summarized:
        return thinking
    return msgspec.structs.replace(thinking, display="summarized")
