"""What model calls have cost since the last `cost-state` line of a transcript, whose writer died."""

from typing import Any

from bridle.transcripts.cost import Cost
from bridle.transcripts.usage.figures import amount, usage_in
from bridle.types.entry import SIDE_CALL
from bridle.types.usage import ModelSpend


class UnsavedCost:
    """Reads the rows of a file in order; rows of other writers have no cost and add none."""

    __slots__ = ("_calls",)

    def __init__(self) -> None:
        self._calls: dict[str, tuple[str, ModelSpend]] = {}

    def take(self, row: dict[str, Any]) -> None:
        match row:
            case {"type": "cost-state"}:
                self._calls.clear()
            case {"type": kind, "message": {"id": id, "model": str() as model, "usage": dict() as counts}}:
                usd = amount(row.get("costUSD"))
                copied = "forkedFrom" in row or "copyOf" in row
                if usd is not None and not copied and kind in ("assistant", SIDE_CALL):
                    self._calls[str(id)] = (model, ModelSpend(usage_in(counts), usd))
            case _:
                pass

    def added_to(self, cost: Cost) -> Cost:
        for model, spend in self._calls.values():
            cost = cost.plus(model, spend)
        return cost
