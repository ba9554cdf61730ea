"""Leave a conversation for good."""

from msgspec import Struct

from bridle.types.services.session import LEAVE
from bridle.types.tool import ToolContext, ToolOutput, tool


class EndConversationInput(Struct, frozen=True, forbid_unknown_fields=True):
    pass


@tool("EndConversation", EndConversationInput, read_only=True, parallel=lambda _: False)
async def TOOL(input: EndConversationInput, ctx: ToolContext) -> ToolOutput:
    """End the conversation after this turn."""
    del input
    ctx.need(LEAVE)()
    return ToolOutput(content="The conversation ends after this turn.", data={"ended": True})
