"""Look at the whole task list."""

import asyncio

from msgspec import Struct

from bridle.tools.tasks.stored_lists import Item, folder_of, open_blockers, read_items
from bridle.types.tool import ToolContext, ToolOutput, tool


class TaskListInput(Struct, frozen=True, forbid_unknown_fields=True):
    """Nothing needs to be said."""


@tool("TaskList", TaskListInput, read_only=True)
async def TOOL(input: TaskListInput, ctx: ToolContext) -> ToolOutput:
    """List every task with its status, owner and what it waits for."""
    del input
    items = await asyncio.to_thread(read_items, folder_of(ctx.session_id, ctx.env))
    tasks = [
        {
            "id": item["id"],
            "subject": item["subject"],
            "status": item["status"],
            **({"owner": owner} if (owner := item.get("owner")) else {}),
            "blockedBy": open_blockers(item, items),
        }
        for item in items
    ]
    lines = [_line(item, open_blockers(item, items)) for item in items]
    return ToolOutput(content="\n".join(lines) or "The list is empty.", data={"tasks": tasks})


def _line(item: Item, waits_for: list[str]) -> str:
    owner = f" ({name})" if (name := item.get("owner")) else ""
    blocked = f" [waits for {', '.join('#' + each for each in waits_for)}]" if waits_for else ""
    return f"#{item['id']} [{item['status']}] {item['subject']}{owner}{blocked}"
