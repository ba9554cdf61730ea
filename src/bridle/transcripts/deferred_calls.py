"""Marks a call that a hook put off, so that a later run takes it up and does not take it for lost."""

from collections.abc import Mapping
from typing import Any

from bridle.transcripts.session import Session
from bridle.types.block import ToolUseBlock

DEFERRED = "bridle-deferred"
"""The kind of line that names the call; it counts as long as the call has no result."""


def deferred_call(session: Session) -> ToolUseBlock | None:
    """The call that waits to be taken up again."""
    wanted = session.state.deferred
    if wanted is None:
        return None
    return next((call for call in session.open_calls() if call["id"] == wanted), None)


def note_deferred(session: Session, call_id: str) -> None:
    """Keep that the call was put off."""
    session.swap(deferred=call_id)
    session.note({"type": DEFERRED, "toolUseID": call_id, "sessionId": session.id})


def recall_deferred(session: Session, note: Mapping[str, Any] | None) -> bool:
    """Take over what the file says of a call that was put off; whether it still waits."""
    call_id = None if note is None else note.get("toolUseID")
    if not any(call["id"] == call_id for call in session.open_calls()):
        return False
    note_deferred(session, str(call_id))
    return True
