"""Turns colors into the codes that a terminal of a given depth understands."""

from enum import IntEnum


class ColorDepth(IntEnum):
    """How many colors a terminal shows."""

    NONE = 0
    BASIC = 16
    INDEXED = 256
    TRUE = 1 << 24


Rgb = tuple[int, int, int]

_BASIC: tuple[Rgb, ...] = (
    (0, 0, 0), (205, 49, 49), (13, 148, 80), (180, 160, 20),
    (36, 84, 200), (170, 60, 170), (17, 140, 160), (200, 200, 200),
    (100, 100, 100), (241, 76, 76), (35, 209, 139), (245, 245, 67),
    (59, 142, 234), (214, 112, 214), (41, 184, 219), (255, 255, 255),
)  # fmt: skip
_STEPS = (0, 95, 135, 175, 215, 255)


def code(color: str, depth: ColorDepth, *, background: bool = False) -> str:
    """The SGR parameters that select `ansi.N` or `#rrggbb`; empty when the terminal has no colors.

    Raises:
        ValueError: it is neither.
    """
    if depth is ColorDepth.NONE:
        return ""
    if color.startswith("ansi."):
        return _index_code(int(color[5:]), depth, background=background)
    red, green, blue = parse(color)
    if depth is ColorDepth.TRUE:
        return f"{48 if background else 38};2;{red};{green};{blue}"
    nearest = nearest_basic if depth is ColorDepth.BASIC else nearest_indexed
    return _index_code(nearest((red, green, blue)), depth, background=background)


def parse(color: str) -> Rgb:
    """Read `#rrggbb` or `#rgb`.

    Raises:
        ValueError: it is something else.
    """
    digits = color.removeprefix("#")
    if len(digits) == 3:
        digits = "".join(digit * 2 for digit in digits)
    if len(digits) != 6 or color == digits:
        raise ValueError(f"not a color: {color!r}")
    return int(digits[:2], 16), int(digits[2:4], 16), int(digits[4:], 16)


def nearest_indexed(color: Rgb) -> int:
    """The color of the 256 that comes closest, from those that no user changes."""
    cube = [min(range(6), key=lambda step: abs(_STEPS[step] - part)) for part in color]
    in_cube: Rgb = (_STEPS[cube[0]], _STEPS[cube[1]], _STEPS[cube[2]])
    gray = min(max((sum(color) // 3 - 3) // 10, 0), 23)
    in_gray: Rgb = (8 + gray * 10, 8 + gray * 10, 8 + gray * 10)
    if _distance(color, in_gray) < _distance(color, in_cube):
        return 232 + gray
    return 16 + 36 * cube[0] + 6 * cube[1] + cube[2]


def nearest_basic(color: Rgb) -> int:
    """The color of the 16 that comes closest."""
    return min(range(16), key=lambda index: _distance(color, _BASIC[index]))


def is_light(color: Rgb) -> bool:
    """Whether dark text reads better on this color."""
    red, green, blue = color
    return red * 299 + green * 587 + blue * 114 > 127_500


def _index_code(index: int, depth: ColorDepth, *, background: bool) -> str:
    if depth is ColorDepth.BASIC and index > 15:
        index = nearest_basic(_rgb(index))
    if index > 15:
        return f"{48 if background else 38};5;{index}"
    first = (40 if index < 8 else 92) if background else (30 if index < 8 else 82)
    return str(first + index)


def _rgb(index: int) -> Rgb:
    if index < 16:
        return _BASIC[index]
    if index >= 232:
        level = 8 + (index - 232) * 10
        return level, level, level
    index -= 16
    return _STEPS[index // 36], _STEPS[index // 6 % 6], _STEPS[index % 6]


def _distance(one: Rgb, other: Rgb) -> int:
    # Weighted, because the eye judges green more finely than red, and red more finely than blue.
    red, green, blue = (a - b for a, b in zip(one, other, strict=True))
    return 2 * red * red + 4 * green * green + 3 * blue * blue
