"""Auto mode as a feature; the judge is imported with the first call that would be asked about."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from bridle.engine.feature import Feature
from bridle.features.context import FeatureContext
from bridle.types.permission import Allow, Ask, Case, Decision

if TYPE_CHECKING:
    from bridle.engine.assignment import Assignment
    from bridle.engine.turn import Turn


class AutoModeFeature(Feature):
    name = "auto_mode"

    def __init__(self, judge: "Callable[[Turn, Case, Ask], Awaitable[Decision]]") -> None:
        self._judge = judge

    async def review(self, turn: "Turn", case: Case, decision: Decision) -> Decision:
        """A model settles what would be asked in auto mode, and commands that plan mode would refuse."""
        if isinstance(decision, Ask) and case.mode == "auto" and not decision.needs_person:
            return await self._judge(turn, case, decision)
        from bridle.permissions.auto.review import planning_doubt

        if (doubt := planning_doubt(case, decision)) is None:
            return decision
        reviewed = await self._judge(turn, case, doubt)
        return reviewed if isinstance(reviewed, Allow) else decision

    def for_agent(self, work: "Assignment") -> Feature:
        return self


def open_auto_mode(context: FeatureContext) -> AutoModeFeature:
    settings = context.config.settings

    async def judge(turn: "Turn", case: Case, doubt: Ask) -> Decision:
        from bridle.features.auto_mode.judge import make_judge

        during_plan = settings.use_auto_mode_during_plan is not False
        return await make_judge(settings.auto_mode, during_plan=during_plan)(turn, case, doubt)

    return AutoModeFeature(judge)
