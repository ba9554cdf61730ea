"""Which colors a name of the theme means, and which of them this terminal can show."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from bridle.frontends.tui.style.colors import ColorDepth, Rgb, code, is_light, parse
from bridle.frontends.tui.style.palettes import NAMES, palette
from bridle.types.variables import is_off, is_on

_TRUE_COLOR_PROGRAMS = (
    "iTerm.app",
    "WezTerm",
    "ghostty",
    "vscode",
    "Hyper",
    "rio",
    "WarpTerminal",
    "Tabby",
    "zed",
)
_TRUE_COLOR_TERMS = ("kitty", "alacritty", "ghostty", "wezterm", "foot", "contour", "direct")
_WITHOUT_LINKS = ("dumb", "linux", "cons25", "emacs")


class Theme(Struct, frozen=True):
    """A set of colors at the depth of the terminal."""

    name: str
    colors: Mapping[str, str | None]
    depth: ColorDepth = ColorDepth.TRUE
    links: bool = False
    """Whether the terminal knows links."""

    @property
    def is_dark(self) -> bool:
        """Whether it is made for a dark background."""
        return not self.name.startswith("light")

    @property
    def without_syntax(self) -> "Theme":
        """A copy of the theme without syntax colors."""
        colors = {name: None if name.startswith("code.") else color for name, color in self.colors.items()}
        return replace(self, colors=colors)

    def color_code(self, name: str) -> str:
        """The SGR parameters for text in this color; empty for the terminal's own."""
        return self._code(self.colors.get(name, None if _is_name(name) else name), background=False)

    def background_code(self, name: str) -> str:
        """The SGR parameters for a background in this color; empty for the terminal's own."""
        if (own := f"{name}.ground") in self.colors:
            return self._code(self.colors[own], background=True)
        return self._code(self.colors.get(name, None if _is_name(name) else name), background=True)

    def _code(self, color: str | None, *, background: bool) -> str:
        return "" if color is None else code(color, self.depth, background=background)


def make_theme(
    name: str,
    *,
    depth: ColorDepth,
    links: bool = False,
    background: Rgb | None = None,
    custom: Mapping[str, Any] | None = None,
) -> Theme:
    """The theme of this name; `auto` looks at the terminal's background, an unknown name is dark.

    `custom` is the content of a theme file: a `base` and `overrides` for some of its colors.
    """
    if custom is not None:
        return _custom(name, custom, depth=depth, links=links)
    if name == "auto":
        name = "light" if background is not None and is_light(background) else "dark"
    if name not in NAMES:
        name = "dark"
    # Sixteen colors belong to the user's own scheme: shades picked from it by likeness would be unreadable.
    source = f"{name.partition('-')[0]}-ansi" if depth is ColorDepth.BASIC else name
    return Theme(name, palette(source), depth, links)


def detect_depth(env: Mapping[str, str]) -> ColorDepth:
    """How many colors the environment promises or asks for."""
    if (forced := env.get("FORCE_COLOR")) is not None:
        return {
            "0": ColorDepth.NONE,
            "false": ColorDepth.NONE,
            "2": ColorDepth.INDEXED,
            "3": ColorDepth.TRUE,
        }.get(forced, ColorDepth.BASIC)
    term = env.get("TERM", "")
    if env.get("NO_COLOR") or term in ("", "dumb"):
        return ColorDepth.NONE
    if env.get("TMUX") and is_on(env, "CLAUDE_CODE_TMUX_TRUECOLOR"):
        return ColorDepth.TRUE
    if env.get("COLORTERM") in ("truecolor", "24bit") or env.get("WT_SESSION"):
        return ColorDepth.TRUE
    if env.get("TERM_PROGRAM") in _TRUE_COLOR_PROGRAMS or any(part in term for part in _TRUE_COLOR_TERMS):
        return ColorDepth.TRUE
    return (
        ColorDepth.INDEXED
        if "256" in term or env.get("TERM_PROGRAM") == "Apple_Terminal"
        else ColorDepth.BASIC
    )


def detect_links(env: Mapping[str, str]) -> bool:
    """Whether links may be written; nearly every terminal that does not know them ignores them."""
    if is_on(env, "FORCE_HYPERLINK") or is_off(env, "FORCE_HYPERLINK"):
        return is_on(env, "FORCE_HYPERLINK")
    term = env.get("TERM", "")
    return (
        bool(term)
        and not term.startswith(_WITHOUT_LINKS)
        and not (term.startswith("screen") and "TMUX" not in env)
    )


def background_of_environment(env: Mapping[str, str]) -> Rgb | None:
    """The background that COLORFGBG tells of, for terminals that do not answer when asked."""
    last = env.get("COLORFGBG", "").rpartition(";")[2]
    if not last.isdigit():
        return None
    return (255, 255, 255) if int(last) in (7, 9, 10, 11, 12, 13, 14, 15) else (0, 0, 0)


def _custom(name: str, custom: Mapping[str, Any], *, depth: ColorDepth, links: bool) -> Theme:
    base = custom.get("base")
    start = make_theme(base if isinstance(base, str) else "dark", depth=depth, links=links)
    changes = custom.get("overrides")
    if depth is ColorDepth.BASIC or not isinstance(changes, Mapping):
        return start
    wanted = {
        str(key): value for key, value in changes.items() if isinstance(value, str) and _is_color(value)
    }
    shade = "dark" if start.is_dark else "light"
    return Theme(f"{shade}:{name}", {**start.colors, **wanted}, depth, links)


def _is_color(value: str) -> bool:
    if value.startswith("ansi."):
        return value[5:].isdigit() and int(value[5:]) < 256
    try:
        parse(value)
    except ValueError:
        return False
    return True


def _is_name(text: str) -> bool:
    """Whether this is a name of the theme and not a color itself."""
    return not text.startswith(("#", "ansi."))
