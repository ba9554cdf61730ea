"""Prompts that were sent and wait for their turn, as the user sees them."""

from bridle.engine.server import Server
from bridle.frontends.tui.chat.submission import prompt_of
from bridle.frontends.tui.editing.editor import Draft
from bridle.frontends.tui.editing.input_area import InputArea
from bridle.types.event import PromptMoved
from bridle.types.ids import new_uuid


class PromptQueue:
    """Knows what the user typed for each prompt, and puts back into the box what is not wanted yet."""

    def __init__(self, server: Server, input: InputArea) -> None:
        self._server = server
        self._input = input
        self._waiting: dict[str, Draft] = {}
        self._shown: dict[str, str] = {}
        self._starting = ""

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def is_pending(self) -> bool:
        """Whether a prompt waits, or was taken by the engine and its turn has not begun."""
        return bool(self._waiting or self._starting)

    @property
    def texts(self) -> list[str]:
        """What waits, as it was typed."""
        return [draft.shown for draft in self._waiting.values()]

    def send(self, draft: Draft) -> None:
        """Hand a prompt to the engine."""
        uuid = new_uuid()
        self._waiting[uuid], self._shown[uuid] = draft, draft.shown
        self._server.submit(prompt_of(draft, uuid))

    def moved(self, event: PromptMoved) -> None:
        """A prompt left the queue, or came into it."""
        if event.state in ("started", "cancelled", "completed"):
            self._waiting.pop(event.prompt_uuid, None)
            self._starting = event.prompt_uuid if event.state == "started" else ""
        if event.state == "completed":
            self._shown.pop(event.prompt_uuid, None)

    def turn_ended(self) -> None:
        """What was taken has had its turn."""
        self._starting = ""

    def shown(self, uuid: str | None) -> str | None:
        """What the user saw of a prompt when they sent it."""
        return None if uuid is None else self._shown.get(uuid)

    def take_back(self) -> None:
        """Put what waits back into the box."""
        waiting = list(self._waiting.items())
        for uuid, _ in waiting:
            self._server.withdraw(uuid)
        self._waiting.clear()
        editor = self._input.editor
        for _, draft in waiting:
            editor.attachments.restore(draft.attachments)
        texts = [draft.shown for _, draft in waiting]
        editor.set("\n".join([*texts, editor.text] if editor.text else texts))
        self._input.refresh()
