"""The conversation of an agent while it works: what it says and does, a message to it, and a stop."""

from collections.abc import Callable, Sequence
from typing import Any

from bridle.frontends.tui.keymap.labels import ACCEPT, CLOSE, Hint
from bridle.frontends.tui.render.layout import MUTED, one_line, style
from bridle.frontends.tui.screen.view import Closed
from bridle.frontends.tui.screens.conversation.transcript import TranscriptView
from bridle.frontends.tui.screens.conversation.transcript_items import TranscriptItem
from bridle.frontends.tui.screens.session.tasks import MessageAgent, StopTask
from bridle.frontends.tui.style import cells
from bridle.frontends.tui.style.text import Line, Span
from bridle.frontends.tui.terminal.keys import Key
from bridle.frontends.tui.widgets.text_field import Signal, TextField
from bridle.types.command import Says


class AgentConversation(TranscriptView):
    """A transcript from which its agent can be written to and stopped."""

    def __init__(
        self,
        passages: Sequence[TranscriptItem],
        *,
        id: str,
        title: str,
        do: Callable[[Any], None],
        is_running: Callable[[], bool],
    ) -> None:
        super().__init__(passages, title=title, do=do, expanded=True)
        self._id = id
        self._is_running = is_running
        self._message: TextField | None = None
        self._asks_to_stop = False
        self._said = Says()

    @property
    def contexts(self) -> tuple[str, ...]:
        is_asking = self._message is not None or self._asks_to_stop
        return () if is_asking else super().contexts

    def tell(self, said: Says) -> None:
        """Show what came of a message or a stop."""
        self._said = said

    def press(self, key: Key, action: str | None) -> Closed[Any] | None:
        if self._message is not None:
            self._press_message(self._message, key)
            return None
        if self._asks_to_stop:
            self._asks_to_stop = False
            if key.text == "y":
                self._act(StopTask(self._id))
            return None
        if self._field is None and key.text in ("m", "s"):
            self._said = Says()
            if key.text == "m":
                self._message = TextField()
            else:
                self._asks_to_stop = self._is_running()
            return None
        return super().press(key, action)

    def paste(self, text: str) -> None:
        if self._message is not None:
            self._message.paste(text)
        else:
            super().paste(text)

    def _press_message(self, field: TextField, key: Key) -> None:
        signal = field.press(key)
        if signal in (Signal.ACCEPTED, Signal.CANCELLED):
            self._message = None
        if signal is Signal.ACCEPTED and (text := field.text.strip()):
            self._act(MessageAgent(self._id, text))

    def _act(self, wish: Any) -> None:
        if self._do is not None:
            self._do(wish)

    def _bottom(self, width: int) -> tuple[Line, int | None]:
        if self._message is not None:
            return self._message.line("message: ", width, placeholder="message to the agent")
        if self._asks_to_stop:
            question: Line = (Span("Stop it and everything it started? y / n", style("warning")),)
            return cells.truncate(question, width), None
        line, cursor = super()._bottom(width)
        if self._field is not None:
            return line, cursor
        if self._said.text:
            color = style("error") if self._said.is_error else style("success")
            return cells.truncate((Span(one_line(self._said.text), color),), width), None
        state = "running" if self._is_running() else "ended"
        return cells.truncate((*line, Span(f" · {state}", MUTED)), width), cursor

    def _hints(self) -> list[Hint]:
        if self._message is not None:
            return [(ACCEPT, "send"), (CLOSE, "discard the message")]
        if self._asks_to_stop:
            return [("y", "stop"), (CLOSE, "back")]
        found = super()._hints()
        if self._field is not None:
            return found
        return [("m", "message"), *([("s", "stop")] if self._is_running() else []), *found]
