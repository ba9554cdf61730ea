"""Names of models that are much like one that no service knows."""

from collections.abc import Mapping
from typing import Any

from bridle.providers import catalog

_SUGGESTED = 3


def nearest(name: str, own: Mapping[str, Any] | None = None) -> tuple[str, ...]:
    """The names most like `name`, best first; `own` are the user's `bridleModels`."""
    from difflib import get_close_matches

    known = (*catalog.ALIASES, *(own or {}), *(model.id for model in catalog.listed()))
    bare = {each.rpartition("/")[2].lower(): each for each in reversed(known)}
    whole = {each.lower(): each for each in known}
    wanted = name.lower()
    close = get_close_matches(wanted, whole, n=_SUGGESTED, cutoff=0.6)
    close += get_close_matches(wanted.rpartition("/")[2], bare, n=_SUGGESTED, cutoff=0.6)
    found = [whole.get(each) or bare[each] for each in close]
    return tuple(dict.fromkeys(each for each in found if each.lower() != wanted))[:_SUGGESTED]


def alike(model: str) -> str:
    """The question whether a name like this one was meant, ready to be put before advice."""
    close = nearest(model)
    return f"did you mean {' or '.join(close)}? Else " if close else ""
