"""How the settings, the flags and the terminal itself decide what everything looks like."""

from pathlib import Path
from typing import Any

import pytest

from bridle.frontends.tui.style.colors import ColorDepth
from bridle.frontends.tui.style.palettes import NAMES
from bridle.frontends.tui.style.theme import make_theme
from tests.fakes.messages_server import step
from tests.frontends.tui.app.session import bridle

_WHITE = "\x1b]11;rgb:ffff/ffff/ffff\x1b\\"


def _accent(name: str, depth: ColorDepth = ColorDepth.TRUE) -> bytes:
    return make_theme(name, depth=depth).color_code("accent").encode()


@pytest.mark.parametrize("name", ["light", "dark"])
async def test_the_theme_of_the_settings_is_used_whatever_the_terminal_says(tmp_path: Path, name: str):
    async with bridle(tmp_path, settings={"theme": name}, COLORTERM="truecolor") as terminal:
        await terminal.ready()
        await terminal.until_written(_accent(name))
        terminal.type(_WHITE)
        await terminal.say("/theme")
        await terminal.until_text("enter use")
        other = "dark" if name == "light" else "light"
        assert _accent(other) not in terminal.output


async def test_a_terminal_with_a_light_background_gets_light_colors(tmp_path: Path):
    async with bridle(tmp_path, COLORTERM="truecolor") as terminal:
        await terminal.ready()
        assert _accent("light") not in terminal.output
        terminal.type(_WHITE)
        await terminal.until_written(_accent("light"))


@pytest.mark.parametrize(
    ("env", "depth"),
    [
        ({"COLORTERM": "truecolor"}, ColorDepth.TRUE),
        ({"COLORTERM": "", "TERM": "xterm-256color"}, ColorDepth.INDEXED),
        ({"COLORTERM": "", "TERM": "xterm"}, ColorDepth.BASIC),
    ],
)
async def test_colors_come_as_the_terminal_knows_them(tmp_path: Path, env: dict[str, str], depth: ColorDepth):
    options: dict[str, Any] = {"settings": {"theme": "dark"}, **env}
    async with bridle(tmp_path, **options) as terminal:
        await terminal.ready()
        await terminal.until_written(_accent("dark", depth))
        others = {
            each: _accent("dark", each) for each in (ColorDepth.TRUE, ColorDepth.INDEXED) if each is not depth
        }
        assert not any(b"\x1b[1;" + code in terminal.output for code in others.values())


@pytest.mark.parametrize(
    ("flags", "options"),
    [
        (("--ax-screen-reader",), {}),
        ((), {"settings": {"axScreenReader": True}}),
        ((), {"CLAUDE_AX_SCREEN_READER": "1"}),
    ],
    ids=["flag", "setting", "environment"],
)
async def test_who_is_read_to_gets_lines_alone(
    tmp_path: Path, flags: tuple[str, ...], options: dict[str, Any]
):
    async with bridle(tmp_path, [step("Forty-two.")], *flags, **options) as terminal:
        await terminal.until_text("bridle")
        terminal.type("what is it?\r")
        await terminal.until_text("Forty-two.")
        terminal.type("\x04\x04")
        await terminal.ended()
        # The setting is read after the first frame was drawn, which is taken back before anything is said.
        said = terminal.output.partition(b"bridle")[2]
        assert b"\x1b[A" not in said and "─" not in said.decode()


@pytest.mark.parametrize("name", NAMES)
def test_with_sixteen_colors_every_theme_uses_the_users_own(name: str):
    colors = make_theme(name, depth=ColorDepth.BASIC).colors
    assert [value for value in colors.values() if value is not None and value.startswith("#")] == []


@pytest.mark.parametrize("disabled", [True, False])
async def test_code_has_no_colors_where_the_settings_say_so(tmp_path: Path, disabled: bool):
    settings = {"theme": "dark", "syntaxHighlightingDisabled": disabled}
    answer = step("```python\nimport os\n```\nThat is all.")
    async with bridle(tmp_path, [answer], settings=settings, COLORTERM="truecolor") as terminal:
        await terminal.ready()
        await terminal.say("show")
        await terminal.until_text("That is all.")
        keyword = make_theme("dark", depth=ColorDepth.TRUE).color_code("code.keyword").encode()
        assert (keyword not in terminal.output) == disabled
