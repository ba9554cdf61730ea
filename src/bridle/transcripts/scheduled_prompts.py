"""Keeps the prompts that are to come in one conversation, so that a resume lets them come again."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from bridle.transcripts.session import Session
from bridle.types.services.schedules import Scheduled

SCHEDULED = "bridle-scheduled"
"""The kind of line that holds them; the last one counts."""


def note_scheduled(session: Session, scheduled: Sequence[Scheduled]) -> None:
    """Keep what is to come now."""
    session.swap(scheduled=tuple(scheduled))
    prompts = [msgspec.to_builtins(each) for each in scheduled]
    session.note({"type": SCHEDULED, "prompts": prompts, "sessionId": session.id})


def recall_scheduled(session: Session, note: Mapping[str, Any]) -> None:
    """Take over what a line says; a line that makes no sense is passed over."""
    try:
        prompts = msgspec.convert(note.get("prompts"), tuple[Scheduled, ...])
    except msgspec.ValidationError:
        return
    session.swap(scheduled=prompts)
