"""Tell the user something while they look elsewhere."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

from bridle.types.errors import ToolError
from bridle.types.services.session import ANNOUNCE
from bridle.types.tool import ToolContext, ToolOutput, tool

_MOST = 200


class PushNotificationInput(Struct, frozen=True, forbid_unknown_fields=True):
    message: Annotated[
        str, Meta(description="One line under 200 characters: what happened and what you need.")
    ]
    status: Annotated[Literal["proactive"], Meta(description="Always proactive.")] = "proactive"


def _check(input: PushNotificationInput, ctx: ToolContext) -> None:
    del ctx
    if not input.message.strip() or len(input.message) >= _MOST:
        raise ToolError(f"The message must have 1 to {_MOST - 1} characters.")


@tool(
    "PushNotification",
    PushNotificationInput,
    # It says something and changes nothing.
    read_only=True,
    parallel=lambda _: False,
    check=_check,
)
async def TOOL(input: PushNotificationInput, ctx: ToolContext) -> ToolOutput:
    """Send the user a notification."""
    message = " ".join(input.message.split())
    ctx.need(ANNOUNCE)(message)
    return ToolOutput(
        content="Notification sent to the terminal, the host program and notification hooks.",
        data={"message": message, "sent": True},
    )
