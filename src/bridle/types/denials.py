"""How often auto mode has turned calls away, and when a person should look at it."""

from msgspec import Struct

_MOST_IN_A_ROW = 3
_MOST = 20


class Denials(Struct, frozen=True):
    """A child begins with the count of its parent, so that delegating work never starts it anew."""

    consecutive: int = 0
    total: int = 0

    def plus_one(self) -> "Denials":
        return Denials(self.consecutive + 1, self.total + 1)

    def after_success(self) -> "Denials":
        """The row is broken; the same value when there is none."""
        return Denials(0, self.total) if self.consecutive else self

    @property
    def exhausted(self) -> bool:
        """Whether a refusal is by now a question for a person."""
        return self.consecutive >= _MOST_IN_A_ROW or self.total >= _MOST
