"""List the agents and sessions that can receive messages."""

from typing import Any

from msgspec import Struct

from bridle.types.services.messages import MESSAGES, Contact
from bridle.types.tool import ToolContext, ToolOutput, tool

_MOST = 60
_LONGEST = 160


class ListAgentsInput(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    pass


@tool("ListAgents", ListAgentsInput, read_only=True)
async def TOOL(input: ListAgentsInput, ctx: ToolContext) -> ToolOutput:
    """List agents and sessions that can be written to."""
    del input
    found = await ctx.need(MESSAGES).contacts()
    # The newest agents are the ones that matter.
    lines = [_line(each) for each in found[-_MOST:]]
    if len(found) > _MOST:
        lines.insert(0, f"({len(found) - _MOST} older agents omitted)")
    return ToolOutput(
        content="\n".join(lines) or "No agents. Start one with Agent.",
        data={"agents": [_data(each) for each in found[-_MOST:]]},
    )


def _line(contact: Contact) -> str:
    kind = f" [{contact.agent_type}, {contact.agent_id}]" if contact.agent_id is not None else ""
    about = f": {contact.about[:_LONGEST]}" if contact.about else ""
    return f"- {contact.address}{kind} {contact.status}{about}"


def _data(contact: Contact) -> dict[str, Any]:
    return {
        "address": contact.address,
        "kind": contact.kind,
        "status": contact.status,
        "description": contact.about,
        "agentId": contact.agent_id,
        "agentType": contact.agent_type,
    }
