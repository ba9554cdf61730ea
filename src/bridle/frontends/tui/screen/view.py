"""What takes the keys and a part of the screen for a while: a dialog, a picker, a browser.

`value = await app.open(view)` shows a view, hands it every key and paste, and returns what it was closed
with; None when the program takes it away (the turn that it belongs to was interrupted, or everything ends).
Views that are opened while another one is shown wait for it. An inline view stands in the place of the
input, below the running turn; a full one covers the window. Rows must fit the width they were rendered for.

A view that changes without input, such as one that follows a running job, calls `app.redraw()`, or names the
seconds between two drawings in `refresh`.
"""

from collections.abc import Sequence
from typing import Generic, Protocol, TypeVar

from msgspec import Struct

from bridle.frontends.tui.keymap.keymap import Keymap
from bridle.frontends.tui.screen.live_region import Cursor
from bridle.frontends.tui.style.text import Line
from bridle.frontends.tui.terminal.keys import Answer, Focus, Key

T = TypeVar("T")


class Frame(Struct, frozen=True):
    """A view as it stands."""

    lines: Sequence[Line]
    cursor: Cursor | None = None
    """Row and column; None hides the cursor."""


class Closed(Struct, Generic[T], frozen=True):
    """The view is done, with this result."""

    value: T


class View(Protocol[T]):
    """Something that is shown until it is closed."""

    @property
    def is_full(self) -> bool:
        """Whether it covers the window; otherwise it stands in the place of the input."""
        ...

    @property
    def contexts(self) -> tuple[str, ...]:
        """Where keys are looked up, innermost first: names of `bindings.CONTEXTS`.

        A view with a field for text names none while the field is typed in, so that letters stay letters.
        """
        ...

    @property
    def refresh(self) -> float | None:
        """Seconds after which to render again although nothing was pressed."""
        ...

    def render(self, width: int, height: int, keys: Keymap, /) -> Frame:
        """The rows to show, with hints that name these keys.

        `height` is all there is, and an inline view should leave most of it alone.
        """
        ...

    def press(self, key: Key, action: str | None, /) -> Closed[T] | None:
        """A key, with the action that it is bound to in the contexts; returns what to close with.

        Without contexts of its own a view still gets ctrl+c and escape as keys, and should close on them.
        """
        ...

    def paste(self, text: str, /) -> None:
        """Text that came in one piece; never a reason to close."""
        ...


class BaseView(Protocol):
    """The conversation, for an application that knows nothing else about it."""

    @property
    def contexts(self) -> tuple[str, ...]: ...

    @property
    def refresh(self) -> float | None:
        """Seconds after which to draw again although nothing has happened."""
        ...

    def above(self, width: int, height: int, /) -> Sequence[Line]:
        """The running turn."""
        ...

    def below(self, width: int, height: int, /) -> Frame:
        """Where the user types."""
        ...

    def press(self, key: Key, action: str | None, /) -> None: ...

    def paste(self, text: str, /) -> None: ...

    def notice(self, given: Answer | Focus, /) -> None:
        """News of the terminal."""
        ...
