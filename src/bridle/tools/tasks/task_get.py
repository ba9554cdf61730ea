"""Look at one task of the list."""

import asyncio
from typing import Annotated

from msgspec import Meta, Struct

from bridle.tools.tasks.stored_lists import find_item, folder_of
from bridle.types.tool import ToolContext, ToolOutput, tool


class TaskGetInput(Struct, frozen=True, forbid_unknown_fields=True):
    taskId: Annotated[str, Meta(description="The task's number.")]


@tool("TaskGet", TaskGetInput, subject=lambda input: input.taskId, read_only=True)
async def TOOL(input: TaskGetInput, ctx: ToolContext) -> ToolOutput:
    """Read one task of the list."""
    item = await asyncio.to_thread(find_item, folder_of(ctx.session_id, ctx.env), input.taskId)
    lines = [f"Task #{item['id']}: {item['subject']}", f"Status: {item['status']}"]
    if owner := item.get("owner"):
        lines.append(f"Owner: {owner}")
    if item["blockedBy"]:
        lines.append(f"Blocked by: {', '.join('#' + each for each in item['blockedBy'])}")
    if item["blocks"]:
        lines.append(f"Blocks: {', '.join('#' + each for each in item['blocks'])}")
    lines.append(item["description"])
    shown = {"id", "subject", "description", "status", "blocks", "blockedBy", "owner"}
    return ToolOutput(
        content="\n".join(lines), data={"task": {key: item[key] for key in item if key in shown}}
    )
