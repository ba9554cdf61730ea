"""Stands in for pasted text and images in the prompt, until it is sent."""

import re
from collections.abc import Mapping

from msgspec import Struct

_MOST_CHARACTERS = 800
_MOST_BREAKS = 2
_PLACEHOLDER = re.compile(r"\[(?:Pasted text|Image) #(\d+)(?: \+\d+ lines)?\]")


class PastedText(Struct, frozen=True):
    """Text that is shown as a placeholder."""

    text: str


class PastedImage(Struct, frozen=True):
    """An image that is shown as a placeholder."""

    media_type: str
    data: bytes


Attachment = PastedText | PastedImage


class Attachments:
    """What the placeholders of a prompt stand for; numbers are never used twice."""

    def __init__(self) -> None:
        self._held: dict[int, Attachment] = {}
        self._next = 1

    def fold(self, text: str) -> str:
        """What to put into the prompt for pasted text: itself when short, otherwise a placeholder."""
        breaks = text.count("\n")
        if len(text) <= _MOST_CHARACTERS and breaks <= _MOST_BREAKS:
            return text
        number = self._keep(PastedText(text))
        return f"[Pasted text #{number} +{breaks} lines]" if breaks else f"[Pasted text #{number}]"

    def add_image(self, media_type: str, data: bytes) -> str:
        """What to put into the prompt for an image."""
        return f"[Image #{self._keep(PastedImage(media_type, data))}]"

    def restore(self, held: Mapping[int, Attachment]) -> None:
        """Know the attachments of an older prompt again."""
        self._held.update(held)
        self._next = max([self._next, *(number + 1 for number in held)])

    def expand(self, text: str) -> str:
        """The prompt with the texts in the place of their placeholders; images keep theirs."""

        def content(match: re.Match[str]) -> str:
            held = self._held.get(int(match[1]))
            return held.text if isinstance(held, PastedText) else match[0]

        return _PLACEHOLDER.sub(content, text)

    def used(self, text: str) -> dict[int, Attachment]:
        """The attachments whose placeholders are in this text."""
        numbers = (int(match[1]) for match in _PLACEHOLDER.finditer(text))
        return {number: self._held[number] for number in numbers if number in self._held}

    def placeholder_at(self, text: str, at: int, *, before: bool) -> tuple[int, int] | None:
        """The placeholder that ends here (`before` the cursor) or begins here."""
        for match in _PLACEHOLDER.finditer(text):
            if int(match[1]) in self._held and (match.end() if before else match.start()) == at:
                return match.span()
        return None

    def placeholder_around(self, text: str, at: int) -> tuple[int, int] | None:
        """The placeholder that this position is inside of."""
        for match in _PLACEHOLDER.finditer(text):
            if int(match[1]) in self._held and match.start() < at < match.end():
                return match.span()
        return None

    def _keep(self, attachment: Attachment) -> int:
        number, self._next = self._next, self._next + 1
        self._held[number] = attachment
        return number
