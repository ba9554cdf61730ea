import gc
import os
import sys
import time

import pytest

from bridle.frontends.tui.chat.turn import TurnView
from bridle.frontends.tui.screen.screen import Screen
from bridle.frontends.tui.style.colors import ColorDepth
from bridle.frontends.tui.style.text import line
from bridle.frontends.tui.style.theme import make_theme
from bridle.frontends.tui.terminal.capabilities import Capabilities
from bridle.frontends.tui.terminal.terminal import Mode

_WARM = 200
_ANSWER = "Turn {n}: **words** with `code` {n}.\n\n- one {n}\n- two\n\n```python\nx = {n}\n```\n\nEnd {n}.\n"


class _Nowhere:
    """A terminal that counts what it is given and keeps none of it."""

    def __init__(self) -> None:
        self.capabilities = Capabilities(is_dumb=False, reflows=False, synchronized=True)
        self.is_lent = False
        self.size = os.terminal_size((100, 40))
        self.count = 0

    def write(self, text: str) -> None:
        self.count += len(text.encode())

    def turn_on(self, *modes: Mode) -> None:
        """Nothing has modes here."""

    def turn_off(self, mode: Mode) -> None:
        """Nothing has modes here."""

    def release(self, mode: Mode) -> str:
        return mode[1]


class _Talk:
    """A conversation that is shown as the application shows it: a frame after every few deltas."""

    def __init__(self) -> None:
        self.output = _Nowhere()
        self.screen = Screen(self.output, make_theme("dark", depth=ColorDepth.TRUE))
        self.live = TurnView(self.screen.write, width=lambda: 100, clock=time.monotonic)

    def turn(self, number: int) -> None:
        text = _ANSWER.format(n=number)
        self.live.say([line(f"❯ prompt {number}")])
        self.stream(text, piece=12, every=3)
        self.live.start_call(f"c{number}", "Bash", {"command": f"echo {number}"})
        self._draw()
        self.live.finish_call(f"c{number}", "done", content=f"{number}\n", data=None, seconds=0.1)
        self._draw()

    def stream(self, text: str, *, piece: int, every: int) -> None:
        """An answer in deltas of so many characters, with a frame after every few of them."""
        for count, at in enumerate(range(0, len(text), piece)):
            self.live.feed(text[at : at + piece])
            if count % every == 0:
                self._draw()
        self.live.end_text(text)
        self._draw()

    def _draw(self) -> None:
        box = [line("─" * 100), line("❯ "), line("─" * 100), line("sonnet · project")]
        rows = [*self.live.rows(100, frame=0), *box]
        self.screen.show(rows, (len(rows) - 3, 2))


@pytest.mark.parametrize("turns", [500, pytest.param(5_000, marks=pytest.mark.soak)])
def test_what_is_kept_does_not_grow_with_the_turns(turns: int):
    talk = _Talk()
    for number in range(_WARM):
        talk.turn(number)
    gc.collect()
    before = sys.getallocatedblocks()
    for number in range(_WARM, _WARM + turns):
        talk.turn(number)
    gc.collect()
    assert sys.getallocatedblocks() - before < 20_000


def test_the_terminal_is_written_at_most_three_times_the_text():
    talk = _Talk()
    text = "".join(
        f"Sentence {number} of an answer goes on with **words** and `code`. " for number in range(900)
    )
    text = text.replace("7 of an", "7 of an\n\n")
    talk.stream(text, piece=12, every=3)
    assert talk.output.count <= 3 * len(text)
