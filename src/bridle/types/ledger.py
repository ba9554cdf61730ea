"""Text of the user that every compaction keeps: pinned by hand, or found to be a constraint."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct

from bridle.types.ids import new_uuid

PINS = "bridle-pins"
"""The kind of line that keeps a ledger in a transcript."""

HELD = "bridle-held"
"""The kind of line that keeps in a transcript which items are never cleared."""

_MOST_CHARS = 16_000


class Pin(Struct, frozen=True):
    """Something the user said that must not be lost."""

    id: str
    text: str
    origin: Literal["user", "found"] = "user"


class Ledger(Struct, frozen=True):
    """Every pin, oldest first; found ones give way when there are too many, pinned ones never do."""

    pins: tuple[Pin, ...] = ()

    @classmethod
    def from_note(cls, note: Mapping[str, Any]) -> "Ledger":
        """The ledger that a line of a transcript keeps; what makes no sense is passed over."""
        pins = note.get("pins")
        return cls(tuple(filter(None, map(_read_pin, pins)))) if isinstance(pins, list) else cls()

    @property
    def texts(self) -> tuple[str, ...]:
        return tuple(pin.text for pin in self.pins)

    def plus(self, text: str, *, origin: Literal["user", "found"] = "user") -> "Ledger":
        if any(pin.text == text for pin in self.pins):
            return self
        return Ledger(_bounded((*self.pins, Pin(new_uuid()[:8], text, origin))))

    def less(self, pin_id: str) -> "Ledger":
        return Ledger(tuple(pin for pin in self.pins if pin.id != pin_id))

    def find(self, pin_id: str) -> Pin | None:
        return next((pin for pin in self.pins if pin.id == pin_id), None)


def _bounded(pins: Sequence[Pin]) -> tuple[Pin, ...]:
    kept = list(pins)
    while sum(len(pin.text) for pin in kept) > _MOST_CHARS:
        oldest = next((pin for pin in kept if pin.origin == "found"), None)
        if oldest is None:
            break
        kept.remove(oldest)
    return tuple(kept)


def _read_pin(value: Any) -> Pin | None:
    match value:
        case {"id": str() as id, "text": str() as text, **rest}:
            return Pin(id, text, "found" if rest.get("origin") == "found" else "user")
        case _:
            return None
