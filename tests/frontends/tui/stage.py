"""Walks through the screens of the real program and compares each with the one that is kept.

The kept screens are `tests/frontends/tui/snapshots/<name>-<columns>x<rows>.txt`. `make screens` (or
`SCREENS=write` in the environment of pytest) writes them anew: read the diff before you commit it.
"""

import asyncio
import os
import re
import secrets
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct

from bridle.version import __version__
from tests.fakes.terminal import Emulator
from tests.frontends.tui.app.session import Terminal

SIZES = ((80, 24), (120, 40), (40, 20))
FOOT = "\nsonnet-5-5 ·"
"""How the last row begins while the prompt is there."""
ESC, UP, DOWN, RIGHT, TAB = "\x1b", "\x1b[A", "\x1b[B", "\x1b[C", "\t"
SHOWN_HOME = "/home/user-ada"
_KEPT = Path(__file__).parent / "snapshots"
_IS_WRITING = os.environ.get("SCREENS") == "write"
_QUIET_SECONDS = 0.5
_CHANGING = (
    (re.compile(r"\b\d+(\.\d+)? ?(ms|s)\b"), "#s"),
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}\b"), "<uuid>"),
    (re.compile(r"127\.0\.0\.1:\d{4,5}"), "127.0.0.1:####"),
    (re.compile(rf"\b{re.escape(__version__)}\b"), "<version>"),
    (re.compile(r"\b[\d.]+k? tokens( \([\d.]+%\))?"), "# tokens"),
    (re.compile(r"(size +)[\d.]+ KB"), r"\1# KB"),
    (re.compile(r"\b(\d+ of )\d{3}\b"), r"\1###"),
    (re.compile(r"(ripgrep|git) at [^│\n]*"), r"\1 at <path> "),
    (re.compile(r"run from source: [^│\n]*"), "run from source: <path>"),
    (re.compile(r"\(speaks [\d.]+\)"), "(speaks #)"),
    (re.compile(r"\bPython [\d.]+"), "Python #"),
    (re.compile(r"\b\d{4}-\d\d-\d\d\b"), "####-##-##"),
    (re.compile(r"(?<![\d-])\d\d-\d\d(?![\d-])"), "##-##"),
    (re.compile(r"Tip: [^\n]*"), "Tip: <tip>"),
    (re.compile(r"^[^\n]*: [^\n]* · /resume( continues it)?$", re.MULTILINE), "<when>: <last> · /resume"),
)
"""What differs from one run to the next."""


class Look(Struct, frozen=True):
    """A screen: the keys that lead to it, and what must and must not be on it."""

    name: str
    """Of the kept screen; empty for one that is only passed."""
    keys: str
    shows: Sequence[str]
    """A view in the place of the input is compared from the row with the first of these downward."""
    hides: Sequence[str] = ()


class Scene(Struct, frozen=True):
    """Screens that lead on from each other, and the way back."""

    looks: Sequence[Look]
    leave: str = ESC
    back: str = FOOT
    """What tells that everything was left; empty when nothing has to be waited for."""


class Home:
    """A home whose name always has the same length, so that rows break at the same places."""

    def __init__(self) -> None:
        self.path = Path("/tmp") / f"b{secrets.token_hex(4)}"

    def __enter__(self) -> "Home":
        self.path.mkdir()
        return self

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self.path, ignore_errors=True)

    def hide(self, text: str) -> str:
        """The text without what is special to this run."""
        real = str(self.path)
        text = _renamed(text, real, SHOWN_HOME)
        text = _renamed(text, real.replace("/", "-"), SHOWN_HOME.replace("/", "-"))
        for size in range(len("/tmp/b"), len(real)):
            text = text.replace(f"{real[:size]}…", f"{SHOWN_HOME[:size]}…")
        for pattern, shown in _CHANGING:
            text = pattern.sub(shown, text)
        return text


def _renamed(text: str, real: str, shown: str) -> str:
    """The text with another name of the same length, also where a row ends in the middle of it."""
    broken = re.compile(r"(\n *)?".join(map(re.escape, real)))

    def rename(match: re.Match[str]) -> str:
        letters = iter(shown)
        return re.sub(
            r"\n *|.", lambda part: part[0] if part[0].startswith("\n") else next(letters), match[0]
        )

    return broken.sub(rename, text)


async def walk(terminal: Terminal, home: Home, scenes: Sequence[Scene], size: tuple[int, int]) -> None:
    """See every screen of the scenes in their order.

    Raises:
        AssertionError: one does not come or has changed; all that have changed are named at the end.
    """
    changed: list[str] = []
    for scene in scenes:
        for look in scene.looks:
            terminal.type(look.keys)
            await terminal.until(lambda screen, look=look: _is_reached(screen, look))
            if look.name:
                changed += await _compare(terminal, home, look, size)
        terminal.type(scene.leave)
        if scene.back:
            await terminal.until(lambda screen, scene=scene: _is_back(screen, scene))
    assert not changed, "\n\n".join(changed)


async def _compare(terminal: Terminal, home: Home, look: Look, size: tuple[int, int]) -> list[str]:
    path = _KEPT / f"{look.name}-{size[0]}x{size[1]}.txt"

    def shown() -> str:
        return home.hide(_picture(terminal.emulator, look))

    if _IS_WRITING:
        await settled(shown)
        path.write_text(shown(), encoding="utf-8")
        return []
    wanted = path.read_text(encoding="utf-8")
    try:
        await terminal.until(lambda _: shown() == wanted)
    except AssertionError:
        return [f"{path.name} is now\n{shown()}instead of\n{wanted}"]
    return []


async def settled(shown: Callable[[], str]) -> None:
    """Wait until a picture stands still; only for keeping it."""
    seen = ""
    while seen != shown():
        seen = shown()
        await asyncio.sleep(_QUIET_SECONDS)


def _picture(screen: Emulator, look: Look) -> str:
    rows = screen.rows
    first = 0
    if not screen.is_alternate:
        first = max((at for at, row in enumerate(rows) if look.shows[0] in row), default=0)
    text = "\n".join(rows[first:]).rstrip()
    row, column = screen.cursor
    place = f"{row - first + 1}:{column + 1}" if screen.is_cursor_shown else "hidden"
    return f"{text}\n[cursor {place}]\n"


def _is_reached(screen: Emulator, look: Look) -> bool:
    text = f"\n{screen.text}"
    return all(each in text for each in look.shows) and not any(each in text for each in look.hides)


def _is_back(screen: Emulator, scene: Scene) -> bool:
    return scene.back in f"\n{screen.text}" and not screen.is_alternate
