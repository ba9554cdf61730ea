import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from bridle.frontends.tui.app import GUARD_SECONDS, App
from bridle.frontends.tui.keymap.keymap import default_keymap
from bridle.frontends.tui.screen.screen import Screen
from bridle.frontends.tui.screen.view import Frame
from bridle.frontends.tui.style.colors import ColorDepth
from bridle.frontends.tui.style.text import Line
from bridle.frontends.tui.style.theme import make_theme
from bridle.frontends.tui.terminal.keys import Answer, Focus, Key, KeyReader, Paste
from bridle.frontends.tui.terminal.terminal import Terminal
from tests.frontends.tui.app.dialogs import every_dialog

_TYPED = (b"y", b"1", b"2", b"\r", b"n", b" ", b"\t", b"\x1b[B\r", b"\x1b[200~y\r1\r\x1b[201~")
_NAMES = [name for name, _ in every_dialog()]


class _Draft:
    """Where keys go while no question takes them."""

    contexts = ()
    refresh = None

    def __init__(self) -> None:
        self.got: list[Key | str] = []

    def above(self, width: int, height: int, /) -> Sequence[Line]:
        del width, height
        return []

    def below(self, width: int, height: int, /) -> Frame:
        del width, height
        return Frame([])

    def press(self, key: Key, action: str | None, /) -> None:
        del action
        self.got.append(key)

    def paste(self, text: str, /) -> None:
        self.got.append(text)

    def notice(self, given: Answer | Focus, /) -> None:
        """Nothing to do with it."""


class _Desk:
    """An application whose clock stands still unless it is moved."""

    def __init__(self) -> None:
        self.now = 100.0
        terminal = Terminal(env={"TERM": "xterm"}, guarded=False)
        screen = Screen(terminal, make_theme("dark", depth=ColorDepth.TRUE))
        self.app = App(terminal, screen, default_keymap(), clock=lambda: self.now)
        self.draft = _Draft()
        self.app.stand_on(self.draft)

    async def ask(self, name: str) -> asyncio.Task[Any]:
        dialog: Any = dict(every_dialog())[name]
        asked = asyncio.create_task(self.app.open(dialog, guard=GUARD_SECONDS))
        await asyncio.sleep(0)
        return asked

    def type(self, data: bytes) -> int:
        """Press keys; how many there were."""
        reader = KeyReader()
        given = [each for each in (*reader.feed(data), *reader.flush()) if isinstance(each, Key | Paste)]
        for each in given:
            self.app.on_input(each)
        return len(given)


@pytest.mark.parametrize("name", _NAMES)
async def test_keys_typed_before_and_right_after_a_question_appeared_do_not_answer_it(name: str):
    desk = _Desk()
    before = desk.type(b"y\r")
    asked = await desk.ask(name)
    count = before
    for typed in _TYPED * 3:
        desk.now += GUARD_SECONDS * 0.9
        count += desk.type(typed)
        await asyncio.sleep(0)
        assert not asked.done(), f"{typed!r} answered"
    assert len(desk.draft.got) == count
    asked.cancel()


@pytest.mark.parametrize("name", _NAMES)
async def test_a_question_takes_keys_once_nobody_has_typed_for_a_moment(name: str):
    desk = _Desk()
    asked = await desk.ask(name)
    desk.type(b"y")
    desk.now += GUARD_SECONDS
    desk.type(b"\x1b")
    async with asyncio.timeout(50):
        await asked
    assert len(desk.draft.got) == 1


async def test_the_next_question_has_a_guard_of_its_own():
    desk = _Desk()
    first = await desk.ask("bash")
    second = await desk.ask("edit")
    desk.now += GUARD_SECONDS
    desk.type(b"y")
    async with asyncio.timeout(50):
        await first
    desk.type(b"y1\r")
    await asyncio.sleep(0)
    assert not second.done()
    second.cancel()
