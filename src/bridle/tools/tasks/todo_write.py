"""Keep the list of what is to be done."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from bridle.types.tool import ToolContext, ToolOutput, tool


class Todo(Struct, frozen=True, forbid_unknown_fields=True):
    content: Annotated[str, Meta(min_length=1, description="What to do, such as: Run the tests.")]
    status: Literal["pending", "in_progress", "completed"]
    activeForm: Annotated[  # The wire's own spelling.
        str, Meta(min_length=1, description="Present participle, such as: Running the tests.")
    ]


class TodoWriteInput(Struct, frozen=True, forbid_unknown_fields=True):
    todos: Annotated[
        list[Todo], Meta(max_length=200, description="The complete list; it replaces the old list.")
    ]


@tool("TodoWrite", TodoWriteInput, read_only=True, parallel=lambda _: False)
async def todo_write(input: TodoWriteInput, ctx: ToolContext) -> ToolOutput:
    """Replace the list of things to do."""
    old, new = ctx.workspace.todos, [msgspec.to_builtins(todo) for todo in input.todos]
    ctx.workspace.todos = new
    done = sum(todo.status == "completed" for todo in input.todos)
    return ToolOutput(
        content=f"The list is saved: {done} of {len(new)} done. Continue with the current item.",
        data={"oldTodos": old, "newTodos": new},
    )


TOOL = todo_write
