"""How to get to a model: a key, a server on this machine, or the offline planner."""

from collections.abc import Sequence

from msgspec import Struct

from bridle.frontends.tui.dialogs.confirm import Confirm
from bridle.frontends.tui.dialogs.menu import Choice
from bridle.frontends.tui.dialogs.panel import heading
from bridle.frontends.tui.keymap.keymap import USUAL, Keymap
from bridle.frontends.tui.render.layout import MUTED, paragraph, style
from bridle.frontends.tui.screen.view import Closed, Frame
from bridle.frontends.tui.style.sanitize import clean
from bridle.frontends.tui.style.text import Line, Span
from bridle.frontends.tui.terminal.keys import Key
from bridle.providers.choices.vendor_keys import vendor_of_key

_LONGEST = 4_096
_MOST_DOTS = 40


class EnteredKey(Struct, frozen=True):
    """A key, with the vendor that it is for."""

    key: str
    vendor: str
    untested: bool = False


def login_menu(choices: Sequence[Choice], *, first: bool) -> Confirm:
    """The ways to a model; `first` is before there was any."""

    def body(width: int) -> list[Line]:
        said = "bridle needs a model. Keys stay on this machine." if first else "Keys stay on this machine."
        return paragraph(said, width)

    title = "Welcome to bridle. Choose how to start" if first else "Log in"
    hint = "to continue without" if first else "to close"
    return Confirm(title, body, choices, cancel="skip", color="info", hint=hint)


class KeyDialog:
    """Takes a key without showing it; the vendor is guessed from how it begins."""

    is_full = False
    refresh = None
    contexts = ()

    def __init__(self, vendors: Sequence[tuple[str, str]], *, problem: str = "", key: str = "") -> None:
        """`vendors` are pairs of a name and a label; `problem` is what came of the last try."""
        self._vendors = vendors
        self._problem = problem
        self._key = key
        self._at: int | None = None

    def render(self, width: int, height: int, keys: Keymap = USUAL, /) -> Frame:
        del keys
        label = self._vendors[self._place][1]
        rows = heading("Paste an API key", width, "info")
        dots = "•" * min(len(self._key), _MOST_DOTS, max(width - 6, 1))
        field: Line = (Span("key: ", MUTED), Span(dots or "(hidden)", MUTED))
        rows += [field, *paragraph(f"vendor: {label}", width), ()]
        if self._problem:
            rows += [*paragraph(self._problem, width, style("error")), ()]
        hints = "enter to test and save · tab: another vendor · esc to go back"
        if self._problem and self._key:
            hints = f"ctrl+s to save untested · {hints}"
        rows += paragraph(hints, width, MUTED)
        return Frame(rows[:height], (1, min(5 + len(dots), width - 1)))

    def press(self, key: Key, action: str | None, /) -> Closed[EnteredKey | None] | None:
        del action
        match str(key):
            case "escape" | "ctrl+c":
                return Closed(None)
            case "enter" | "ctrl+s" as name:
                untested = name == "ctrl+s"
                given = EnteredKey(self._key.strip(), self._vendors[self._place][0], untested)
                return Closed(given) if given.key else None
            case "tab" | "down":
                self._at = (self._place + 1) % len(self._vendors)
            case "shift+tab" | "up":
                self._at = (self._place - 1) % len(self._vendors)
            case "backspace":
                self._key = self._key[:-1]
            case "ctrl+u":
                self._key = ""
            case _ if key.text:
                self._type(key.text)
            case _:
                pass
        return None

    def paste(self, text: str, /) -> None:
        self._type(clean(text[:_LONGEST]))

    def _type(self, text: str) -> None:
        self._problem = ""
        self._key = (self._key + "".join(text.split()))[:_LONGEST]

    @property
    def _place(self) -> int:
        if self._at is not None:
            return self._at
        guessed = vendor_of_key(self._key)
        return next((at for at, (name, _) in enumerate(self._vendors) if name == guessed), 0)


class WaitDialog:
    """Says what is going on; escape ends it."""

    is_full = False
    refresh = None
    contexts = ()

    def __init__(self, text: str) -> None:
        self._text = text

    def render(self, width: int, height: int, keys: Keymap = USUAL, /) -> Frame:
        del keys
        return Frame(paragraph(f"{self._text} (esc to stop)", width, MUTED)[:height], None)

    def press(self, key: Key, action: str | None, /) -> Closed[None] | None:
        del action
        return Closed(None) if str(key) in ("escape", "ctrl+c") else None

    def paste(self, text: str, /) -> None:
        """Nothing is typed into it."""
