"""Work until a number of tokens is used: `+500k` in a prompt asks for that much effort."""

import math

from bridle.types.block import text_of
from bridle.types.turn import Prompt

_ENOUGH = 0.9
_SMALL_STEP = 500
_LEAST_CONTINUATIONS = 3
_MOST_CONTINUATIONS = 200
_FACTORS = {"k": 1_000, "m": 1_000_000, "b": 1_000_000_000}


class TokenGoal:
    """How far a turn has come with what it was given; ends when enough is used or little comes any more."""

    def __init__(self, goal: int) -> None:
        self.goal = goal
        self._continuations = 0
        self._reached = 0
        self._last_step = math.inf

    def nudge(self, used: int) -> str | None:
        """The prompt that continues the work; None when it may end."""
        step, last = used - self._reached, self._last_step
        fading = self._continuations >= _LEAST_CONTINUATIONS and max(step, last) < _SMALL_STEP
        if used >= self.goal * _ENOUGH or fading or self._continuations >= _MOST_CONTINUATIONS:
            return None
        self._continuations += 1
        self._reached, self._last_step = used, step
        return (
            f"{used:,} of {self.goal:,} tokens are used ({round(100 * used / self.goal)} %). Continue the "
            "task: deepen, check and complete it. Do not summarize."
        )


def goal_of(prompt: Prompt) -> TokenGoal | None:
    """The goal that a prompt begins or ends with, such as `+500k`, or names as in `use 2m tokens`."""
    if prompt.meta or prompt.verbatim or not prompt.origin.is_person:
        return None
    words = prompt.origin.own_words(text_of(prompt.content)).lower().split()
    if not words:
        return None
    for word in (words[0], words[-1].rstrip(".!")):
        if word.startswith("+") and (goal := _tokens(word[1:])) is not None:
            return TokenGoal(goal)
    for before, amount, after in zip(words, words[1:], words[2:], strict=False):
        if before in ("use", "spend") and after.rstrip(".,!") in ("token", "tokens"):
            goal = _tokens(amount)
            return None if goal is None else TokenGoal(goal)
    return None


def _tokens(text: str) -> int | None:
    """A number such as 500k or 1.5m."""
    factor = _FACTORS.get(text[-1:])
    digits = text[:-1].replace(".", "", 1)
    if factor is None or not digits.isascii() or not digits.isdigit():
        return None
    return round(float(text[:-1]) * factor) or None
