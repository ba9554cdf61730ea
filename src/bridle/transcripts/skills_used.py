"""Keeps the texts of skills that a conversation follows, so that they outlive compaction and resume."""

from collections.abc import Mapping
from typing import Any

from bridle.transcripts.session import Session

SKILLS = "bridle-skills"
"""The kind of line that holds them; the last one counts."""
LONGEST_SKILL = 20_000
MOST_OF_SKILLS = 100_000


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
