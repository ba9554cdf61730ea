"""Small programs that tests run in a real terminal."""

import asyncio
import os
import subprocess
import sys

from bridle.frontends.tui.first_frame import FirstFrame, paint_first_frame
from bridle.frontends.tui.screen.screen import Screen
from bridle.frontends.tui.style.colors import ColorDepth
from bridle.frontends.tui.style.text import Line, line
from bridle.frontends.tui.style.theme import make_theme
from bridle.frontends.tui.terminal.keys import Answer, Focus, Input, Key, Paste
from bridle.frontends.tui.terminal.terminal import FOCUS, Terminal


class Echo:
    """Shows what is typed in a box, and says what else happens in finished lines."""

    def __init__(self, terminal: Terminal) -> None:
        self.terminal = terminal
        self.screen = Screen(terminal, make_theme("dark", depth=ColorDepth.TRUE))
        self.typed = ""
        self.ended: asyncio.Future[int | None] = asyncio.get_running_loop().create_future()

    def on_input(self, given: Input, /) -> None:
        match given:
            case Key("d", ctrl=True):
                self.ended.set_result(0)
            case Key("z", ctrl=True):
                self.terminal.suspend()
            case Key("f", ctrl=True):
                self.screen.enter_full()
                self.screen.show_full([line("full view")])
            case Key("x", ctrl=True):
                raise RuntimeError("as asked")
            case Key("enter", shift=False):
                self.screen.write([line(f"said {self.typed}")])
                self.typed = ""
            case Key(text=text) if text:
                self.typed += text
            case Key():
                self.screen.write([line(f"key {given}")])
            case Paste(text):
                self.screen.write([line(f"pasted {len(text)}")])
            case Focus(gained):
                self.screen.write([line(f"focus {gained}")])
            case Answer(kind):
                self.screen.write([line(f"answer {kind}")])
        self.show()

    def on_resize(self) -> None:
        self.show()

    def on_resume(self) -> None:
        self.screen.restart()

    def on_end(self, signal_number: int | None, /) -> None:
        if path := os.environ.get("ENDED"):
            with open(path, "w", encoding="utf-8") as file:
                file.write(str(signal_number))
        if not self.ended.done():
            self.ended.set_result(signal_number)

    def show(self) -> None:
        edge = line("-" * self.screen.size.columns)
        middle: Line = line(f"> {self.typed}")
        self.screen.show([edge, middle, edge], (1, 2 + len(self.typed)))


def echo() -> int:
    """Run the program until ctrl+d."""
    return asyncio.run(_echo())


async def _echo() -> int:
    terminal = Terminal()
    app = Echo(terminal)
    terminal.parting = app.screen.parting
    with terminal:
        terminal.listen(app)
        app.show()
        code = await app.ended
    sys.stdout.write(f"ended {code}\n")
    return 0


def crash() -> int:
    """Take the terminal and fail."""
    terminal = Terminal()
    terminal.open()
    raise RuntimeError("as planned")


def leave_abruptly() -> int:
    """Take the terminal and leave without giving it back."""
    terminal = Terminal()
    terminal.open()
    terminal.write("here")
    sys.exit(3)


def start_with_a_frame() -> int:
    """Draw the first frame, then run the program in its place."""
    frame = paint_first_frame()
    assert frame is not None
    return asyncio.run(_take_over(frame))


def be_busy_behind_a_frame() -> int:
    """Draw the first frame and compute until a full stop was typed; then run the program in its place."""
    frame = paint_first_frame()
    assert frame is not None
    while "." not in frame.rows[1]:
        sum(range(1000))
    return asyncio.run(_take_over(frame))


async def _take_over(frame: FirstFrame) -> int:
    terminal = Terminal(before=frame.before)
    app = Echo(terminal)
    with terminal:
        typed = frame.hand_over()
        app.screen.adopt([line(text) for text in frame.rows], frame.cursor)
        terminal.listen(app, typed=typed)
        app.show()
        await app.ended
    return 0


def fail_after_a_frame() -> str:
    """Draw the first frame and find that nothing can be done."""
    if (frame := paint_first_frame()) is not None:
        frame.undo()
    return "no luck"


def crash_after_a_frame() -> int:
    """Draw the first frame and fail."""
    paint_first_frame()
    raise RuntimeError("as planned")


def box() -> int:
    """Run the program with finished lines above, silent about what the terminal answers."""
    return asyncio.run(_box())


async def _box() -> int:
    terminal = Terminal()
    app = Echo(terminal)
    app.screen.write([line(f"finished {number}") for number in range(20)])
    terminal.open(ask=False)
    terminal.turn_off(FOCUS)
    terminal.listen(app)
    app.show()
    await app.ended
    terminal.close()
    return 0


def lend() -> int:
    """Give the terminal to another program until that one is interrupted."""
    with Terminal() as terminal:
        with terminal.lent():
            subprocess.run(["sh", "-c", "echo the other program; exec sleep 60"], check=False)
        terminal.write("back\r\n")
    return 0
