"""The system prompt that a conversation was begun with, for hosts that want it never to change."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from bridle.types.block import TextBlock

SAVED_PROMPT = "bridle-system-prompt"
"""The kind of line that keeps it in a transcript."""


def no_prompt(session_id: str) -> dict[str, Any]:
    """The line that says that no prompt is kept any more."""
    return {"type": SAVED_PROMPT, "sessionId": session_id}


class SavedPrompt(Struct, frozen=True):
    model: str
    """The model that it was written for: it names it."""
    texts: tuple[str, ...]

    @classmethod
    def from_note(cls, note: Mapping[str, Any]) -> "SavedPrompt | None":
        """What a line of a transcript keeps; None when it makes no sense."""
        match note:
            case {"model": str() as model, "texts": [*texts]} if all(isinstance(each, str) for each in texts):
                return cls(model, tuple(texts))
            case _:
                return None

    def to_note(self, session_id: str) -> dict[str, Any]:
        return {"type": SAVED_PROMPT, "sessionId": session_id, "model": self.model, "texts": list(self.texts)}

    @property
    def blocks(self) -> tuple[TextBlock, ...]:
        return tuple({"type": "text", "text": text} for text in self.texts)
