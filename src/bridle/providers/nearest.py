"""Names of models that are much like one that no service knows."""

from collections.abc import Mapping
from typing import Any

from bridle.providers import catalog
from bridle.types import nearest

_SUGGESTED = 3


def nearest_models(name: str, own: Mapping[str, Any] | None = None) -> tuple[str, ...]:
    """The names most like `name`, best first; `own` are the user's `bridleModels`."""
    known = (*catalog.ALIASES, *(own or {}), *(model.id for model in catalog.listed()))
    bare = {each.rpartition("/")[2]: each for each in reversed(known)}
    close = nearest.nearest(name, known, most=_SUGGESTED)
    close += [bare[each] for each in nearest.nearest(name.rpartition("/")[2], bare, most=_SUGGESTED)]
    return tuple(dict.fromkeys(each for each in close if each.lower() != name.lower()))[:_SUGGESTED]


def did_you_mean_model(name: str, own: Mapping[str, Any] | None = None) -> str:
    """The question whether a model like this one was meant, for the end of a sentence about a wrong name."""
    return nearest.question(nearest_models(name, own))


def alike(model: str) -> str:
    """The question whether a name like this one was meant, ready to be put before advice."""
    asked = did_you_mean_model(model).removeprefix(": ")
    return f"{asked} Else " if asked else ""
