"""The budget of a run around the model of each of its sessions: the ledger that all its workers share."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from bridle.engine.feature import Feature
from bridle.features.budgets.ledger import Ledger, Refusal
from bridle.features.budgets.metered_provider import MeteredProvider, RunLedger
from bridle.features.context import FeatureContext
from bridle.types.budget import Budgets, Charge, Limit, Payer

if TYPE_CHECKING:
    from bridle.engine.assignment import Assignment
    from bridle.types.model import Provider


class TaskAccount:
    """The ledger of the run as one attempt uses it; remembers whether the budget was used up."""

    def __init__(self, ledger: RunLedger) -> None:
        self._ledger = ledger
        self.is_used_up = False

    def reserve(self, payer: Payer, charge: Charge, budgets: Budgets) -> int | Refusal:
        answer = self._ledger.reserve(payer, charge, budgets)
        if isinstance(answer, Refusal) and answer.spent:
            self.is_used_up = True
        return answer

    def settle(
        self,
        reservation: int | None,
        payer: Payer,
        charge: Charge | None,
        *,
        model: str = "",
        source: str = "",
        output: int = 0,
    ) -> None:
        self._ledger.settle(reservation, payer, charge, model=model, source=source, output=output)

    def used(self, scope: str, payer: Payer) -> Charge:
        return self._ledger.used("run", payer)


class RunBudget(Feature):
    """Meters every model call of a session for its run."""

    name = "run_budget"

    def __init__(self, meter: "Callable[[Provider], Provider]") -> None:
        self._meter = meter

    def provider(self, provider: "Provider") -> "Provider":
        return self._meter(provider)

    def for_agent(self, work: "Assignment") -> Feature:
        return self

    def for_hook_agent(self) -> Feature:
        return self


def run_budget(
    account: TaskAccount, *, run: str, task: str, budget: float
) -> Callable[[FeatureContext], Feature | None]:
    """Opens the feature for a session of a run."""

    def open_budget(context: FeatureContext) -> Feature:
        def meter(provider: "Provider") -> "Provider":
            return MeteredProvider(
                provider,
                path="",
                ledger=account,
                payer=Payer(run=run, project=run, agent=task),
                facts=context.facts,
                budgets={"run": Limit(usd=budget)},
            )

        return RunBudget(meter)

    return open_budget


def open_ledger(path: str) -> RunLedger:
    """The ledger in a file of this machine."""
    return Ledger(path)
