"""How a session looks at the terminal: colors, words and names."""

import os.path
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bridle.config.problems import Problem
from bridle.config.schema import SECONDS, Settings, SpinnerVerbs
from bridle.frontends.tui.chat.tips import TipPicker
from bridle.frontends.tui.render.status import VERBS
from bridle.frontends.tui.style.colors import Rgb
from bridle.frontends.tui.style.theme import (
    Theme,
    background_of_environment,
    detect_depth,
    detect_links,
    make_theme,
)
from bridle.host.paths import bridle_dir
from bridle.session import choices
from bridle.session.setup import Setup
from bridle.types.variables import is_off, is_on, whole_number

_COUNTDOWN = 20.0
_TIP_SECONDS = 15.0


def theme_of(
    setup: Setup,
    background: Rgb | None = None,
    *,
    name: str | None = None,
    warn: Callable[[str], None] = lambda _: None,
) -> Theme:
    """The colors that the settings ask for, on a background that is known or guessed."""
    env = setup.env
    wanted = name or setup.config.settings.theme or "auto"
    theme = make_theme(
        wanted,
        depth=detect_depth(env),
        links=detect_links(env),
        background=background or background_of_environment(env),
        custom=_from_file(setup, wanted, warn),
    )
    plain = setup.config.settings.syntax_highlighting_disabled or is_off(env, "CLAUDE_CODE_SYNTAX_HIGHLIGHT")
    return theme.without_syntax if plain else theme


def _from_file(setup: Setup, wanted: str, warn: Callable[[str], None]) -> Mapping[str, Any] | None:
    """What the file of a theme says; None for the others, and for one that cannot be used."""
    if not wanted.startswith("custom:") or choices.is_closed(setup.options, setup.env):
        return None
    # Most have no such file.
    from bridle.extensions.roots import roots_of, whereabouts
    from bridle.extensions.themes import find_theme
    from bridle.session.parts.extensions import open_index

    own = roots_of("themes", whereabouts(setup.config, setup.env, cwd=setup.cwd))
    plugins = None if setup.early is None else setup.early.plugins
    brought = () if plugins is None else plugins.roots("themes")
    theme = find_theme(open_index(setup.env), (*own, *brought), wanted)
    if isinstance(theme, Problem):
        warn(str(theme))
        return None
    return {"base": theme.base, "overrides": theme.overrides}


def is_read_to(setup: Setup) -> bool:
    """Whether a screen reader is used."""
    return (
        setup.options.ax_screen_reader
        or setup.config.settings.ax_screen_reader is True
        or is_on(setup.env, "CLAUDE_AX_SCREEN_READER")
    )


def has_own_window(setup: Setup) -> bool:
    """Whether the conversation covers the window, instead of using the terminal's own scrollback."""
    env = setup.env
    if is_on(env, "CLAUDE_CODE_DISABLE_ALTERNATE_SCREEN"):
        return False
    asked = is_on(env, "CLAUDE_CODE_NO_FLICKER")
    return asked or setup.config.settings.tui == "fullscreen"


def verbs_of(wanted: SpinnerVerbs | None) -> Sequence[str]:
    """Words of the user for the time that a turn takes."""
    if wanted is None or not wanted.verbs:
        return ()
    return (*VERBS, *wanted.verbs) if wanted.mode == "append" else tuple(wanted.verbs)


def tips_of(settings: Settings, env: Mapping[str, str]) -> tuple[TipPicker | None, float]:
    """What chooses tips for the time that a turn takes, and after how many seconds one is shown.

    The user's own are shown at once, before the others or in their place.
    """
    if settings.spinner_tips_enabled is False:
        return None, 0.0
    wanted = settings.spinner_tips_override
    own = () if wanted is None else tuple(wanted.tips or ())
    alone = wanted is not None and wanted.exclude_default is True
    return TipPicker(bridle_dir(env), own=own, exclude_default=alone), 0.0 if own else _TIP_SECONDS


def patience_of(settings: Settings, env: Mapping[str, str]) -> tuple[float, float] | None:
    """The seconds after which a question of the model is given up, and how many of them are counted down."""
    seconds = SECONDS.get(settings.ask_user_question_timeout or "never")
    if (given := whole_number(env, "CLAUDE_AFK_TIMEOUT_MS")) is not None:
        seconds = given / 1000
    countdown = (whole_number(env, "CLAUDE_AFK_COUNTDOWN_MS", least=0) or 0) / 1000
    return None if seconds is None else (seconds, countdown or _COUNTDOWN)


def short_model(model: str) -> str:
    """`sonnet-4-5` for `claude-sonnet-4-5-20250929`."""
    name = model.rpartition("/")[2].removeprefix("claude-")
    head, _, last = name.rpartition("-")
    return head if head and last.isdecimal() and len(last) == 8 else name


def model_name(model: str) -> str:
    """`Sonnet 4.5` for `claude-sonnet-4-5-20250929`; other models keep their names."""
    short = short_model(model)
    found = re.fullmatch(r"([a-z]+)-(\d{1,2})(?:-(\d{1,2}))?(?:\[1m\])?", short)
    if "claude-" not in model:
        return short
    if found is not None:
        family, major, minor = found.groups()
    elif (older := re.fullmatch(r"(\d)(?:-(\d))?-([a-z]+)", short)) is not None:
        major, minor, family = older.groups()
    else:
        return short
    return f"{family.title()} {major}.{minor}" if minor else f"{family.title()} {major}"


def short_folder(cwd: str, env: Mapping[str, str]) -> str:
    """A folder with the home as `~`."""
    home = env.get("HOME") or os.path.expanduser("~")
    return f"~{cwd[len(home) :]}" if home != "/" and (cwd + "/").startswith(home + "/") else cwd
