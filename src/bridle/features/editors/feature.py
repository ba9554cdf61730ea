"""The connection to an editor as a feature; its modules are imported when an editor is possible."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from bridle.engine.feature import Feature, RunningCall
from bridle.features.context import FeatureContext
from bridle.types.services.service import Service

if TYPE_CHECKING:
    from bridle.engine.assignment import Assignment
    from bridle.engine.turn import Turn
    from bridle.features.editors.choice import Choose
    from bridle.features.editors.session import SessionEditors
    from bridle.transcripts.session import Session
    from bridle.types.channel import Channel
    from bridle.types.tool import Tool, ToolContext, ToolOutput
    from bridle.types.turn import Prompt

EDITORS: "Service[SessionEditors]" = Service("editors", missing="This session has no connection to editors.")


class EditorsFeature(Feature):
    name = "editors"

    def __init__(self, editors: "SessionEditors") -> None:
        self._editors = editors

    def part(self, key: Service[Any]) -> Any:
        return self._editors if key is EDITORS else None

    def tools(self) -> "Sequence[Tool]":
        return self._editors.tools()

    def channel(self, channel: "Channel") -> "Channel":
        """Questions about changes are asked in the editor too."""
        from bridle.features.editors.channel import EditorChannel

        return EditorChannel(channel, self._editors)

    async def attach(self, turn: "Turn", prompt: "Prompt") -> "Prompt":
        """What the user has open and selected."""
        return prompt if prompt.verbatim else await self._editors.beside(turn, prompt)

    def reminder(self, session: "Session") -> str | None:
        """What the editor finds wrong with files that the conversation has changed."""
        return self._editors.news(session)

    async def before_call(self, running: RunningCall, context: "ToolContext") -> "ToolContext":
        await self._editors.foresee(running.written)
        return context

    def after_call(self, running: RunningCall, output: "ToolOutput") -> "ToolOutput":
        session, call = running.turn.session, running.allowed.call
        return self._editors.finish(session, call.id, output, running.written)

    def for_agent(self, work: "Assignment") -> Feature:
        return self

    async def close(self) -> None:
        await self._editors.close()


def open_editors(context: FeatureContext) -> EditorsFeature | None:
    """The place for an editor; the one that the session belongs to is looked for in the background."""
    if not (context.lasting or context.wants_editor) or context.closed:
        return None
    from bridle.config.state import global_config
    from bridle.features.editors.connector import ConnectorContext
    from bridle.features.editors.session import SessionEditors

    env = context.env
    editors = SessionEditors(
        ConnectorContext(
            workspace=context.workspace,
            env=env,
            tell=context.warn,
            wants=_wanted(context),
            insists=context.wants_editor,
            shows_changes=lambda: context.attended and global_config(env).diff_tool != "terminal",
        )
    )
    editors.begin()
    return EditorsFeature(editors)


def _wanted(context: FeatureContext) -> "Choose | None":
    """At a terminal the editor that it belongs to, or that the user wants; elsewhere only by the flag."""
    if not context.interactive and not context.wants_editor:
        return None
    from bridle.config.state import global_config
    from bridle.features.editors.choice import wanted_by

    always = global_config(context.env).auto_connect_ide is True
    return wanted_by(context.env, flag=context.wants_editor, always=always)
