"""Scheduled prompts as a feature; what keeps them is imported with the first."""

import os
from typing import TYPE_CHECKING, Any

from bridle.engine.feature import Feature
from bridle.features.context import FeatureContext
from bridle.types.services.schedules import SCHEDULES
from bridle.types.services.service import Service
from bridle.types.variables import is_on

if TYPE_CHECKING:
    from bridle.engine.assignment import Assignment
    from bridle.engine.calls.call import Call
    from bridle.engine.turn import Turn
    from bridle.features.schedules.session import SessionSchedules


class SchedulesFeature(Feature):
    name = "schedules"

    def __init__(self, context: FeatureContext) -> None:
        self._context = context
        self._made: SessionSchedules | None = None

    def part(self, key: Service[Any]) -> Any:
        return self._made if key is SCHEDULES else None

    def offer(self, key: Service[Any], call: "Call", turn: "Turn") -> Any:
        return self.schedules() if key is SCHEDULES else None

    async def begin(self) -> None:
        self._recall()
        context = self._context
        file = os.path.join(context.project, ".claude", "scheduled_tasks.json")
        if context.extends and context.lasting and self._is_on and os.path.exists(file):
            self.schedules().begin()

    def work(self) -> None:
        if self._made is not None:
            self._made.work()

    def rest(self) -> None:
        if self._made is not None:
            self._made.rest()

    def follow(self) -> None:
        if self._made is not None:
            self._made.forget()
        self._recall()

    def for_agent(self, work: "Assignment") -> Feature:
        return self

    async def close(self) -> None:
        if self._made is not None:
            await self._made.close()

    def schedules(self) -> "SessionSchedules":
        if self._made is None:
            from bridle.features.schedules.clock import SystemClock
            from bridle.features.schedules.file import ScheduleFile
            from bridle.features.schedules.session import ScheduleContext, SessionSchedules
            from bridle.transcripts.state_lines import note_scheduled

            context = self._context
            self._made = SessionSchedules(
                ScheduleContext(
                    wake=context.wake,
                    tell=context.tell,
                    file=ScheduleFile(context.project, context.env) if context.extends else None,
                    lasting=context.lasting,
                    clock=context.clock or SystemClock(),
                    keep=lambda scheduled: note_scheduled(context.session, scheduled),
                )
            )
        return self._made

    def _recall(self) -> None:
        """The prompts that this conversation had scheduled when it was last closed."""
        kept = self._context.session.state.scheduled
        if kept and self._is_on and self._context.lasting:
            self.schedules().restore(kept)

    @property
    def _is_on(self) -> bool:
        return not is_on(self._context.env, "CLAUDE_CODE_DISABLE_CRON")
