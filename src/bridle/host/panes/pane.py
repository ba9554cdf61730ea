"""What every program that has panes can do."""

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from bridle.types.errors import BridleError


class PaneFault(BridleError):
    """There can be no pane, for the reason that the message gives."""


class Pane(Struct, frozen=True, kw_only=True):
    """A pane with a program in it."""

    id: str
    pid: int | None = None
    """The program's process, where that is known."""


class Panes(Protocol):
    """Opens panes and closes them again."""

    @property
    def hint(self) -> str | None:
        """How a person gets to see them; None where they are in view."""
        ...

    async def open(self, argv: Sequence[str], *, cwd: str, title: str, color: str) -> Pane:
        """Start a program in a pane of its own, which closes when the program ends.

        Raises:
            PaneFault: there can be none.
        """
        ...

    async def close(self, pane: Pane) -> None:
        """Close a pane with whatever runs in it; harmless when it is gone."""
        ...

    async def finish(self) -> None:
        """Put back what was changed for the panes; the last of them is closed."""
        ...
