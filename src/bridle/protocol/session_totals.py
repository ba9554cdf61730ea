"""What a session has done so far, counted from its events."""

from bridle.tools.files.patches import changed_lines
from bridle.types.event import ConversationReset, Event, FromAgent, ToolFinished, TurnFinished
from bridle.types.turn import Outcome


class SessionTotals:
    """Lines changed and time spent, agents included; a new conversation begins at zero."""

    def __init__(self) -> None:
        self._clear()

    def take(self, event: Event) -> None:
        match event:
            case FromAgent(event=ToolFinished() as finished) | (ToolFinished() as finished):
                added, removed = changed_lines(finished.data)
                self.lines_added += added
                self.lines_removed += removed
            case TurnFinished():
                self.duration_ms += event.outcome.duration_ms
                self.api_duration_ms += event.outcome.duration_api_ms
            case ConversationReset():
                self._clear()
            case _:
                pass  # Nothing else is counted.

    def finish(self, outcome: Outcome | None) -> None:
        """The totals are read on demand."""

    def _clear(self) -> None:
        self.lines_added = self.lines_removed = 0
        self.duration_ms = self.api_duration_ms = 0
