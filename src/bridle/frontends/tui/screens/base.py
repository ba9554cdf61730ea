"""What a view needs of the program around it, and how it is kept up to date."""

from collections.abc import Awaitable, Callable
from typing import Any

from msgspec import Struct

from bridle.frontends.tui.keymap.keymap import Keymap
from bridle.frontends.tui.screen.view import View
from bridle.frontends.tui.widgets.pane import Do, nothing
from bridle.frontends.tui.widgets.tabs import TabbedView
from bridle.types.command import Says


class ScreenContext(Struct, frozen=True, kw_only=True):
    """What views need of the program around the session."""

    keymap: Keymap
    clock: Callable[[], float]
    """Seconds since the epoch."""
    do: Do = nothing
    """Called with what the user wants done while the screen stays open."""
    preview_theme: Callable[[str], None] = nothing
    keys_file: str = ""
    waiting: Callable[[], int] = int
    """How many questions wait until the view is closed."""
    arguments: str = ""
    """What the command named."""


class OpenScreen(Struct, frozen=True):
    """An opened view, and how it is brought up to date after something was done."""

    view: View[Any]
    renew: Callable[[], Awaitable[None]]
    tell: Callable[[Says], None] | None = None
    """Shows the result of an action; without it only errors are shown, below the screen."""


def renewed(
    sheet: TabbedView[Any], read: Callable[[], Awaitable[Any]], *, tell: Callable[[Says], None] | None = None
) -> OpenScreen:
    """A view that is shown again with what `read` finds."""

    async def renew() -> None:
        sheet.show(await read())

    return OpenScreen(sheet, renew, tell)


def fixed(view: View[Any], *, tell: Callable[[Says], None] | None = None) -> OpenScreen:
    """A view in which nothing changes while it is open."""

    async def renew() -> None:
        """Nothing in it changes while it is open."""

    return OpenScreen(view, renew, tell)
