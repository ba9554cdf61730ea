"""Write to another agent."""

from typing import Annotated

from msgspec import Meta, Struct

from bridle.types.services.messages import MESSAGES, Delivery
from bridle.types.tool import ToolContext, ToolOutput, tool

_WORDS = {
    "delivered": "delivered; the agent reads it at its next step",
    "resumed": "resumed with its context; you will be notified with its report",
    "sent": "delivered to the other session",
}


class SendMessageInput(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    to: Annotated[
        str,
        Meta(
            description=(
                "An agent's name or id, main, * for all running; a session's uds:PATH or remote:NAME."
            )
        ),
    ]
    message: Annotated[str, Meta(description="The message; the receiver sees nothing else.")]
    summary: Annotated[str | None, Meta(description="The message in five to ten words.")] = None
    notify_when_idle: Annotated[bool | None, Meta(description="Notify you when the receiver is idle.")] = None


@tool(
    "SendMessage",
    SendMessageInput,
    subject=lambda input: input.to.strip(),
    # The receiver's own calls pass the gate.
    read_only=True,
    parallel=lambda _: False,
)
async def TOOL(input: SendMessageInput, ctx: ToolContext) -> ToolOutput:
    """Write to another agent."""
    done = await ctx.need(MESSAGES).send(
        to=input.to,
        text=input.message,
        summary=input.summary or "",
        notify_when_idle=input.notify_when_idle is True,
    )
    text = "\n".join(_line(each) for each in done)
    return ToolOutput(
        content=text,
        data={
            "success": True,
            "message": text,
            "recipients": [{"to": each.to, "status": each.how} for each in done],
        },
    )


def _line(delivery: Delivery) -> str:
    return f"{delivery.to}: {_WORDS[delivery.how]}."
