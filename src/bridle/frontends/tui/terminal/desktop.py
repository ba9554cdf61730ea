"""Sequences that speak to the desktop around the terminal: title, clipboard, notifications, progress."""

import base64
import re
from collections.abc import Mapping

from bridle.types.visible import HIDDEN

_HIDDEN = re.compile(f"[\t\n{HIDDEN}]+")
_LONGEST = 200
_MOST_COPIED = 1 << 20
BELL = "\x07"


def title(text: str) -> str:
    """Name the window and its tab."""
    return f"\x1b]0;{_one_line(text)}\x07"


def copy(text: str, env: Mapping[str, str]) -> str:
    """Put text on the clipboard, also on the near side of an SSH session; empty when it is too long."""
    data = text.encode("utf-8", "replace")
    if len(data) > _MOST_COPIED:
        return ""
    plain = f"\x1b]52;c;{base64.b64encode(data).decode('ascii')}\x07"
    # Which of the two reaches the clipboard depends on how tmux is configured; twice does no harm.
    return plain + pass_through(plain, env) if env.get("TMUX") else pass_through(plain, env)


def notify(text: str, *, head: str, channel: str, env: Mapping[str, str]) -> str:
    """Tell the user something while the window is out of sight; `channel` as in `preferredNotifChannel`."""
    chosen = _channel(env) if channel == "auto" else channel
    said, headed = _one_line(text), _one_line(head)
    match chosen:
        case "notifications_disabled":
            return ""
        case "iterm2":
            return pass_through(f"\x1b]9;{said}\x07", env)
        case "iterm2_with_bell":
            return pass_through(f"\x1b]9;{said}\x07", env) + BELL
        case "kitty":
            parts = f"\x1b]99;i=1:d=0:p=title;{headed}\x1b\\\x1b]99;i=1:d=1:p=body;{said}\x1b\\"
            return pass_through(parts, env)
        case "ghostty":
            return pass_through(f"\x1b]777;notify;{headed.replace(';', ',')};{said}\x07", env)
        case _:
            return BELL


def progress(percent: int | None, *, failed: bool = False) -> str:
    """Show a bar on the tab or in the task bar; None shows that work of unknown length runs."""
    if percent is None:
        return "\x1b]9;4;3;\x07"
    return f"\x1b]9;4;{2 if failed else 1};{min(max(percent, 0), 100)}\x07"


def no_progress() -> str:
    """Take the bar away."""
    return "\x1b]9;4;0;\x07"


def pass_through(sequence: str, env: Mapping[str, str]) -> str:
    """Wrap a sequence so that a multiplexer hands it on to the terminal around it."""
    if env.get("TMUX"):
        return "\x1bPtmux;" + sequence.replace("\x1b", "\x1b\x1b") + "\x1b\\"
    if env.get("TERM", "").startswith("screen") and env.get("STY"):
        pieces = (sequence[at : at + 240] for at in range(0, len(sequence), 240))
        return "".join(f"\x1bP{piece}\x1b\\" for piece in pieces)
    return sequence


def _channel(env: Mapping[str, str]) -> str:
    program, term = env.get("TERM_PROGRAM", ""), env.get("TERM", "")
    if program == "iTerm.app" or env.get("LC_TERMINAL") == "iTerm2":
        return "iterm2"
    if "kitty" in term or env.get("KITTY_WINDOW_ID"):
        return "kitty"
    if program in ("ghostty", "WezTerm") or "ghostty" in term or "foot" in term or env.get("VTE_VERSION"):
        return "ghostty"
    return "terminal_bell"


def _one_line(text: str) -> str:
    return _HIDDEN.sub(" ", text)[:_LONGEST].strip()
