"""Take a scheduled prompt back."""

from typing import Annotated

from msgspec import Meta, Struct

from bridle.types.services.schedules import SCHEDULES
from bridle.types.tool import ToolContext, ToolOutput, tool


class CronDeleteInput(Struct, frozen=True, forbid_unknown_fields=True):
    id: Annotated[str, Meta(description="The ID from CronCreate.")]


@tool(
    "CronDelete",
    CronDeleteInput,
    subject=lambda input: input.id,
    read_only=True,
    parallel=lambda _: False,
)
async def TOOL(input: CronDeleteInput, ctx: ToolContext) -> ToolOutput:
    """Let a scheduled prompt come no more."""
    gone = await ctx.need(SCHEDULES).delete(input.id)
    return ToolOutput(content=f"{gone.id} ({gone.words}) was deleted.", data={"id": gone.id})
