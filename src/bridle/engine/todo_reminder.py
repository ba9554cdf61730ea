"""Reminds the model of its task list when it was not updated for a while."""

from bridle.context.reminders import reminder
from bridle.engine.turn import Turn
from bridle.tools.catalog import traits_of

_MOST_SHOWN = 20
_LONGEST = 200


def remind_of_todos(turn: Turn, *, within: int) -> None:
    """Show the open items, unless the list was changed in the last `within` answers or all is done."""
    todos = turn.runtime.workspace.todos
    still_open = [todo for todo in todos if todo.get("status") != "completed"]
    if not still_open or _was_used(turn, within):
        return
    shown = still_open[:_MOST_SHOWN]
    lines = [f"- [{todo.get('status')}] {str(todo.get('content'))[:_LONGEST]}" for todo in shown]
    text = (
        "# Your task list\nIt has not been updated recently. Update it if it still fits the work; "
        "otherwise clear it. Do not mention this to the user.\n" + "\n".join(lines)
    )
    turn.session.attach("task_reminder", [reminder(text)], content=still_open, itemCount=len(still_open))


def _was_used(turn: Turn, within: int) -> bool:
    answers: set[str] = set()
    for entry in reversed(turn.session.entries):
        if entry["type"] != "assistant":
            continue
        answers.add(entry["message"].get("id") or entry["uuid"])
        if len(answers) > within:
            return False
        if any(
            block["type"] == "tool_use" and traits_of(block["name"]).updates_tasks
            for block in entry["message"]["content"]
        ):
            return True
    return False
