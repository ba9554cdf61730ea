"""Continue the session automatically after a delay."""

from typing import Annotated

from msgspec import Meta, Struct

from bridle.types.errors import ToolError
from bridle.types.services.schedules import SCHEDULES
from bridle.types.tool import ToolContext, ToolOutput, tool

_LEAST, _MOST = 60, 3600


class ScheduleWakeupInput(Struct, frozen=True, forbid_unknown_fields=True):
    delaySeconds: Annotated[float | None, Meta(description="Seconds to wait, clamped to 60 to 3600.")] = None
    reason: Annotated[str | None, Meta(description="The reason, in one sentence for the user.")] = None
    prompt: Annotated[str | None, Meta(description="The prompt to run then.")] = None
    stop: Annotated[bool, Meta(description="Cancel the planned wakeup; no other field.")] = False


def _check(input: ScheduleWakeupInput, ctx: ToolContext) -> None:
    del ctx
    if input.stop:
        return
    if input.delaySeconds is None or not input.reason or not input.prompt:
        raise ToolError("Give delaySeconds, reason and prompt, or stop: true.")


@tool(
    "ScheduleWakeup",
    ScheduleWakeupInput,
    subject=lambda input: "stop" if input.stop else f"{input.delaySeconds:g}",
    read_only=True,
    parallel=lambda _: False,
    check=_check,
)
async def TOOL(input: ScheduleWakeupInput, ctx: ToolContext) -> ToolOutput:
    """End the turn now and take the work up again after a while."""
    if input.stop:
        before = ctx.need(SCHEDULES).stop_waking()
        said = "No wakeup is planned." if before is None else "Canceled the planned wakeup."
        return ToolOutput(content=said, data={"stopped": before is not None})
    asked = input.delaySeconds or 0.0
    seconds = min(max(asked, _LEAST), _MOST)
    planned = ctx.need(SCHEDULES).wake_in(seconds, reason=input.reason or "", prompt=input.prompt or "")
    return ToolOutput(
        content=f"The session continues automatically in {seconds:g} s. End your turn now.",
        data={
            "scheduledFor": round(planned.at * 1000),
            "clampedDelaySeconds": seconds,
            "wasClamped": seconds != asked,
        },
    )
