"""Features whose code is imported at the first moment that concerns them."""

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bridle.engine.feature import Feature

AFTERWARDS = frozenset((
    "close", "end_turn", "follow", "interrupt", "move_to_background", "owes_turn", "release", "reload",
    "remarks", "rest", "wait_for_more",
))  # fmt: skip
"""Moments that concern what has begun: a feature that was never opened has nothing to end or to repeat."""


class LazyFeature:
    """Stands for a feature in a session until it is opened."""

    def __init__(
        self, opener: "Callable[[], Feature | None]", *, at: Sequence[str], keys: Sequence[str] = ()
    ) -> None:
        self.open = opener
        self.at = frozenset(at)
        """Moments that open it."""
        self.keys = frozenset(keys)
        """Names of the services that it offers."""


class FeatureList:
    """Features in their order, opened as they are needed."""

    def __init__(self, members: "Sequence[Feature | LazyFeature]") -> None:
        self._places = members
        self.features = _opened(members)

    def open(self, concerns: Callable[[LazyFeature], bool]) -> bool:
        """Open the features that something concerns; whether there were any."""
        if len(self.features) == len(self._places):
            return False
        if not any(isinstance(each, LazyFeature) and concerns(each) for each in self._places):
            return False
        places: list[Feature | LazyFeature] = []
        for each in self._places:
            feature = each.open() if isinstance(each, LazyFeature) and concerns(each) else each
            places += [] if feature is None else [feature]
        self._places = places
        self.features = _opened(places)
        return True


def _opened(members: "Sequence[Feature | LazyFeature]") -> "tuple[Feature, ...]":
    return tuple(each for each in members if not isinstance(each, LazyFeature))


def imported(path: str) -> "Callable[..., Feature | None]":
    """The function or class that opens a feature, from `module:name`."""
    module, _, name = path.partition(":")
    return getattr(import_module(module), name)
