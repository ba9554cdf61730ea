"""Finding constraints in what the user says, and keeping the ledger of them in a transcript."""

import re
from typing import Any

from bridle.types.ledger import PINS, Ledger

_LONGEST_FOUND = 400
_CONSTRAINT = re.compile(
    r"\b(never|always|must(?:n't| not)?|do not|don't|only ever|under no circumstances|make sure|"
    r"remember (?:that|to)|from now on|at all times|no matter what|is forbidden|not allowed)\b",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"[^\n.!?]*(?:[.!?](?!\s|$)[^\n.!?]*)*[.!?]?")


def constraints_in(text: str) -> list[str]:
    """Sentences of a prompt that lay down a rule, word for word."""
    sentences = (match[0].strip() for match in _SENTENCE.finditer(text) if match[0].strip())
    return [each for each in sentences if len(each) <= _LONGEST_FOUND and _CONSTRAINT.search(each)]


def to_note(ledger: Ledger, session_id: str) -> dict[str, Any]:
    """The line of the transcript that keeps the ledger."""
    pins = [{"id": pin.id, "text": pin.text, "origin": pin.origin} for pin in ledger.pins]
    return {"type": PINS, "pins": pins, "sessionId": session_id}
