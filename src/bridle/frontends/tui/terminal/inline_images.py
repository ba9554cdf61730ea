"""Images inside the terminal: which protocol it speaks, and the bytes that draw one.

Sources: the kitty graphics protocol, iTerm2's inline images (OSC 1337) and DEC's sixel, which a terminal
announces in its attributes.
"""

import base64
import fcntl
import io
import struct
import termios
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct

from bridle.frontends.tui.style.text import InlineImage, Line
from bridle.frontends.tui.terminal.capabilities import Capabilities

if TYPE_CHECKING:
    from PIL import Image

ImageProtocol = Literal["kitty", "iterm2", "sixel"]
_PROGRAMS: Mapping[str, ImageProtocol] = {"ghostty": "kitty", "iTerm.app": "iterm2", "WezTerm": "iterm2"}
_CHUNK = 4096
_MOST_PIXELS = 8_000_000
_CELL = (8, 16)
"""Pixels of a cell where the terminal does not tell; only the shape of an image depends on it."""
_COLORS = 64
_MOST_SIXELS = (640, 480)


class Cells(Struct, frozen=True):
    """A window in cells, and what a cell measures in pixels; 0 where the terminal does not tell."""

    columns: int
    rows: int
    pixels: tuple[int, int] = (0, 0)


def protocol(env: Mapping[str, str], known: Capabilities) -> ImageProtocol | None:
    """How images are drawn here; None inside tmux and screen, which would have to pass them on."""
    term, program = env.get("TERM", ""), env.get("TERM_PROGRAM", "")
    if known.is_dumb or env.get("TMUX") or env.get("STY") or term.startswith(("screen", "tmux")):
        return None
    if "kitty" in term or "ghostty" in term:
        return "kitty"
    if program in _PROGRAMS:
        return _PROGRAMS[program]
    if not program and env.get("KITTY_WINDOW_ID"):
        return "kitty"
    if not program and env.get("LC_TERMINAL") == "iTerm2":
        return "iterm2"
    return "sixel" if known.sixel else None


def window(fd: int) -> Cells:
    """The window behind a descriptor."""
    try:
        packed = fcntl.ioctl(fd, termios.TIOCGWINSZ, bytes(8))
    except OSError:
        return Cells(80, 24)
    rows, columns, width, height = struct.unpack("HHHH", packed)
    pixels = (width // columns, height // rows) if rows and columns else (0, 0)
    return Cells(columns or 80, rows or 24, pixels)


def draw(blocks: Sequence[Any], how: ImageProtocol, space: Cells) -> list[Line]:
    """Image blocks as lines; one that cannot be decoded is left out, its note stands elsewhere."""
    lines: list[Line] = []
    for block in blocks:
        match block:
            case {"type": "image", "source": {"data": str() as data, "media_type": str() as kind}}:
                drawn = _drawn(data, kind.removeprefix("image/"), how, space)
                lines += [] if drawn is None else [(drawn,)]
            case _:
                pass
    return lines


def _drawn(data: str, kind: str, how: ImageProtocol, space: Cells) -> InlineImage | None:
    # Start-up and terminals without images do not pay for the codecs.
    from bridle.tools.files.images import decoded

    if how == "sixel" and 0 in space.pixels:
        return None  # It is drawn in pixels, and would cover rows that are not its own.
    image = decoded(data, kind, most_pixels=_MOST_PIXELS)
    if image is None:
        return None
    cell = space.pixels if all(space.pixels) else _CELL
    most = (max(space.columns - 2, 1) * cell[0], max(space.rows // 3, 1) * cell[1])
    if how == "sixel":
        most = (min(most[0], _MOST_SIXELS[0]), min(most[1], _MOST_SIXELS[1]))
    image.thumbnail(most)
    columns, rows = -(-image.width // cell[0]), -(-image.height // cell[1])
    return InlineImage("[Image]", sequence=_sequence(image, how, columns, rows), rows=rows)


def _sequence(image: "Image.Image", how: ImageProtocol, columns: int, rows: int) -> str:
    if how == "sixel":
        return _sixels(image)
    buffer = io.BytesIO()
    image.save(buffer, "PNG")
    data = base64.b64encode(buffer.getvalue()).decode("ascii")
    if how == "iterm2":
        facts = f"size={len(buffer.getvalue())};width={columns};height={rows};preserveAspectRatio=1"
        return f"\x1b]1337;File=inline=1;{facts}:{data}\x07"
    pieces = [data[at : at + _CHUNK] for at in range(0, len(data), _CHUNK)]
    out: list[str] = []
    for at, piece in enumerate(pieces):
        head = f"a=T,f=100,q=2,C=1,c={columns},r={rows}," if at == 0 else "q=2,"
        out.append(f"\x1b_G{head}m={int(at < len(pieces) - 1)};{piece}\x1b\\")
    return "".join(out)


def _sixels(image: "Image.Image") -> str:
    """Bands of six rows, color by color."""
    reduced = image.convert("RGB").quantize(_COLORS)
    palette = reduced.getpalette() or []
    pixels, width, height = reduced.tobytes(), reduced.width, reduced.height
    out = [f'\x1bPq"1;1;{width};{height}']
    for index in range(len(palette) // 3):
        red, green, blue = (round(value * 100 / 255) for value in palette[index * 3 : index * 3 + 3])
        out.append(f"#{index};2;{red};{green};{blue}")
    for top in range(0, height, 6):
        rows = [pixels[at * width : (at + 1) * width] for at in range(top, min(top + 6, height))]
        bits: dict[int, bytearray] = {}
        for bit, row in enumerate(rows):
            for x, color in enumerate(row):
                bits.setdefault(color, bytearray(width))[x] |= 1 << bit
        out.append("$".join(f"#{color}{_packed(band)}" for color, band in bits.items()) + "-")
    return "".join(out) + "\x1b\\"


def _packed(band: bytearray) -> str:
    """Six dots to a character, with repetitions counted."""
    out: list[str] = []
    at = 0
    while at < len(band):
        end = at
        while end < len(band) and band[end] == band[at]:
            end += 1
        out.append(f"!{end - at}{chr(63 + band[at])}")
        at = end
    return "".join(out)
