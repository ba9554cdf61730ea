"""Small programs around the application, for tests in a real terminal."""

import asyncio
import signal
from collections.abc import Sequence

from bridle.frontends.tui.app import App
from bridle.frontends.tui.dialogs.confirm import Confirm
from bridle.frontends.tui.dialogs.menu import Choice
from bridle.frontends.tui.early_input import early_rows
from bridle.frontends.tui.first_frame import FirstFrame, paint_first_frame
from bridle.frontends.tui.keymap.keymap import default_keymap
from bridle.frontends.tui.screen.screen import Screen
from bridle.frontends.tui.screen.view import Frame
from bridle.frontends.tui.style.colors import ColorDepth
from bridle.frontends.tui.style.text import Line, line
from bridle.frontends.tui.style.theme import make_theme
from bridle.frontends.tui.terminal.keys import Answer, Focus, Key
from bridle.frontends.tui.terminal.terminal import Terminal


class Desk:
    """Opens dialogs, fails, and leaves, by single letters."""

    contexts = ()
    refresh = None

    def __init__(self, app: App) -> None:
        self._app = app
        self.typed = ""

    def above(self, width: int, height: int, /) -> Sequence[Line]:
        del width, height
        return [line("going on")]

    def below(self, width: int, height: int, /) -> Frame:
        del width, height
        return Frame([line(f"> {self.typed}")], (0, 2 + len(self.typed)))

    def press(self, key: Key, action: str | None, /) -> None:
        del action
        match str(key):
            case "ctrl+x":
                raise RuntimeError("as planned")
            case "ctrl+t":
                self._app.spawn(self._fail())
            case "ctrl+o":
                self._app.spawn(self._ask("usual", priority=0))
                self._app.spawn(self._ask("later", priority=0))
                self._app.spawn(self._ask("urgent", priority=5))
            case "ctrl+d":
                self._app.end(0)
            case _:
                self.typed += key.text

    def paste(self, text: str, /) -> None:
        self.typed += text

    def notice(self, given: Answer | Focus, /) -> None:
        """Nothing to do with it."""

    async def _fail(self) -> None:
        raise RuntimeError("beside the keys")

    async def _ask(self, name: str, *, priority: int) -> None:
        choices = (Choice(value="yes", label="yes"), Choice(value="no", label="no"))
        dialog = Confirm(name, lambda _: [], choices, cancel="no")
        dialog.panel.arm()
        picked = await self._app.open(dialog, priority=priority)
        self._app.write([line(f"{name} {picked.value if picked else 'taken away'}")])


def desk() -> int:
    """Run until ctrl+d."""
    return asyncio.run(_desk())


async def _desk() -> int:
    terminal = Terminal()
    screen = Screen(terminal, make_theme("dark", depth=ColorDepth.TRUE))
    terminal.parting = screen.parting
    with terminal:
        app = App(terminal, screen, default_keymap())
        app.stand_on(Desk(app))
        return await app.run()


def desk_later() -> int:
    """Go on where the first frame was; there is somebody to type to only after a signal."""
    frame = paint_first_frame()
    assert frame is not None
    return asyncio.run(_desk_later(frame))


async def _desk_later(frame: FirstFrame) -> int:
    terminal = Terminal(before=frame.before)
    screen = Screen(terminal, make_theme("dark", depth=ColorDepth.TRUE))
    with terminal:
        app = App(terminal, screen, default_keymap())
        typed = frame.hand_over()
        screen.adopt(early_rows(frame.rows[1], frame.columns), frame.cursor)
        app.shows_early = True
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGUSR1, lambda: app.stand_on(Desk(app)))
        return await app.run(typed=typed)
