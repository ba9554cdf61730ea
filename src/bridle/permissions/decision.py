"""What decides calls in a session; the rules are imported with the first call that needs them."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from bridle.types.permission import Case, Decision

if TYPE_CHECKING:
    from bridle.config.schema import AutoMode


def decider(auto_mode: "AutoMode | None") -> Callable[[Case], Decision]:
    """What the gate says; in auto mode a model is asked about less than what a person would be."""

    def decide(case: Case) -> Decision:
        from bridle.permissions import policy

        if case.mode != "auto":
            return policy.decide(case)
        from bridle.permissions.auto.review import screen
        from bridle.permissions.auto.rules import merged

        return screen(policy.decide, merged(auto_mode))(case)

    return decide
