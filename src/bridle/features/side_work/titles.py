"""Titles that a model gives to sessions."""

from typing import Any

from bridle.engine.runtime import Runtime
from bridle.engine.side_calls import consult_beside
from bridle.transcripts.conversation import is_prompt
from bridle.transcripts.session import Session
from bridle.types.block import text_of
from bridle.types.errors import ToolError
from bridle.types.event import SessionRenamed
from bridle.types.tool import Consultation
from bridle.types.turn import Outcome

_LONGEST_DESCRIPTION = 4_000
_LONGEST_TITLE = 80
_TITLE_WORDS = 8
_LAST_PROMPT = 2
"""A conversation with more prompts than this has shown what it is called, or was resumed."""
_NO_LANGUAGE_MODEL = "offline"
_TITLE = """\
Write a title of 3 to 7 words for a coding session that begins with the message below: sentence case, in the \
language of the message, no quotes, no full stop. Answer with the title alone."""


async def title_session(session: Session, runtime: Runtime, outcome: Outcome) -> None:
    """Side work: give a new conversation a title, unless it has a name.

    Raises:
        ToolError: the model could not be asked.
    """
    del outcome
    prompts = [
        text_of(entry["message"]["content"])
        for entry in session.entries
        if entry["type"] == "user" and is_prompt(entry)
    ]
    if session.title is not None or not 0 < len(prompts) <= _LAST_PROMPT or not "".join(prompts).strip():
        return
    title = await ask_title(session, runtime, "\n\n".join(prompts))
    if title is None or session.title is not None:
        return  # The user has named it meanwhile.
    row: dict[str, Any] = {"type": "ai-title", "aiTitle": title, "sessionId": session.id}
    session.note(row)
    session.title = title
    runtime.channel.emit(SessionRenamed(title))


async def title_for(session: Session, runtime: Runtime, described: str) -> str:
    """A title for what a prompt describes; its first words where no model can be asked."""
    try:
        title = await ask_title(session, runtime, described)
    except ToolError:
        title = None
    return title or " ".join(described.split()[:_TITLE_WORDS])[:_LONGEST_TITLE]


async def ask_title(session: Session, runtime: Runtime, described: str) -> str | None:
    """The title that a model gives; None where its answer is none.

    Raises:
        ToolError: the model could not be asked.
    """
    if runtime.asking.small_model == _NO_LANGUAGE_MODEL:
        return None
    question = Consultation(
        purpose="title", system=_TITLE, prompt=described[:_LONGEST_DESCRIPTION], max_tokens=40
    )
    answer = await consult_beside(session, runtime, question, model=runtime.asking.small_model)
    lines = text_of(answer["content"]).strip().splitlines()
    title = " ".join(lines[0].split()).strip("\"'`“”.") if lines else ""
    return title[:_LONGEST_TITLE] if title and title.isprintable() else None
