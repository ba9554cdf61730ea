"""The advisor as a feature: a second model that the main one can ask; imported with the first question."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from bridle.engine.feature import Feature
from bridle.features.context import CommandCaller, FeatureContext
from bridle.types.command import Command, CommandResult
from bridle.types.errors import UsageError
from bridle.types.services.service import Service
from bridle.types.services.session import ADVISE

if TYPE_CHECKING:
    from bridle.config.load import Config
    from bridle.engine.assignment import Assignment
    from bridle.engine.calls.call import Call
    from bridle.engine.turn import Turn


class AdvisorFeature(Feature):
    """Agents have no advisor."""

    name = "advisor"

    def __init__(self, context: FeatureContext) -> None:
        self._context = context
        self._config = context.config

    def offer(self, key: Service[Any], call: "Call", turn: "Turn") -> Any:
        if key is not ADVISE:
            return None
        from bridle.features.advisor.advice import advise

        return partial(advise, turn)

    def commands(self) -> Sequence[Command]:
        return (
            Command(
                name="advisor",
                description="Choose an advisor model",
                run=self._run,
                argument_hint="[model|off]",
                complete=self._complete,
            ),
        )

    def reconfigure(self, before: "Config", now: "Config") -> None:
        self._config = now
        if now.settings.advisor_model == before.settings.advisor_model:
            return
        from bridle.features.advisor.choice import choose_advisor

        context = self._context
        try:
            advisor, doubts = choose_advisor(context.options.advisor, now, context.env)
        except UsageError as error:
            advisor, doubts = None, (str(error),)
        for doubt in doubts:
            context.warn(doubt)
        context.session.swap(advisor=advisor)

    def for_agent(self, work: "Assignment") -> None:
        return None

    async def _run(self, arguments: str, caller: CommandCaller) -> CommandResult:
        from bridle.features.advisor.command import advisor

        return await advisor(arguments, caller, self._config)

    def _complete(self, typed: str) -> tuple[str, ...]:
        from bridle.features.advisor.command import complete

        return complete(typed, self._config, self._context.env)
