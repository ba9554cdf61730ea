"""Keeps the next request within the context window."""

from bridle.context.tokens import tokens_now
from bridle.engine.request import fixed_units
from bridle.engine.turn import Ending, Turn

_STEPS_BETWEEN_REMINDERS = 10
_WORTH_A_LOOK = 20_000
"""A conversation of fewer tokens has nothing that could be cleared with profit."""


async def fit_window(turn: Turn) -> Ending | None:
    """Before a step: compact if the request would not fit, and end the turn where that does not help.

    What the model must be reminded of is said first.
    """
    _remind(turn)
    if not turn.runtime.facts(turn.model).window_enforced:
        return None
    window = turn.runtime.window(turn.model)
    tokens = _tokens(turn)
    worth_a_look = turn.steps == 0 and tokens > _WORTH_A_LOOK and _has_answers(turn)
    if worth_a_look and turn.runtime.habits.allowed:
        from bridle.engine.compaction.cleared_results import clear_when_cold

        tokens = _tokens(turn) if clear_when_cold(turn) else tokens
    level = window.level(tokens)
    if level in ("fine", "warning"):
        return None
    if _may_act(turn):
        from bridle.engine.compaction.cleared_results import clear_when_full

        if clear_when_full(turn) and window.level(_tokens(turn)) in ("fine", "warning"):
            return None
    if not _has_answers(turn):
        return None if level == "compact" else _too_long(tokens, turn)
    if await compact_automatically(turn) or level == "compact":
        return None
    return Ending.failed(
        "blocking_limit",
        "error_during_execution",
        "The context window is full: run /compact for a summary, or /clear to start a new conversation.",
    )


def _too_long(tokens: int, turn: Turn) -> Ending:
    """The first prompt alone does not fit: there is nothing that a summary could make shorter."""
    room = turn.runtime.facts(turn.model).context_window
    return Ending.failed(
        "blocking_limit",
        "error_during_execution",
        f"The prompt is too long: about {tokens:,} tokens, and {turn.model} reads {room:,}. Save the text to "
        "a file and mention the file with @.",
    )


def _has_answers(turn: Turn) -> bool:
    return any(entry["type"] == "assistant" for entry in turn.session.entries)


async def compact_automatically(turn: Turn) -> bool:
    """Compact because there is no room; whether there is some now."""
    if not _may_act(turn):
        return False
    from bridle.engine.compaction.compact import compact_if_it_works

    return await compact_if_it_works(turn)


def _remind(turn: Turn) -> None:
    for feature in turn.runtime.features.at("before_step"):
        feature.before_step(turn)
    if turn.steps and turn.steps % _STEPS_BETWEEN_REMINDERS == 0 and turn.runtime.workspace.todos:
        from bridle.engine.todo_reminder import remind_of_todos

        remind_of_todos(turn, within=_STEPS_BETWEEN_REMINDERS)


def _may_act(turn: Turn) -> bool:
    return turn.runtime.habits.automatic and turn.runtime.habits.allowed


def _tokens(turn: Turn) -> int:
    return tokens_now(turn.session.history, turn.session.state.measured, fixed=fixed_units(turn))
