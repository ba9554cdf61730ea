"""Finds the action that a key means where the user is."""

import re
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum

from msgspec import Struct

from bridle.frontends.tui.keymap.defaults import DEFAULTS
from bridle.frontends.tui.terminal.keys import Key

CHORD_SECONDS = 1.0
"""How long the next key of a chord may take."""
_LONGEST_CHORD = 8

Chord = tuple[str, ...]
"""Keys that are pressed one after the other, each written as `str(Key)` has it."""

_MODIFIERS = {
    "ctrl": "ctrl", "control": "ctrl", "alt": "alt", "opt": "alt", "option": "alt", "meta": "alt",
    "shift": "shift", "super": "super", "cmd": "super", "command": "super", "win": "super",
}  # fmt: skip
_ORDER = ("ctrl", "alt", "shift", "super")
_ALIASES = {
    "esc": "escape", "return": "enter", "del": "delete", "ins": "insert", "pgup": "pageup",
    "pgdn": "pagedown", "page_up": "pageup", "page_down": "pagedown", "spacebar": "space", "plus": "+",
}  # fmt: skip
_NAMES = frozenset({
    "escape", "enter", "tab", "space", "backspace", "delete", "insert", "home", "end", "pageup", "pagedown",
    "up", "down", "left", "right", "begin", *(f"f{number}" for number in range(1, 36)),
})  # fmt: skip
_SHOWN = {
    "escape": "esc",
    "up": "↑",
    "down": "↓",
    "left": "←",
    "right": "→",
    "pageup": "pgup",
    "pagedown": "pgdn",
}


class Waiting(Enum):
    """The key is the start of a chord."""

    MORE = "more"


class Keymap(Struct, frozen=True):
    """What every key means in every context; None where a key was unbound."""

    bindings: Mapping[str, Mapping[Chord, str | None]]

    def find(self, chord: Chord, contexts: Sequence[str]) -> str | Waiting | None:
        """The action of some keys in the innermost of these contexts that knows them."""
        for context in contexts:
            table = self.bindings.get(context, {})
            if any(
                len(other) > len(chord) and other[: len(chord)] == chord and table[other] for other in table
            ):
                return Waiting.MORE
            if (action := table.get(chord)) is not None:
                return action
        return None

    def label(self, action: str, contexts: Iterable[str] = tuple(DEFAULTS)) -> str:
        """The keys that a hint should name for an action; empty when it has none."""
        for context in contexts:
            for chord, bound in self.bindings.get(context, {}).items():
                if bound == action:
                    return display(chord)
        return ""


class KeyState:
    """Follows what is pressed, for keys that have to be pressed one after the other."""

    def __init__(self, keymap: Keymap) -> None:
        self.keymap = keymap
        self._pressed: Chord = ()

    @property
    def pending(self) -> Chord:
        """The keys of a chord that were pressed so far; after `CHORD_SECONDS`, call `reset`."""
        return self._pressed

    def press(self, key: Key, contexts: Sequence[str]) -> str | Waiting | None:
        """The action of this key; None when it has none here and types its text, if any."""
        had = self._pressed
        chord = (*had, str(key))
        found = self.keymap.find(chord, contexts)
        if found is None and had:
            # A key that does not complete the chord is swallowed: it was not meant for the text.
            self._pressed = ()
            return Waiting.MORE
        self._pressed = chord if found is Waiting.MORE else ()
        return found

    def reset(self) -> None:
        """Forget an unfinished chord."""
        self._pressed = ()


def default_keymap() -> Keymap:
    """The default keys."""
    return Keymap(
        {
            context: {parse_chord(keys): action for keys, action in table.items()}
            for context, table in DEFAULTS.items()
        }
    )


def parse_chord(text: str) -> Chord:
    """Read `ctrl+x ctrl+k`.

    Raises:
        ValueError: it names no key.
    """
    keys = text.split()
    if not keys:
        raise ValueError("no key is given")
    if len(keys) > _LONGEST_CHORD:
        raise ValueError(f"more than {_LONGEST_CHORD} keys in a row")
    return tuple(map(_parse_key, keys))


def display(chord: Chord) -> str:
    """The keys as a hint shows them."""
    return " ".join("+".join(_SHOWN.get(part, part) for part in _parts(key)) for key in chord)


def _parse_key(text: str) -> str:
    *held, name = _parts(text)
    unknown = [part for part in held if part.lower() not in _MODIFIERS]
    if unknown:
        raise ValueError(f"{unknown[0]!r} is not a modifier; use ctrl, alt, shift or cmd")
    down = {_MODIFIERS[part.lower()] for part in held}
    if len(name) == 1:
        if name.isupper() and not held:
            down.add("shift")
        name = name.lower()
    else:
        name = _ALIASES.get(name.lower(), name.lower())
        if name not in _NAMES and len(name) != 1:
            raise ValueError(f"{name!r} is not a key")
    return "+".join([*(part for part in _ORDER if part in down), name])


def _parts(key: str) -> list[str]:
    """`ctrl++` is ctrl and plus."""
    return [part for part in re.split(r"(?<=[^+])\+", key) if part]


USUAL = default_keymap()
"""A keymap with the default keys."""
