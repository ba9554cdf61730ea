"""The plugins of a session as a feature: what is on, and hints at others that fit the work."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from bridle.engine.feature import Feature, SideTask
from bridle.features.context import FeatureContext
from bridle.types.services.plugins import PLUGINS
from bridle.types.services.service import Service

if TYPE_CHECKING:
    from bridle.engine.assignment import Assignment
    from bridle.engine.runtime import Runtime
    from bridle.features.plugins.hints import PluginHints
    from bridle.transcripts.session import Session
    from bridle.types.turn import Outcome


class PluginsFeature(Feature):
    name = "plugins"

    def __init__(self, context: FeatureContext) -> None:
        self._context = context
        self._hints: PluginHints | None = None

    def part(self, key: Service[Any]) -> Any:
        return self._context.plugins if key is PLUGINS else None

    def side_tasks(self) -> Mapping[str, SideTask]:
        wanted = self._context.config.settings.plugin_suggestion_marketplaces
        return {"plugins": self._hint} if wanted else {}

    def for_agent(self, work: "Assignment") -> Feature:
        return self

    async def _hint(self, session: "Session", runtime: "Runtime", outcome: "Outcome") -> None:
        if self._hints is None:
            from bridle.features.plugins.hints import PluginHints
            from bridle.features.plugins.suggestion_sources import around_plugins, suggesting_marketplaces

            context = self._context
            config = context.config
            named = suggesting_marketplaces(config.settings, closed=context.closed)
            self._hints = PluginHints(around_plugins(config, context.env, cwd=context.project), named)
        await self._hints(session, runtime, outcome)
