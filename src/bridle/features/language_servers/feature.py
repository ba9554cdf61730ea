"""Language servers as a feature; what speaks to them is imported where a plugin brings one."""

from typing import TYPE_CHECKING, Any

from bridle.engine.feature import Feature, RunningCall
from bridle.features.context import FeatureContext
from bridle.types.services.language_servers import LANGUAGES
from bridle.types.services.service import Service

if TYPE_CHECKING:
    from bridle.engine.assignment import Assignment
    from bridle.features.language_servers.session import SessionLanguages
    from bridle.transcripts.session import Session


class LanguageServersFeature(Feature):
    name = "language_servers"

    def __init__(self, context: FeatureContext) -> None:
        self._context = context
        self._made: SessionLanguages | None = None

    def part(self, key: Service[Any]) -> Any:
        return self.languages() if key is LANGUAGES else None

    def settle(self, running: RunningCall) -> None:
        """Servers look at the files of theirs that a call has written."""
        if running.written and (languages := self.languages()) is not None:
            languages.touch(running.turn.session, running.written)

    def reminder(self, session: "Session") -> str | None:
        """What servers have found wrong with files that the conversation has changed."""
        return None if self._made is None else self._made.news(session)

    async def reload(self) -> None:
        if self._made is not None:
            context = self._context
            await self._made.change(context.plugin_language_servers() if context.trusted else {})

    def for_agent(self, work: "Assignment") -> Feature:
        return self

    async def close(self) -> None:
        if self._made is not None:
            await self._made.close()

    def languages(self) -> "SessionLanguages | None":
        """None where there is no language server, or the folder is not trusted."""
        context = self._context
        if self._made is None and context.trusted and (entries := context.plugin_language_servers()):
            from bridle.features.language_servers.session import LanguageContext, SessionLanguages

            self._made = SessionLanguages(
                entries,
                LanguageContext(
                    root=lambda: context.workspace.start,
                    env=context.env,
                    tell=context.tell,
                    sandbox=context.sandbox,
                ),
            )
        return self._made
