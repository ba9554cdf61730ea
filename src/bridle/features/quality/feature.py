"""Signs of trouble as a feature: looked for after turns, without a model."""

from typing import TYPE_CHECKING

from bridle.engine.feature import Feature
from bridle.features.context import FeatureContext
from bridle.types.variables import is_off

if TYPE_CHECKING:
    from bridle.engine.turn import Turn
    from bridle.types.turn import Outcome


class QualityFeature(Feature):
    name = "quality"

    def __init__(self, project: str) -> None:
        self._project = project
        self._before = ""
        """The prompt before this one."""

    def after_turn(self, turn: "Turn", outcome: "Outcome") -> None:
        from bridle.features.quality.signals import keep, signs_of, words_of

        words = words_of(turn.prompt)
        found = signs_of(words, self._before, outcome)
        self._before = words or self._before
        if found:
            keep(turn.runtime.env, turn.session.id, self._project, found)

    def follow(self) -> None:
        self._before = ""


def open_quality(context: FeatureContext) -> QualityFeature | None:
    """At a terminal, unless the user wants none of it."""
    wanted = context.config.settings.bridle_quality_signals is not False
    if not wanted or is_off(context.env, "BRIDLE_QUALITY_SIGNALS"):
        return None
    return QualityFeature(context.project) if context.interactive and not context.closed else None
