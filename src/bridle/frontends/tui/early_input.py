"""The prompt before the program is loaded: shows what was typed so far."""

from collections.abc import Sequence

from bridle.frontends.tui.first_frame import ERASE, PROMPT, echo_of
from bridle.frontends.tui.screen.view import Frame
from bridle.frontends.tui.style.text import Line, Style, line
from bridle.frontends.tui.terminal.keys import Key, Paste

_ELSE = "\0"
_EDGE = Style(dim=True)


def early_frame(given: Sequence[Key | Paste], width: int) -> Frame:
    """What was typed so far, drawn as the first frame draws it."""
    shown, _ = echo_of("".join(_typed(each) for each in given), width)
    return Frame(early_rows(f"{PROMPT}{shown}", width), (1, len(PROMPT) + len(shown)))


def early_rows(prompt: str, width: int) -> list[Line]:
    """A row of input between its edges."""
    edge = line("─" * width, _EDGE)
    return [edge, line(prompt), edge]


def _typed(given: Key | Paste) -> str:
    match given:
        case Key("backspace", ctrl=False, alt=False, shift=False, super=False):
            return ERASE
        case Key(text=text):
            return text or _ELSE
        case Paste():
            return _ELSE
