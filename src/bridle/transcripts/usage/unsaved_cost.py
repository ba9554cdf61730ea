"""What model calls have cost since the last `cost-state` line of a transcript, whose writer died."""

from typing import Any

from bridle.transcripts.cost import Cost
from bridle.types.entry import SIDE_CALL
from bridle.types.usage import ModelSpend, Usage


class UnsavedCost:
    """Reads the rows of a file in order; rows of other writers have no cost and add none."""

    __slots__ = ("_calls",)

    def __init__(self) -> None:
        self._calls: dict[str, tuple[str, ModelSpend]] = {}

    def take(self, row: dict[str, Any]) -> None:
        match row:
            case {"type": "cost-state"}:
                self._calls.clear()
            case {
                "costUSD": int() | float() as usd,
                "message": {"id": id, "model": str() as model, "usage": dict()},
            }:
                if row["type"] in ("assistant", SIDE_CALL) and not ("forkedFrom" in row or "copyOf" in row):
                    usage = Usage.from_api(row["message"]["usage"])
                    self._calls[str(id)] = (model, ModelSpend(usage, float(usd)))
            case _:
                pass

    def added_to(self, cost: Cost) -> Cost:
        for model, spend in self._calls.values():
            cost = cost.plus(model, spend)
        return cost
