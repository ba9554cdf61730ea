"""The list of tasks that the model works through, as its calls tell it."""

from collections.abc import Mapping, Sequence
from typing import Any

TASK_TOOLS = frozenset({"TodoWrite", "TaskCreate", "TaskUpdate", "TaskList"})
"""Calls that show or change the list."""


class TaskList:
    """Follows calls of the task tools; the whole list of `TodoWrite` replaces what was known."""

    def __init__(self) -> None:
        self._items: dict[str, dict[str, Any]] = {}
        self._inputs: dict[str, Mapping[str, Any]] = {}
        """What was asked of calls that have not ended."""

    @property
    def items(self) -> list[Mapping[str, Any]]:
        """Every task in its order: `subject` or `content`, `status`, `activeForm`."""
        return list(self._items.values())

    @property
    def done(self) -> int:
        return sum(each.get("status") == "completed" for each in self._items.values())

    @property
    def is_open(self) -> bool:
        """Whether something is left to do."""
        return self.done < len(self._items)

    @property
    def doing(self) -> str:
        """What is being done now, in the words that the model gave it."""
        current = (each for each in self._items.values() if each.get("status") == "in_progress")
        for each in current:
            return str(each.get("activeForm") or each.get("subject") or each.get("content") or "")
        return ""

    @property
    def count(self) -> str:
        """`2 of 5`; empty when nothing is left to do."""
        return f"{self.done} of {len(self._items)}" if self.is_open else ""

    def clear(self) -> None:
        """Another conversation begins."""
        self._items, self._inputs = {}, {}

    def load(self, items: Sequence[Mapping[str, Any]]) -> None:
        """Begin with a list that was kept."""
        self._items = {str(each.get("id") or at): dict(each) for at, each in enumerate(items, 1)}

    def started(self, call_id: str, tool: str, input: Mapping[str, Any]) -> None:
        """A call begins."""
        if tool in TASK_TOOLS:
            self._inputs[call_id] = input

    def finished(self, call_id: str, tool: str, data: Any) -> bool:
        """A call went well; whether the list may have changed."""
        input = self._inputs.pop(call_id, {})
        if tool not in TASK_TOOLS or not isinstance(data, Mapping):
            return False
        match tool:
            case "TodoWrite":
                self.load(_tasks(data.get("newTodos")))
            case "TaskList":
                self._refresh(_tasks(data.get("tasks")))
            case "TaskCreate":
                task = data.get("task")
                if isinstance(task, Mapping):
                    self._items[str(task.get("id"))] = {**_told(input), **task, "status": "pending"}
            case _:
                self._update(str(data.get("taskId")), input)
        return True

    def _update(self, task_id: str, input: Mapping[str, Any]) -> None:
        if input.get("status") == "deleted":
            self._items.pop(task_id, None)
            return
        known = self._items.get(task_id, {"id": task_id, "subject": f"Task {task_id}", "status": "pending"})
        self._items[task_id] = {**known, **_told(input)}

    def _refresh(self, tasks: Sequence[Mapping[str, Any]]) -> None:
        """The list as it is kept; words that it leaves out stay."""
        self._items = {
            str(each.get("id")): {**self._items.get(str(each.get("id")), {}), **each} for each in tasks
        }


def _told(input: Mapping[str, Any]) -> dict[str, Any]:
    return {name: input[name] for name in ("subject", "activeForm", "status") if input.get(name)}


def _tasks(value: Any) -> list[Mapping[str, Any]]:
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list | tuple) else []
