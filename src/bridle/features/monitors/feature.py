"""Monitors as a feature; what watches is imported with the first."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from bridle.engine.feature import Feature
from bridle.features.context import FeatureContext
from bridle.types.errors import ToolError
from bridle.types.services.monitors import MONITORS, PluginMonitor
from bridle.types.services.service import Service

if TYPE_CHECKING:
    from bridle.engine.assignment import Assignment
    from bridle.engine.calls.call import Call
    from bridle.engine.turn import Turn
    from bridle.features.monitors.session import SessionMonitors

_LONGEST_WATCH = 1800.0
_LONGEST_WATCH_IN_PRINT = 600.0


class MonitorsFeature(Feature):
    name = "monitors"

    def __init__(self, context: FeatureContext) -> None:
        self._context = context
        self._made: SessionMonitors | None = None
        self._begun: set[tuple[str, str]] = set()
        """Monitors of plugins that have begun, by plugin and name."""

    def part(self, key: Service[Any]) -> Any:
        return self._made if key is MONITORS else None

    def offer(self, key: Service[Any], call: "Call", turn: "Turn") -> Any:
        return self.monitors() if key is MONITORS else None

    async def begin(self) -> None:
        if self._context.extends and self._context.lasting:
            await self._start(lambda each: each.when == "always")

    async def reload(self) -> None:
        await self.begin()

    async def skill_called(self, name: str) -> None:
        if self._context.extends:
            await self._start(lambda each: _waits_for(each, name))

    def for_agent(self, work: "Assignment") -> Feature:
        return self

    async def close(self) -> None:
        if self._made is not None:
            await self._made.close()

    def monitors(self) -> "SessionMonitors":
        if self._made is None:
            from bridle.features.monitors.session import MonitorContext, SessionMonitors
            from bridle.features.schedules.clock import SystemClock

            context = self._context
            self._made = SessionMonitors(
                MonitorContext(
                    wake=context.wake,
                    tasks=lambda: context.workspace.tasks,
                    storage=context.storage,
                    longest=_LONGEST_WATCH if context.lasting else _LONGEST_WATCH_IN_PRINT,
                    clock=context.clock or SystemClock(),
                )
            )
        return self._made

    async def _start(self, is_due: Callable[[PluginMonitor], bool]) -> None:
        """Start the monitors of plugins that are due, each once."""
        context = self._context
        due = [
            each
            for each in context.plugin_monitors()
            if is_due(each) and (each.plugin, each.name) not in self._begun
        ]
        if not due:
            return
        from bridle.features.monitors.plugins import watch_of

        for each in due:
            self._begun.add((each.plugin, each.name))
            try:
                await self.monitors().start(
                    watch_of(each, cwd=context.workspace.start, env=context.env, sandbox=context.sandbox)
                )
            except ToolError as error:
                context.tell(f"Could not start the monitor {each.name} of the plugin {each.plugin}: {error}")


def _waits_for(monitor: PluginMonitor, skill: str) -> bool:
    kind, _, wanted = monitor.when.partition(":")
    return kind == "on-skill-invoke" and skill in (wanted, f"{monitor.plugin}:{wanted}")
