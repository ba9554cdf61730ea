from collections.abc import Mapping

import pytest

from bridle.frontends.tui.style.colors import ColorDepth, code, nearest_indexed, parse
from bridle.frontends.tui.style.paint import Painter
from bridle.frontends.tui.style.palettes import NAMES, palette
from bridle.frontends.tui.style.text import Line, Span, Style
from bridle.frontends.tui.style.theme import (
    Theme,
    background_of_environment,
    detect_depth,
    detect_links,
    make_theme,
)
from tests.tables import table

_CONTRASTED = (
    "muted", "subtle", "accent", "error", "warning", "success", "info", "link", "border", "prompt", "user",
    "thinking", "tool", "suggestion", "spinner", "permission", "plan", "heading", "quote", "code", "added",
    "removed", "line_number", "code.comment", "code.punctuation", "mode.default", "mode.plan",
)  # fmt: skip


@table(
    ("env", "depth"),
    [
        ({"TERM": "xterm-256color"}, ColorDepth.INDEXED),
        ({"TERM": "xterm"}, ColorDepth.BASIC),
        ({"TERM": "linux"}, ColorDepth.BASIC),
        ({"TERM": "dumb"}, ColorDepth.NONE),
        ({}, ColorDepth.NONE),
        ({"TERM": "xterm-256color", "COLORTERM": "truecolor"}, ColorDepth.TRUE),
        ({"TERM": "xterm-kitty"}, ColorDepth.TRUE),
        ({"TERM": "xterm-256color", "COLORTERM": "truecolor", "NO_COLOR": "1"}, ColorDepth.NONE),
        ({"TERM": "xterm-256color", "NO_COLOR": ""}, ColorDepth.INDEXED),
        ({"TERM": "dumb", "FORCE_COLOR": "3"}, ColorDepth.TRUE),
        ({"TERM": "xterm-256color", "FORCE_COLOR": "0"}, ColorDepth.NONE),
        ({"TERM": "tmux-256color", "TMUX": "x", "CLAUDE_CODE_TMUX_TRUECOLOR": "1"}, ColorDepth.TRUE),
    ],
)
def test_depth_follows_the_environment(env: Mapping[str, str], depth: ColorDepth):
    assert detect_depth(env) is depth


def test_links_can_be_forced_and_are_kept_from_old_terminals():
    assert detect_links({"TERM": "xterm-256color"})
    assert not detect_links({"TERM": "linux"})
    assert detect_links({"TERM": "linux", "FORCE_HYPERLINK": "1"})
    assert not detect_links({"TERM": "xterm-256color", "FORCE_HYPERLINK": "0"})


@pytest.mark.parametrize("name", NAMES)
def test_every_theme_has_every_name_and_only_real_colors(name: str):
    colors = palette(name)
    assert set(colors) == set(palette("dark"))
    for depth in ColorDepth:
        theme = make_theme(name, depth=depth)
        assert all(
            theme.color_code(each) is not None and theme.background_code(each) is not None for each in colors
        )


@pytest.mark.parametrize("name", [name for name in NAMES if not name.endswith("ansi")])
def test_text_can_be_read_on_the_background_of_its_theme(name: str):
    background = (255, 255, 255) if name.startswith("light") else (20, 20, 20)
    for each in ("muted", "error", "warning", "success", "added", "removed", "code.comment", "accent"):
        color = palette(name)[each]
        assert color is not None and _contrast(parse(color), background) >= 4.0, each


@pytest.mark.parametrize("name", ["dark-high-contrast", "light-high-contrast"])
def test_high_contrast_is_seven_to_one_for_all_text_and_on_every_band(name: str):
    colors = palette(name)
    background = (255, 255, 255) if name.startswith("light") else (20, 20, 20)
    bands = {each.removesuffix(".ground") for each in colors if each.endswith(".ground")}
    weak = {
        each: contrast
        for each in sorted(_CONTRASTED)
        if (color := colors[each]) is not None and (contrast := _contrast(parse(color), background)) < 7.0
    }
    for each in bands:
        text, band = colors[each], colors[f"{each}.ground"]
        assert text is not None and band is not None
        if (contrast := _contrast(parse(text), parse(band))) < 7.0:
            weak[f"{each} on its band"] = contrast
    assert weak == {}


@pytest.mark.parametrize("name", ["dark-daltonized", "light-daltonized"])
def test_changes_differ_in_more_than_red_and_green(name: str):
    added, removed = palette(name)["added"], palette(name)["removed"]
    assert added and removed and abs(parse(added)[2] - parse(removed)[2]) > 80


