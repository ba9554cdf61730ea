"""Limits that are checked before each step."""

from bridle.engine.runtime import Runtime
from bridle.engine.turn import Ending, Turn
from bridle.transcripts.session import Session


def turn_limit(turn: Turn) -> Ending | None:
    most = turn.runtime.limits.max_turns
    if most is None or turn.steps < most:
        return None
    return Ending.failed("max_turns", "error_max_turns", f"Reached maximum number of turns ({most})")


def money_limit(turn: Turn) -> Ending | None:
    if (overspent := is_overspent(turn.session, turn.runtime)) is None:
        return None
    return Ending.failed("budget_exhausted", "error_max_budget_usd", overspent)


def token_limit(turn: Turn) -> Ending | None:
    most = turn.runtime.limits.max_total_tokens
    if most is None or turn.usage.context + turn.usage.output < most:
        return None
    said = f"Reached maximum of {most} tokens in one turn"
    return Ending.failed("budget_exhausted", "error_max_budget_usd", said)


def is_overspent(session: Session, runtime: Runtime) -> str | None:
    """The sentence that says so when the session has cost all that it may."""
    most = runtime.limits.max_budget_usd
    if most is None or session.billed_usd < most:
        return None
    return f"Reached maximum budget (${most:g})"


GUARDS = (turn_limit, money_limit, token_limit)


def first_objection(turn: Turn) -> Ending | None:
    """The first guard that does not let another step begin."""
    opinions = (guard(turn) for guard in GUARDS)
    return next((opinion for opinion in opinions if opinion is not None), None)
