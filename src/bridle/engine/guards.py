"""Limits that are checked before each step."""

from bridle.engine.turn import Ending, Turn


def turn_limit(turn: Turn) -> Ending | None:
    most = turn.runtime.limits.max_turns
    if most is None or turn.steps < most:
        return None
    return Ending.failed("max_turns", "error_max_turns", f"Reached maximum number of turns ({most})")


def money_limit(turn: Turn) -> Ending | None:
    most = turn.runtime.limits.max_budget_usd
    if most is None or turn.session.total_cost_usd < most:
        return None
    return Ending.failed("budget_exhausted", "error_max_budget_usd", f"Reached maximum budget (${most:g})")


def token_limit(turn: Turn) -> Ending | None:
    most = turn.runtime.limits.max_total_tokens
    if most is None or turn.usage.context + turn.usage.output < most:
        return None
    said = f"Reached maximum of {most} tokens in one turn"
    return Ending.failed("budget_exhausted", "error_max_budget_usd", said)


GUARDS = (turn_limit, money_limit, token_limit)


def first_objection(turn: Turn) -> Ending | None:
    """The first guard that does not let another step begin."""
    opinions = (guard(turn) for guard in GUARDS)
    return next((opinion for opinion in opinions if opinion is not None), None)
