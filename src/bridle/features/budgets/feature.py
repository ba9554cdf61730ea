"""Budgets as a feature: a ledger around the model, and prompts that ask for a number of tokens."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from bridle.engine.feature import Feature
from bridle.features.context import FeatureContext
from bridle.types.services.service import Service
from bridle.types.services.session import TOKEN_GOAL
from bridle.types.turn import Prompt

if TYPE_CHECKING:
    from bridle.engine.assignment import Assignment
    from bridle.engine.turn import Turn
    from bridle.features.budgets.token_goal import TokenGoal
    from bridle.types.model import Provider


class BudgetsFeature(Feature):
    name = "budgets"

    def __init__(self, meter: "Callable[[Provider], Provider] | None" = None) -> None:
        self._meter = meter
        self._goals: WeakKeyDictionary[Turn, TokenGoal | None] = WeakKeyDictionary()
        """What the prompts of turns ask to be used."""

    def part(self, key: Service[Any]) -> Any:
        return _tokens_wanted if key is TOKEN_GOAL else None

    def provider(self, provider: "Provider") -> "Provider":
        return provider if self._meter is None else self._meter(provider)

    def more_work(self, turn: "Turn") -> str | None:
        """Why the turn continues, where its prompt asked for a certain effort."""
        if turn not in self._goals:
            from bridle.features.budgets.token_goal import goal_of

            self._goals[turn] = goal_of(turn.prompt)
        goal = self._goals[turn]
        return None if goal is None else goal.nudge(turn.usage.output)

    def for_agent(self, work: "Assignment") -> Feature:
        return self

    def for_hook_agent(self) -> Feature:
        return self


def open_budgets(context: FeatureContext) -> BudgetsFeature:
    """With the ledger, where budgets are set or usage is to be recorded."""
    settings = context.config.settings
    if settings.bridle_budgets is None and not settings.bridle_record_usage:
        return BudgetsFeature()

    def meter(provider: "Provider") -> "Provider":
        from bridle.features.budgets.metered_provider import metered

        return metered(provider, context)

    return BudgetsFeature(meter)


def _tokens_wanted(prompt: Prompt) -> int | None:
    from bridle.features.budgets.token_goal import goal_of

    goal = goal_of(prompt)
    return None if goal is None else goal.goal
