"""What is shown when no view is open, and above those that do not cover the window."""

from collections.abc import Sequence
from typing import Protocol

from bridle.frontends.tui.keys import Answer, Focus, Key
from bridle.frontends.tui.text import Line
from bridle.frontends.tui.view import Frame


class Ground(Protocol):
    """The conversation, for an application that knows nothing else about it."""

    @property
    def contexts(self) -> tuple[str, ...]: ...

    @property
    def refresh(self) -> float | None:
        """Seconds after which to draw again although nothing has happened."""
        ...

    def above(self, width: int, height: int, /) -> Sequence[Line]:
        """What goes on."""
        ...

    def below(self, width: int, height: int, /) -> Frame:
        """Where the user types."""
        ...

    def press(self, key: Key, action: str | None, /) -> None: ...

    def paste(self, text: str, /) -> None: ...

    def notice(self, given: Answer | Focus, /) -> None:
        """News of the terminal."""
        ...
