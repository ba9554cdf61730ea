"""Change a task of the list."""

import asyncio
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from bridle.tools.tasks.stored_lists import Item, change_item, find_item, folder_of, link_items, remove_item
from bridle.types.errors import ToolError
from bridle.types.services.session import OBJECTIONS
from bridle.types.tool import UNLISTED, ListedTask, ToolContext, ToolOutput, tool


class TaskUpdateInput(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    taskId: Annotated[str, Meta(description="The task's number.")]
    status: Literal["pending", "in_progress", "completed", "deleted"] | None = None
    subject: str | None = None
    description: str | None = None
    activeForm: str | None = None
    owner: Annotated[str | None, Meta(description="Owner; empty for none.")] = None
    addBlocks: Annotated[list[str] | None, Meta(description="Tasks that wait for this task.")] = None
    addBlockedBy: Annotated[list[str] | None, Meta(description="Tasks that this task waits for.")] = None
    metadata: Annotated[dict[str, Any] | None, UNLISTED] = None
    """Merged; null removes a key."""


@tool(
    "TaskUpdate",
    TaskUpdateInput,
    subject=lambda input: input.taskId,
    read_only=True,
    parallel=lambda _: False,  # of two changes of a task the later one counts
)
async def TOOL(input: TaskUpdateInput, ctx: ToolContext) -> ToolOutput:
    """Change a task: status, words, owner, what it waits for."""
    folder = folder_of(ctx.session_id, ctx.env)
    before = await asyncio.to_thread(find_item, folder, input.taskId)
    old = before["status"]
    if input.status == "deleted":
        gone = await asyncio.to_thread(remove_item, folder, input.taskId)
        return _told(gone, ["deleted"], old, "deleted")
    if input.status == "completed" and old != "completed":
        await _ask_hooks(before, ctx)
    pairs = [
        *((before["id"], after) for after in input.addBlocks or ()),
        *((first, before["id"]) for first in input.addBlockedBy or ()),
    ]
    if pairs:
        await asyncio.to_thread(link_items, folder, pairs)
    changed: list[str] = []
    item = await asyncio.to_thread(
        change_item, folder, input.taskId, lambda item: _apply(item, input, changed)
    )
    changed += ["blocks"] if input.addBlocks else []
    changed += ["blockedBy"] if input.addBlockedBy else []
    return _told(item, changed, old, item["status"])


async def _ask_hooks(item: Item, ctx: ToolContext) -> None:
    done = ListedTask(
        moment="completed",
        id=item["id"],
        subject=item["subject"],
        description=item["description"],
        owner=item.get("owner"),
    )
    object_to = ctx.service(OBJECTIONS)
    if object_to is not None and (reason := await object_to(done)) is not None:
        raise ToolError(f"Task #{item['id']} was not completed: a hook blocked it: {reason}")


def _apply(item: Item, input: TaskUpdateInput, changed: list[str]) -> None:
    if input.subject is not None and input.subject != item["subject"]:
        item["subject"] = input.subject
        changed.append("subject")
    if input.description is not None and input.description != item["description"]:
        item["description"] = input.description
        changed.append("description")
    if input.activeForm is not None and input.activeForm != item.get("activeForm"):
        item["activeForm"] = input.activeForm
        changed.append("activeForm")
    if input.owner is not None and input.owner != item.get("owner", ""):
        item["owner"] = input.owner
        changed.append("owner")
    if input.metadata is not None:
        merged = {**item.get("metadata", {}), **input.metadata}
        item["metadata"] = {key: value for key, value in merged.items() if value is not None}
        changed.append("metadata")
    if input.status is not None and input.status != "deleted" and input.status != item["status"]:
        item["status"] = input.status
        changed.append("status")


def _told(item: Item, changed: list[str], old: str, new: str) -> ToolOutput:
    data: dict[str, Any] = {"success": True, "taskId": item["id"], "updatedFields": changed}
    if old != new:
        data["statusChange"] = {"from": old, "to": new}
    what = ", ".join(changed) or "nothing"
    shown = f"Task #{item['id']} deleted" if new == "deleted" else f"Task #{item['id']}: changed {what}"
    return ToolOutput(content=f"{shown} ({new}).", data=data)
