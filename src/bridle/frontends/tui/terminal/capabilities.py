"""What a terminal can do: guessed from the environment first, then from its own answers."""

from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from bridle.frontends.tui.style.colors import Rgb
from bridle.frontends.tui.terminal.keys import Answer
from bridle.types.variables import is_on

_SYNCHRONIZED = 2026
_GRAPHEMES = 2027
_SIXEL = 4
_WITHOUT_REFLOW = ("linux", "cons25", "screen", "st", "rxvt", "eterm", "vt")


class Capabilities(Struct, frozen=True):
    """What the terminal is known to understand."""

    is_dumb: bool = False
    """It cannot move the cursor."""
    in_tmux: bool = False
    reflows: bool = True
    """It breaks long rows again when the window becomes narrower."""
    synchronized: bool = False
    """It can hold back what it shows until a frame is complete."""
    graphemes: bool = False
    """It can treat sequences of emoji as one character (mode 2027)."""
    keyboard: bool = False
    """It speaks the kitty keyboard protocol."""
    sixel: bool = False
    """It draws images in the form of sixels."""
    background: Rgb | None = None
    """The color of its background."""
    is_settled: bool = False
    """It has answered every question, or will not answer any more."""


def guess(env: Mapping[str, str]) -> Capabilities:
    """What the environment tells before the terminal has answered."""
    term = env.get("TERM", "")
    in_tmux = bool(env.get("TMUX"))
    is_xterm = bool(env.get("XTERM_VERSION"))
    return Capabilities(
        is_dumb=term in ("", "dumb", "unknown"),
        in_tmux=in_tmux,
        reflows=in_tmux or not (is_xterm or term.startswith(_WITHOUT_REFLOW)),
        synchronized=is_on(env, "CLAUDE_CODE_FORCE_SYNC_OUTPUT"),
    )


def questions(env: Mapping[str, str]) -> str:
    """What to write so that the terminal tells what it can do; its last answer is its attributes."""
    term = env.get("TERM", "")
    if term in ("", "dumb", "unknown", "linux", "cons25") or term.startswith("emacs"):
        return ""
    # Apple's terminal shows a stray letter when it is asked for a mode.
    modes = (
        "" if env.get("TERM_PROGRAM") == "Apple_Terminal" else f"\x1b[?{_SYNCHRONIZED}$p\x1b[?{_GRAPHEMES}$p"
    )
    return f"\x1b[?u{modes}\x1b]11;?\x1b\\\x1b[c"


def learn(known: Capabilities, answer: Answer) -> Capabilities:
    """What is known after an answer."""
    match answer:
        case Answer("keyboard"):
            return replace(known, keyboard=True)
        case Answer("mode", (2026, state)):
            return replace(known, synchronized=known.synchronized or state in (1, 2))
        case Answer("mode", (2027, state)):
            return replace(known, graphemes=state in (1, 2))
        case Answer("color", (11, red, green, blue)):
            return replace(known, background=(red, green, blue))
        case Answer("attributes", values):
            return replace(known, is_settled=True, sixel=_SIXEL in values[1:])
        case _:
            return known
