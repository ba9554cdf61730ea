"""The channel of a session that is connected to an editor."""

from bridle.features.editors.session import SessionEditors
from bridle.tools.catalog import traits_of
from bridle.types.channel import Channel
from bridle.types.event import Event
from bridle.types.question import Answer, PermissionQuestion, Question

_SHOWN = ("edit", "write")
"""Kinds of calls whose change an editor can show."""


class EditorChannel:
    """Passes everything on; changes that wait for approval are shown in the editor, too."""

    def __init__(self, channel: Channel, editors: SessionEditors) -> None:
        self._channel = channel
        self._editors = editors

    def emit(self, event: Event) -> None:
        self._channel.emit(event)

    async def ask(self, question: Question) -> Answer:
        if not isinstance(question, PermissionQuestion) or traits_of(question.tool).kind not in _SHOWN:
            return await self._channel.ask(question)
        if (link := self._editors.diffing) is None:
            return await self._channel.ask(question)
        from bridle.features.editors.asking import ask_beside

        return await ask_beside(question, self._channel, self._editors, link)
