"""What a session works towards until it holds."""

from collections.abc import Callable


class Goal:
    """Set and cleared by `/goal`; the terminal shows it."""

    def __init__(self) -> None:
        self.condition: str | None = None
        self.checks = 0
        """How often somebody looked whether it holds."""
        self.missing = ""
        """What was missing at the last look."""
        self._take_away: Callable[[], None] = lambda: None

    def set(self, condition: str, take_away: Callable[[], None]) -> None:
        """Work towards this; `take_away` ends the looking."""
        self.clear()
        self.condition, self._take_away = condition, take_away

    def clear(self) -> str | None:
        """Work towards nothing any more, and return what it was."""
        before, self.condition = self.condition, None
        self.checks, self.missing = 0, ""
        self._take_away()
        self._take_away = lambda: None
        return before
