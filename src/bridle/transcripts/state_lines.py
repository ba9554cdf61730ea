"""Keeps what a conversation has going past compaction and resume: prompts to come, skills in use."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from bridle.transcripts.session import Session
from bridle.types.services.schedules import Scheduled

SCHEDULED = "bridle-scheduled"
"""The kind of line that holds prompts that are to come; the last one counts."""
SKILLS = "bridle-skills"
"""The kind of line that holds the texts of skills; the last one counts."""
LONGEST_SKILL = 20_000
MOST_OF_SKILLS = 100_000


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


def note_skill(session: Session, name: str, text: str) -> None:
    """Keep that a skill is followed; the last used come last, and the first fall out."""
    others = tuple((other, kept) for other, kept in session.state.skills if other != name)
    skills = _bounded((*others, (name, text[:LONGEST_SKILL])))
    if skills == session.state.skills:
        return
    session.swap(skills=skills)
    session.note({"type": SKILLS, "skills": [list(each) for each in skills], "sessionId": session.id})


def recall_skills(session: Session, note: Mapping[str, Any]) -> None:
    """Take over what a line says; what makes no sense is passed over."""
    listed: Any = note.get("skills")
    skills: list[tuple[str, str]] = []
    for each in listed if isinstance(listed, list) else ():
        match each:
            case [str() as name, str() as text]:
                skills.append((name, text[:LONGEST_SKILL]))
            case _:
                continue
    session.swap(skills=_bounded(tuple(skills)))


def _bounded(skills: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    left = MOST_OF_SKILLS
    for place, (_, text) in reversed(list(enumerate(skills))):
        left -= len(text)
        if left < 0:
            return skills[place + 1 :]
    return skills
