"""Look at the scheduled prompts."""

from msgspec import Struct

from bridle.types.services.schedules import SCHEDULES, Scheduled
from bridle.types.tool import ToolContext, ToolOutput, tool

_SHOWN = 200


class CronListInput(Struct, frozen=True, forbid_unknown_fields=True):
    pass


@tool("CronList", CronListInput, read_only=True)
async def TOOL(input: CronListInput, ctx: ToolContext) -> ToolOutput:
    """List the scheduled prompts."""
    del input
    found = ctx.need(SCHEDULES).all()
    return ToolOutput(
        content="\n".join(map(_line, found)) or "Nothing is scheduled.",
        data={
            "jobs": [
                {
                    "id": each.id,
                    "cron": each.cron,
                    "humanSchedule": each.words,
                    "prompt": each.prompt,
                    "recurring": each.recurring,
                    "durable": each.durable,
                    **({} if each.approved else {"approved": False}),
                }
                for each in found
            ]
        },
    )


def _line(each: Scheduled) -> str:
    kind = "recurring" if each.recurring else "once"
    kept = ", durable" if each.durable else ""
    kept += "" if each.approved else ", inactive: not approved by the user"
    return f"{each.id}: {each.words} ({kind}{kept}): {each.prompt[:_SHOWN]}"
