"""Keeps who answered a permission question, and from where, beside the conversation."""

import time
from typing import Any

from bridle.transcripts.line import timestamp
from bridle.transcripts.session import Session
from bridle.types.origin import Origin
from bridle.types.question import Permitted, Refused

ANSWER = "bridle-permission-answer"
"""The kind of line that holds one answer."""


def note_answer(session: Session, call_id: str, tool: str, answer: Permitted | Refused) -> None:
    """Write down an answer to the question about one call; a refusal without a person is no answer."""
    if isinstance(answer, Refused) and not answer.by_person:
        return
    origin = answer.origin or Origin(source="program")
    line: dict[str, Any] = {
        "type": ANSWER,
        "sessionId": session.id,
        "toolUseId": call_id,
        "tool": tool,
        "behavior": "allow" if isinstance(answer, Permitted) else "deny",
        "origin": origin.to_entry(),
        "timestamp": timestamp(time.time()),
    }
    if isinstance(answer, Permitted) and answer.input is not None:
        line["input"] = answer.input
    if isinstance(answer, Permitted) and answer.updates:
        line["updates"] = list(answer.updates)
    session.note(line)
