"""Which service a model's name leads to, as far as the name alone tells."""

from collections.abc import Iterable, Mapping
from typing import Any

ANTHROPIC = "anthropic"
NAMING = ("ANTHROPIC_MODEL", "ANTHROPIC_DEFAULT_MODEL")
"""Variables with which users choose their model."""
_ALIASES = frozenset(("", "default", "inherit", "sonnet", "opus", "haiku", "fable", "best", "opusplan"))
_LONG = "[1m]"


def service_of(name: str) -> str:
    """The service that a name stands for: what is before the slash, or Anthropic for its own names.

    A bare name of another vendor stands for itself: which service has it is not known here.
    """
    name = name.strip().lower().removesuffix(_LONG).strip()
    if name in _ALIASES:
        return ANTHROPIC
    before, slash, _ = name.partition("/")
    if slash:
        return before
    own = name.startswith("claude-") or name.startswith("anthropic.claude-") or ".anthropic.claude-" in name
    return ANTHROPIC if own else name


class OwnModels:
    """The models that a user has named, and with them the services that their conversations go to."""

    def __init__(self, names: Iterable[str], aliases: Mapping[str, Any] | None = None) -> None:
        named = [name for name in names if name.strip()]
        self._services = {service_of(name) for name in named} or {ANTHROPIC}
        self._aliases = frozenset(aliases or ())

    def cover(self, name: object) -> bool:
        """Whether a folder may name this model: it is on a service that the user's own models are on."""
        return isinstance(name, str) and (name.strip() in self._aliases or service_of(name) in self._services)


def own_models(values: Mapping[str, Any], more: Iterable[str] = ()) -> OwnModels:
    """What the user's own settings name, and `more` that flags or variables do.

    The first model that counts decides alone whether Anthropic is one of the services: a user whose model is
    elsewhere has not chosen it.
    """
    names = [*more, *_texts(values.get("model"))]
    others = (values.get(key) for key in ("fallbackModel", "advisorModel", "availableModels"))
    listed = [name for each in others for name in _texts(each)]
    if not names and listed:
        names = ["default"]
    return OwnModels([*names, *listed], values.get("bridleModels"))


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return value.split(",")
    return [each for each in value if isinstance(each, str)] if isinstance(value, list | tuple) else []
