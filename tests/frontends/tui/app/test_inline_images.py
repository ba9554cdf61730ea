"""Images in a conversation at a real terminal."""

from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from tests.fakes.messages_server import step
from tests.frontends.tui.app.session import bridle

_DRAWN = b"\x1b]1337;File=inline=1;size="


def _read(path: Path) -> dict[str, Any]:
    return {"type": "tool_use", "id": "toolu_r", "name": "Read", "input": {"file_path": str(path)}}


def _picture(folder: Path) -> Path:
    path = folder / "shot.png"
    Image.new("RGB", (64, 64), (0, 128, 255)).save(path)
    return path


@pytest.mark.parametrize("lines", [40, 16], ids=["room below", "at the end of the window"])
async def test_images_are_drawn_below_what_names_them_and_nothing_is_written_over_them(
    tmp_path: Path, lines: int
):
    path = _picture(tmp_path)
    settings = {"permissions": {"allow": ["Read"]}}
    script = [step(_read(path)), step("A blue square.")]
    async with bridle(
        tmp_path, script, settings=settings, size=(80, lines), TERM_PROGRAM="iTerm.app"
    ) as terminal:
        await terminal.ready()
        terminal.type(f"\x1b[200~{path}\x1b[201~")
        await terminal.until_text("[Image #1]")
        terminal.type(" what is it?")
        await terminal.until_text("what is it?")
        terminal.type("\r")
        await terminal.until_text("● A blue square.")
        await terminal.idle()
        await terminal.until_text("● A blue square.\n\n───")
        assert terminal.output.count(_DRAWN) == 2
        text = "\n".join(terminal.emulator.rows)
        # 64 pixels are four rows of 16.
        assert "image, 64×64, 153 B\n\n\n\n\n\n● A blue square.\n\n───" in text
        if lines == 40:
            assert "\n❯ [Image #1]  what is it?\n\n\n\n\n\n✓ Read" in text


@pytest.mark.parametrize(
    ("env", "flags", "settings"),
    [
        ({"TERM": "xterm-256color"}, (), {}),
        ({"TERM": "xterm-kitty"}, (), {"bridleInlineImages": False}),
        ({"TERM": "xterm-kitty"}, ("--ax-screen-reader",), {}),
        ({"TERM": "tmux-256color", "TMUX": "/tmp/x,1,0", "KITTY_WINDOW_ID": "1"}, (), {}),
    ],
    ids=["another terminal", "switched off", "screen reader", "tmux"],
)
async def test_a_note_stands_for_the_image_where_it_cannot_be_drawn(
    tmp_path: Path, env: dict[str, Any], flags: tuple[str, ...], settings: dict[str, Any]
):
    path = _picture(tmp_path)
    script = [step(_read(path)), step("A blue square.")]
    wanted = {"permissions": {"allow": ["Read"]}, **settings}
    async with bridle(tmp_path, script, *flags, settings=wanted, **env) as terminal:
        await terminal.until_text("❯")
        terminal.type("look at it\r")
        await terminal.until_text("A blue square.")
        await terminal.until_text("image, 64×64")
        assert not any(each in terminal.output for each in (b"\x1b_G", b"]1337;File", b"\x1bPq"))
