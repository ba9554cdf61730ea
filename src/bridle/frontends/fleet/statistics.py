"""What an evaluation shows: pass rates with intervals, and paired differences between two cells."""

import math
import random
from collections.abc import Mapping, Sequence

from msgspec import Struct

from bridle.frontends.fleet.records import Result

_Z = 1.959964
"""Of a 95 % interval."""
_MOST_EXACT = 12
_SHUFFLES = 10_000


class Rate(Struct, frozen=True, kw_only=True):
    """A pass rate with its 95 % interval."""

    rate: float
    low: float
    high: float
    tasks: int
    attempts: int


class CellSummary(Struct, frozen=True, kw_only=True):
    """What one cell of the matrix came to."""

    cell: str
    passed: Rate
    cost: float
    """Dollars of a task in the mean."""
    steps: float
    seconds: float
    tokens: float
    errors: int
    """Attempts without a finished session."""


class Difference(Struct, frozen=True, kw_only=True):
    """How much more a cell passes than another on the same tasks."""

    cell: str
    than: str
    difference: float
    low: float
    high: float
    p: float
    """How often chance alone would give such a difference (two-sided, signs of tasks swapped)."""
    tasks: int
    cost: float
    steps: float


def summarize(cell: str, results: Mapping[str, Sequence[Result]]) -> CellSummary:
    """One cell from its results by task."""
    every = [each for repeats in results.values() for each in repeats]
    return CellSummary(
        cell=cell,
        passed=pass_rate([[each.ok for each in repeats] for repeats in results.values()]),
        cost=_mean([each.cost for each in every]),
        steps=_mean([float(each.steps) for each in every]),
        seconds=_mean([each.seconds for each in every]),
        tokens=_mean([float(each.tokens) for each in every]),
        errors=sum(each.status in ("error", "cancelled") for each in every),
    )


def pass_rate(tasks: Sequence[Sequence[bool]]) -> Rate:
    """The rate over tasks: Wilson's interval, or one over the means of tasks where they are repeated.

    Repeats of one task are alike, so they do not count as tasks of their own.
    """
    tasks = [each for each in tasks if each]
    attempts = sum(map(len, tasks))
    if not tasks:
        return Rate(rate=0.0, low=0.0, high=1.0, tasks=0, attempts=0)
    means = [sum(each) / len(each) for each in tasks]
    rate, count = _mean(means), len(means)
    # Repeats tell as much as the spread of the means says: between one try for each task and all of them.
    spread = max(rate * (1 - rate) if attempts == count else _variance(means), 1e-12)
    effective = min(float(attempts), rate * (1 - rate) / spread * count) if 0 < rate < 1 else float(count)
    low, high = _wilson(rate, effective)
    return Rate(rate=rate, low=low, high=high, tasks=count, attempts=attempts)


def compare(
    cell: str, results: Mapping[str, Sequence[Result]], than: str, others: Mapping[str, Sequence[Result]]
) -> Difference:
    """The paired difference of two cells over the tasks that both have."""
    shared = sorted(name for name in results if results[name] and others.get(name))

    def gaps(value: str) -> list[float]:
        def mean(found: Sequence[Result]) -> float:
            return _mean([float(each.ok if value == "ok" else getattr(each, value)) for each in found])

        return [mean(results[name]) - mean(others[name]) for name in shared]

    passed = gaps("ok")
    difference = _mean(passed)
    error = math.sqrt(_variance(passed) / len(passed)) if len(passed) > 1 else 1.0
    return Difference(
        cell=cell,
        than=than,
        difference=difference,
        low=max(-1.0, difference - _Z * error),
        high=min(1.0, difference + _Z * error),
        p=sign_test(passed),
        tasks=len(shared),
        cost=_mean(gaps("cost")),
        steps=_mean(gaps("steps")),
    )


def sign_test(gaps: Sequence[float]) -> float:
    """How often swapping the two sides of tasks at random gives a sum that is as far from zero."""
    moved = [gap for gap in gaps if gap]
    if not moved:
        return 1.0
    seen = abs(sum(moved)) - 1e-9
    if len(moved) <= _MOST_EXACT:
        sums = [0.0]
        for gap in moved:
            sums = [each + sign * gap for each in sums for sign in (1, -1)]
        return sum(abs(each) >= seen for each in sums) / len(sums)
    chance = random.Random(0)
    hits = sum(
        abs(sum(gap if chance.random() < 0.5 else -gap for gap in moved)) >= seen for _ in range(_SHUFFLES)
    )
    return (hits + 1) / (_SHUFFLES + 1)


def _wilson(rate: float, count: float) -> tuple[float, float]:
    square = _Z * _Z
    middle = (rate + square / (2 * count)) / (1 + square / count)
    half = _Z / (1 + square / count) * math.sqrt(rate * (1 - rate) / count + square / (4 * count * count))
    return max(0.0, middle - half), min(1.0, middle + half)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def _variance(values: Sequence[float]) -> float:
    if len(values) < 2:
        return 0.25
    mean = _mean(values)
    return sum((value - mean) ** 2 for value in values) / (len(values) - 1)
