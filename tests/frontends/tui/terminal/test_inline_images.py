"""Images inside the terminal."""

import base64
import io
import re
from typing import Any

from PIL import Image, PngImagePlugin

from bridle.frontends.tui.style.text import InlineImage
from bridle.frontends.tui.terminal.capabilities import guess, learn
from bridle.frontends.tui.terminal.inline_images import Cells, ImageProtocol, draw, protocol
from bridle.frontends.tui.terminal.keys import Answer
from tests.tables import table

_SPACE = Cells(80, 24, (10, 20))


@table(
    ("env", "attributes", "expected"),
    [
        ({"TERM": "xterm-kitty"}, (), "kitty"),
        ({"TERM": "xterm-256color", "KITTY_WINDOW_ID": "1"}, (), "kitty"),
        ({"TERM": "xterm-ghostty", "TERM_PROGRAM": "ghostty"}, (), "kitty"),
        ({"TERM": "xterm-256color", "TERM_PROGRAM": "iTerm.app"}, (), "iterm2"),
        ({"TERM": "xterm-256color", "LC_TERMINAL": "iTerm2"}, (), "iterm2"),
        ({"TERM": "xterm-256color", "TERM_PROGRAM": "WezTerm"}, (), "iterm2"),
        ({"TERM": "xterm-256color"}, (62, 4, 22), "sixel"),
        ({"TERM": "xterm-256color"}, (4, 22), None),
        (
            {"TERM": "xterm-256color", "TERM_PROGRAM": "vscode", "KITTY_WINDOW_ID": "1"}, (), None,
        ),
        ({"TERM": "xterm-256color"}, (62, 22), None),
        ({"TERM": "dumb", "KITTY_WINDOW_ID": "1"}, (), None),
        ({"TERM": "tmux-256color", "TMUX": "x", "KITTY_WINDOW_ID": "1"}, (62, 4), None),
        ({"TERM": "screen-256color", "LC_TERMINAL": "iTerm2"}, (62, 4), None),
        ({"TERM": "xterm-kitty", "STY": "1.x"}, (), None),
    ],
)  # fmt: skip
def test_protocol_is_that_of_the_terminal(
    env: dict[str, str], attributes: tuple[int, ...], expected: ImageProtocol | None
):
    known = guess(env)
    if attributes:
        known = learn(known, Answer("attributes", attributes))
    assert protocol(env, known) == expected


def test_kitty_gets_a_png_in_pieces():
    drawn = _draw(_noise(900, 900), "kitty")
    pieces = re.findall(r"\x1b_G([^;]*);([A-Za-z0-9+/=]*)\x1b\\", drawn.sequence)
    assert "".join(f"\x1b_G{keys};{data}\x1b\\" for keys, data in pieces) == drawn.sequence
    assert pieces[0][0] == "a=T,f=100,q=2,C=1,c=16,r=8,m=1"
    assert {keys for keys, _ in pieces[1:-1]} == {"q=2,m=1"} and pieces[-1][0] == "q=2,m=0"
    assert max(len(data) for _, data in pieces) <= 4096
    assert _png("".join(data for _, data in pieces)).size == (160, 160)


def test_iterm_gets_a_png_with_its_size():
    drawn = _draw(_plain(40, 20), "iterm2")
    found = re.fullmatch(
        r"\x1b\]1337;File=inline=1;size=(\d+);width=4;height=1;preserveAspectRatio=1:([A-Za-z0-9+/=]+)\x07",
        drawn.sequence,
    )
    assert found is not None and len(base64.b64decode(found[2])) == int(found[1])
    assert _png(found[2]).getpixel((0, 0)) == (255, 0, 0)


def test_sixels_have_the_pixels_of_the_image():
    drawn = _draw(_plain(12, 8), "sixel")
    found = re.fullmatch(r'\x1bPq"1;1;12;8((?:#\d+;2;\d+;\d+;\d+)+)([#!$?-~\d-]+)\x1b\\', drawn.sequence)
    assert found is not None
    assert "#0;2;100;0;0" in found[1]
    assert found[2] == "#0!12~-#0!12B-"


def test_sixels_need_the_size_of_a_cell():
    assert draw([_block(_plain(12, 8))], "sixel", Cells(80, 24)) == []


@table(
    ("size", "rows"),
    [
        ((10, 20), 1),
        ((20, 4_000), 8),
        ((4_000, 20), 1),
        ((2_000, 2_000), 8),
    ],
)
def test_images_take_a_third_of_the_window_at_most(size: tuple[int, int], rows: int):
    assert _draw(_plain(*size), "kitty").rows == rows


def test_nothing_of_a_file_reaches_the_terminal_as_it_is():
    notes = PngImagePlugin.PngInfo()
    notes.add_text("Comment", "\x1b]0;owned\x07 secret-note")
    buffer = io.BytesIO()
    _plain(4, 4).save(buffer, "PNG", pnginfo=notes)
    (line,) = draw([_block_of(buffer.getvalue() + b"\x1b]0;owned\x07")], "iterm2", _SPACE)
    drawn = line[0]
    assert isinstance(drawn, InlineImage)
    sent = base64.b64decode(drawn.sequence.rpartition(":")[2].rstrip("\x07"))
    assert b"secret-note" not in sent and b"owned" not in sent
    assert drawn.sequence.count("\x1b") == 1


@table(
    ("data", "kind"),
    [
        (b"\x89PNG\r\n\x1a\n garbage", "image/png"),
        (b"", "image/png"),
        (b"<svg/>", "image/svg+xml"),
        (b"\x1b]0;owned\x07", "image/gif"),
    ],
)
def test_what_is_no_image_is_left_out(data: bytes, kind: str):
    assert draw([_block_of(data, kind)], "kitty", _SPACE) == []


def test_other_blocks_and_wild_base64_are_left_out():
    source = {"type": "base64", "media_type": "image/png", "data": "\x1b]0;owned\x07"}
    blocks = [{"type": "text", "text": "hello"}, {"type": "image", "source": source}, "text", None]
    assert draw(blocks, "kitty", _SPACE) == []


def _draw(image: Image.Image, how: ImageProtocol) -> InlineImage:
    ((drawn,),) = draw([_block(image)], how, _SPACE)
    assert isinstance(drawn, InlineImage)
    return drawn


def _plain(width: int, height: int) -> Image.Image:
    return Image.new("RGB", (width, height), (255, 0, 0))


def _noise(width: int, height: int) -> Image.Image:
    return Image.effect_noise((width, height), 100)


def _block(image: Image.Image) -> dict[str, Any]:
    buffer = io.BytesIO()
    image.save(buffer, "PNG")
    return _block_of(buffer.getvalue())


def _block_of(data: bytes, kind: str = "image/png") -> dict[str, Any]:
    source = {"type": "base64", "media_type": kind, "data": base64.b64encode(data).decode("ascii")}
    return {"type": "image", "source": source}


def _png(data: str) -> Image.Image:
    return Image.open(io.BytesIO(base64.b64decode(data)), formats=["PNG"])
