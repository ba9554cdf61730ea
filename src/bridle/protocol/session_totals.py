"""How long the turns of a session took, counted from its events."""

from bridle.types.event import ConversationReset, Event, TurnFinished
from bridle.types.turn import Outcome


class SessionTotals:
    """The time of all turns; a new conversation begins at zero."""

    def __init__(self) -> None:
        self.duration_ms = 0

    def take(self, event: Event) -> None:
        match event:
            case TurnFinished():
                self.duration_ms += event.outcome.duration_ms
            case ConversationReset():
                self.duration_ms = 0
            case _:
                pass  # Nothing else is counted.

    def finish(self, outcome: Outcome | None) -> None:
        """The total is read on demand."""
