"""Names keys in hints by what they do, so that hints follow the user's own bindings."""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from bridle.frontends.tui.keymap.keymap import USUAL, Keymap, display


class BoundKey(Struct, frozen=True):
    """Whichever key means one of these actions where the user is."""

    actions: tuple[str, ...]
    always: str = ""
    """The key that does it however keys are bound; named where the user has no other."""

    def name(self, keymap: Keymap, contexts: Sequence[str]) -> str:
        """The key as a hint shows it; empty when there is none.

        Without contexts a field is typed in, where keys have their first meaning.
        """
        if not contexts:
            return self.always or next(filter(None, map(USUAL.label, self.actions)), "")
        for action in self.actions:
            for context in contexts:
                for chord, bound in keymap.bindings.get(context, {}).items():
                    if bound == action == keymap.find(chord, contexts):
                        return display(chord)
        return self.always


Hint = tuple[str | BoundKey | tuple[BoundKey, ...], str]
"""A key, or what finds it, and what it does."""

CLOSING = ("select:cancel", "confirm:no", "help:dismiss", "diff:dismiss")
CLOSE = BoundKey(CLOSING, always="esc")
ACCEPT = BoundKey(("select:accept", "messageSelector:select", "diff:viewDetails"), always="enter")
REFUSE = BoundKey(("confirm:no",), always="esc")
EXPLAIN = BoundKey(("confirm:toggleExplanation",))
EDIT = BoundKey(("chat:externalEditor",))


def spoken(hints: Iterable[Hint], keymap: Keymap, contexts: Sequence[str]) -> list[tuple[str, str]]:
    """The hints with the keys of the user; those that no key does are left out."""
    named = ((_named(key, keymap, contexts), words) for key, words in hints)
    return [(key, words) for key, words in named if key]


def sentences(hints: Iterable[Hint], keymap: Keymap, contexts: Sequence[str]) -> list[str]:
    """The hints as questions show them: the key, then what it is for."""
    return [f"{key} {words}" for key, words in spoken(hints, keymap, contexts)]


def _named(key: str | BoundKey | tuple[BoundKey, ...], keymap: Keymap, contexts: Sequence[str]) -> str:
    match key:
        case str():
            return key
        case BoundKey():
            return key.name(keymap, contexts)
        case _:
            names = [each.name(keymap, contexts) for each in key]
            return ("" if all(len(name) == 1 for name in names) else " ").join(names).strip()
