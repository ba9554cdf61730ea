"""Begin to plan."""

from msgspec import Struct

from bridle.types.services.session import PLANNING
from bridle.types.tool import ToolContext, ToolOutput, tool


class EnterPlanModeInput(Struct, frozen=True, forbid_unknown_fields=True):
    pass


@tool("EnterPlanMode", EnterPlanModeInput, parallel=lambda _: False)
async def enter_plan_mode(input: EnterPlanModeInput, ctx: ToolContext) -> ToolOutput:
    """Change nothing until the user has approved a plan."""
    del input
    planning = ctx.need(PLANNING)
    if planning.active:
        return ToolOutput(content="Plan mode is already on.", data={"message": "already planning"})
    rules = planning.enter()
    return ToolOutput(content=rules, data={"message": "Plan mode is on.", "planMode": rules})


TOOL = enter_plan_mode
