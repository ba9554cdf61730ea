"""Background jobs as the `system` lines that hosts follow them by."""

from collections.abc import Iterator
from typing import Any

from bridle.types.services.tasks import Task, TaskUsage


class TaskFrames:
    """Remembers which jobs run, because each change is followed by the whole list."""

    def __init__(self) -> None:
        self._running: dict[str, Task] = {}

    def of(self, task: Task) -> Iterator[dict[str, Any]]:
        """The subtypes and fields that tell of a job that has begun or ended."""
        if not task.backgrounded:
            # The turn waits for it: it is reported like a job, but is none.
            yield from _ended(task) if task.status != "running" else (_started(task),)
            return
        if task.status == "running":
            self._running[task.id] = task
            yield _started(task)
        else:
            self._running.pop(task.id, None)
            yield from _ended(task)
        live = [
            {
                "task_id": each.id,
                "task_type": each.kind,
                "description": each.description,
                **_typed(each),
            }
            for each in self._running.values()
        ]
        yield {"subtype": "background_tasks_changed", "tasks": live}


def _started(task: Task) -> dict[str, Any]:
    return {
        "subtype": "task_started",
        "task_id": task.id,
        "run_id": _run_id(task),
        "tool_use_id": task.call_id,
        "description": task.description,
        "task_type": task.kind,
        "is_backgrounded": task.backgrounded,
        **_typed(task),
        **({"spawn_depth": task.depth} if task.depth else {}),
        **({"workflow_name": task.name} if task.kind == "local_workflow" else {}),
        **({"prompt": task.prompt} if task.prompt is not None else {}),
    }


def progress(task: Task, summary: str | None = None) -> dict[str, Any]:
    """The line that tells of one more call of an agent, or what it does in a few words."""
    return {
        "subtype": "task_progress",
        "task_id": task.id,
        "tool_use_id": task.call_id,
        "description": task.description,
        **_typed(task),
        "usage": _usage(task),
        **({"last_tool_name": task.last_tool} if task.last_tool else {}),
        **({"summary": summary} if summary is not None else {}),
    }


def _run_id(task: Task) -> str:
    """One run of a job: an agent that is resumed keeps its id and has another run."""
    return f"{round(task.started * 1000):x}-{task.id[-8:]}"


def _typed(task: Task) -> dict[str, Any]:
    return {} if task.agent_type is None else {"subagent_type": task.agent_type}


def _usage(task: Task) -> dict[str, Any]:
    used = task.usage or TaskUsage()
    return {"total_tokens": used.tokens, "tool_uses": used.tool_uses, "duration_ms": used.duration_ms}


def _ended(task: Task) -> Iterator[dict[str, Any]]:
    ended = round((task.ended or task.started) * 1000)
    patch: dict[str, Any] = {"status": task.status, "end_time": ended}
    if task.error is not None:
        patch["error"] = task.error
    yield {"subtype": "task_updated", "task_id": task.id, "run_id": _run_id(task), "patch": patch}
    yield {
        "subtype": "task_notification",
        "task_id": task.id,
        "run_id": _run_id(task),
        "tool_use_id": task.call_id,
        "status": "stopped" if task.status == "killed" else task.status,
        "output_file": task.output_file,
        "summary": task.description,
        **({"usage": _usage(task)} if task.usage is not None else {}),
    }