def test_auto_follows_the_background():
    assert make_theme("auto", depth=ColorDepth.TRUE, background=(250, 250, 250)).name == "light"
    assert make_theme("auto", depth=ColorDepth.TRUE, background=(10, 10, 10)).name == "dark"
    assert make_theme("auto", depth=ColorDepth.TRUE).name == "dark"
    assert background_of_environment({"COLORFGBG": "0;15"}) == (255, 255, 255)
    assert background_of_environment({"COLORFGBG": "15;default"}) is None


def test_own_theme_changes_some_colors_of_its_base():
    data = {"base": "light", "overrides": {"accent": "#102030", "error": "nonsense", "text": "ansi.4"}}
    theme = make_theme("mine", depth=ColorDepth.TRUE, custom=data)
    assert (theme.is_dark, theme.color_code("accent"), theme.color_code("text")) == (
        False,
        "38;2;16;32;48",
        "34",
    )
    assert theme.color_code("error") == make_theme("light", depth=ColorDepth.TRUE).color_code("error")


def test_colors_are_brought_to_the_depth_of_the_terminal():
    assert code("#ff0000", ColorDepth.TRUE) == "38;2;255;0;0"
    assert code("#ff0000", ColorDepth.INDEXED) == "38;5;196"
    assert code("#ff0000", ColorDepth.BASIC, background=True) in ("41", "101")
    assert code("ansi.208", ColorDepth.INDEXED, background=True) == "48;5;208"
    assert (code("ansi.1", ColorDepth.TRUE), code("ansi.9", ColorDepth.TRUE, background=True)) == (
        "31",
        "101",
    )
    assert code("#ff0000", ColorDepth.NONE) == ""
    assert nearest_indexed((8, 8, 8)) == 232


def test_sixteen_colors_are_taken_from_the_users_own_scheme():
    assert make_theme("dark", depth=ColorDepth.BASIC).color_code("error") == "91"


def _painted(*lines: Line, theme: Theme | None = None) -> str:
    brush = Painter(theme or make_theme("dark-ansi", depth=ColorDepth.TRUE, links=True))
    return "".join(brush.paint(line) for line in lines) + brush.plain()


def test_only_changes_of_style_are_written():
    bold, both = Style(bold=True), Style(bold=True, color="error")
    assert (
        _painted((Span("a", bold), Span("b", bold), Span("c", both), Span("d")))
        == "\x1b[1mab\x1b[91mc\x1b[md"
    )


def test_dim_does_not_end_with_bold():
    assert _painted((Span("a", Style(bold=True, dim=True)), Span("b", Style(dim=True)))) == (
        "\x1b[1;2ma\x1b[0;2mb\x1b[m"
    )


def test_links_open_and_close_around_their_text_and_cannot_be_broken_out_of():
    link = Style(link="http://x/\x1b\\y z")
    assert _painted((Span("a", link), Span("b"))) == "\x1b]8;;http://x/%1B\\y%20z\x1b\\a\x1b]8;;\x1b\\b"
    assert _painted((Span("a", link),), theme=make_theme("dark", depth=ColorDepth.TRUE)) == "a"


def test_without_colors_attributes_remain():
    styled = (Span("a", Style(color="error", background="added", bold=True)),)
    assert _painted(styled, theme=make_theme("dark", depth=ColorDepth.NONE)) == "\x1b[1ma\x1b[m"


def test_one_name_means_another_color_behind_text():
    theme = make_theme("dark", depth=ColorDepth.TRUE)
    assert theme.color_code("added").startswith("38;2;") and theme.background_code("added") == "48;2;29;59;38"
    assert theme.background_code("selection").startswith("48;2;")


def _contrast(one: tuple[int, int, int], other: tuple[int, int, int]) -> float:
    def luminance(color: tuple[int, int, int]) -> float:
        parts = [c / 255 / 12.92 if c <= 10 else ((c / 255 + 0.055) / 1.055) ** 2.4 for c in color]
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]

    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_right_to_left_text_does_not_move_what_stands_beside_it():
    brush = Painter(make_theme("dark", depth=ColorDepth.NONE))
    assert brush.paint((Span("❯ "), Span("שלום"), Span(" 12"))) == "❯ \u2068שלום\u2069 12"
    assert brush.paint((Span("שלום"),)) == "שלום"
    assert brush.paint((Span("a"), Span("日本"))) == "a日本"


def test_code_may_go_without_colors():
    theme = make_theme("dark", depth=ColorDepth.TRUE)
    assert theme.color_code("code.keyword") and not theme.without_syntax.color_code("code.keyword")
    assert theme.without_syntax.color_code("heading") == theme.color_code("heading")
