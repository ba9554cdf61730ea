"""Whether a conversation ended in the middle of a turn, because its program was ended."""

import datetime
from collections.abc import Mapping

from bridle.transcripts.session import Session
from bridle.types.block import text_of
from bridle.types.entry import ConversationEntry
from bridle.types.variables import is_on

_RESUME = "CLAUDE_CODE_RESUME_INTERRUPTED_TURN"
_MAX_AGE = "CLAUDE_CODE_RESUME_INTERRUPTED_TURN_MAX_AGE_MS"
_PROMPT = "CLAUDE_CODE_RESUME_PROMPT"
_USUAL_PROMPT = "Continue where you left off: the program was ended in the middle of this turn."
_NO_WORK = ("[Request interrupted by user", "<bash-", "<local-command-", "<command-")
"""How the text begins of what the user has stopped, and of what asks for no answer."""


def continuing_prompt(session: Session, env: Mapping[str, str], *, now: float) -> str | None:
    """What to say to a model whose turn was cut off, where the user wants such turns continued."""
    if not is_on(env, _RESUME) or not session.entries or not ends_midway(session):
        return None
    limit = env.get(_MAX_AGE, "").strip()
    if limit.isdecimal() and (now - _time_of(session.entries[-1])) * 1000 > int(limit):
        return None
    return env.get(_PROMPT, "").strip() or _USUAL_PROMPT


def ends_midway(session: Session) -> bool:
    """Whether the last prompt has no whole answer, and no one stopped it."""
    for entry in reversed(session.entries):
        if entry["type"] == "assistant":
            return any(block["type"] == "tool_use" for block in entry["message"]["content"])
        if entry["type"] == "user" and "attachment" not in entry and not entry.get("isMeta"):
            content = entry["message"]["content"]
            text = content if isinstance(content, str) else text_of(content)
            return not text.startswith(_NO_WORK)
    return False


def _time_of(entry: ConversationEntry) -> float:
    try:
        return datetime.datetime.fromisoformat(entry["timestamp"]).timestamp()
    except ValueError:
        return 0.0
