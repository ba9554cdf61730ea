"""Sentences that the engine writes for the model, in the words for people."""

from bridle.engine.texts import (
    CALL_INTERRUPTED,
    CALL_LOST,
    CALL_REFUSED,
    CALL_REFUSED_BECAUSE,
    CALL_STOPPED,
    COMMAND_CANCELLED,
)

_WORDS = {
    CALL_REFUSED: "not run",
    CALL_STOPPED: "not run",
    CALL_INTERRUPTED: "interrupted",
    CALL_LOST: "no result: the turn ended early",
    COMMAND_CANCELLED: "not run: the command before it failed",
}


def for_people(text: str) -> str:
    """The result of a call as its user reads it."""
    if text.startswith(CALL_REFUSED_BECAUSE):
        return f"not run; you said: {text.removeprefix(CALL_REFUSED_BECAUSE)}"
    return _WORDS.get(text, text)


def is_refusal(text: str) -> bool:
    """Whether the user did not let the call run."""
    return text in (CALL_REFUSED, CALL_STOPPED) or text.startswith(CALL_REFUSED_BECAUSE)
