"""Ask another model what it thinks of the work."""

from typing import Annotated

from msgspec import Meta, Struct

from bridle.types.block import text_of
from bridle.types.errors import ToolError
from bridle.types.services.session import ADVISE
from bridle.types.tool import ToolContext, ToolOutput, tool

_MOST_CHARACTERS = 20_000


class AdvisorInput(Struct, frozen=True, forbid_unknown_fields=True):
    question: Annotated[
        str, Meta(max_length=4_000, description="What to focus on; omit for a general review.")
    ] = ""


@tool("Advisor", AdvisorInput, read_only=True, max_result_chars=None)
async def TOOL(input: AdvisorInput, ctx: ToolContext) -> ToolOutput:
    """Ask the advisor model about the work so far."""
    answer = await ctx.need(ADVISE)(input.question)
    text = text_of(answer["content"]).strip()
    if not text:
        raise ToolError(f"The advisor {answer['model']} did not answer; continue without it.")
    if len(text) > _MOST_CHARACTERS:
        text = f"{text[:_MOST_CHARACTERS]}\n[truncated]"
    data = {
        "advice": text,
        "messageId": answer["id"],
        "model": answer["model"],
        "usage": answer["usage"],
    }
    return ToolOutput(content=text, data=data)
