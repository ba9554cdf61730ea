"""Wait."""

from typing import Annotated

from msgspec import Meta, Struct

from bridle.types.services.session import PAUSE
from bridle.types.tool import ToolContext, ToolOutput, tool

_MOST = 3600


class SleepInput(Struct, frozen=True, forbid_unknown_fields=True):
    seconds: Annotated[float, Meta(description="Maximum time to wait, up to 3600.", gt=0, le=_MOST)]


@tool("Sleep", SleepInput, subject=lambda input: f"{input.seconds:g}", read_only=True)
async def TOOL(input: SleepInput, ctx: ToolContext) -> ToolOutput:
    """Wait until the time is over or something comes in."""
    waited = await ctx.need(PAUSE)(input.seconds)
    early = waited is not None
    seconds = waited if waited is not None else input.seconds
    said = f"Waited {seconds:.0f} s."
    if early:
        said += " A message arrived; you see it at the next step."
    return ToolOutput(content=said, data={"seconds": seconds, "interrupted": early})
