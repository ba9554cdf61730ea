"""Add a task to the list."""

import asyncio
from typing import Annotated, Any

from msgspec import Meta, Struct

from bridle.tools.tasks.stored_lists import add_item, folder_of, remove_item
from bridle.types.errors import ToolError
from bridle.types.services.session import OBJECTIONS
from bridle.types.tool import UNLISTED, ListedTask, ToolContext, ToolOutput, tool


class TaskCreateInput(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    subject: Annotated[str, Meta(min_length=1, description="What to do, such as: Run the tests.")]
    description: Annotated[str, Meta(description="Details, and when it is done.")]
    activeForm: Annotated[str | None, Meta(description="Such as: Running the tests.")] = None
    metadata: Annotated[dict[str, Any] | None, UNLISTED] = None


@tool(
    "TaskCreate",
    TaskCreateInput,
    subject=lambda input: input.subject,
    read_only=True,
    parallel=lambda _: False,  # numbers are given in the order of the answer
)
async def TOOL(input: TaskCreateInput, ctx: ToolContext) -> ToolOutput:
    """Add a task to the list."""
    folder = folder_of(ctx.session_id, ctx.env)
    item = await asyncio.to_thread(
        add_item,
        folder,
        subject=input.subject,
        description=input.description,
        active_form=input.activeForm,
        metadata=input.metadata,
    )
    made = ListedTask(
        moment="created", id=item["id"], subject=item["subject"], description=item["description"]
    )
    object_to = ctx.service(OBJECTIONS)
    if object_to is not None and (reason := await object_to(made)) is not None:
        await asyncio.to_thread(remove_item, folder, item["id"])
        raise ToolError(f"A hook blocked the new task: {reason}")
    return ToolOutput(
        content=f"Task #{item['id']} created: {item['subject']}",
        data={"task": {"id": item["id"], "subject": item["subject"], "description": item["description"]}},
    )
