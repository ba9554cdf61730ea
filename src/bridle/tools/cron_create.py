"""Schedule a prompt."""

from typing import Annotated

from msgspec import Meta, Struct

from bridle.types.services.schedules import SCHEDULES
from bridle.types.tool import ToolContext, ToolOutput, tool


class CronCreateInput(Struct, frozen=True, forbid_unknown_fields=True):
    cron: Annotated[
        str,
        Meta(
            description=(
                "Five fields in local time: minute hour day-of-month month weekday, such as `*/5 * * * *`."
            )
        ),
    ]
    prompt: Annotated[str, Meta(description="The prompt to run; it can call a skill.")]
    recurring: Annotated[bool, Meta(description="true: every matching time; false: only the next.")] = True
    durable: Annotated[
        bool,
        Meta(
            description="Save it in .claude/scheduled_tasks.json for later sessions; only if the user asks."
        ),
    ] = False


@tool(
    "CronCreate",
    CronCreateInput,
    subject=lambda input: input.cron,
    # What comes passes the gate then, call by call; one that outlives the session is for the user to allow.
    read_only=lambda input: not input.durable,
    parallel=lambda _: False,
)
async def TOOL(input: CronCreateInput, ctx: ToolContext) -> ToolOutput:
    """Let a prompt come at the times that a cron expression names."""
    made = await ctx.need(SCHEDULES).create(
        input.cron, input.prompt, recurring=input.recurring, durable=input.durable
    )
    often = f"{made.words}, for seven days" if made.recurring else f"once, at the next match of {made.cron}"
    lasts = "It is saved for later sessions." if made.durable else "It ends with this session."
    return ToolOutput(
        content=f"Scheduled as {made.id}: {often}. {lasts} Cancel it with CronDelete.",
        data={
            "id": made.id,
            "humanSchedule": made.words,
            "recurring": made.recurring,
            "durable": made.durable,
        },
    )
