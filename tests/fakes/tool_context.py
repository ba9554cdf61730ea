"""A tool context for tests: a real workspace in a temporary directory, fakes at every other opening."""

import os
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

from bridle.types.block import AssistantMessage
from bridle.types.permission import Permit
from bridle.types.question import Answer, Question, Refused
from bridle.types.services.tasks import Task, Tasks
from bridle.types.tool import Consultation, ToolContext
from bridle.types.workspace import Workspace

_NOTHING_ALLOWED = Permit()


def make_context(
    tmp_path: Path,
    *,
    call_id: str = "call-1",
    session_id: str = "session-1",
    workspace: Workspace | None = None,
    tasks: Tasks | None = None,
    storage: str | None = None,
    env: Mapping[str, str] | None = None,
    progress: Callable[[str], None] | None = None,
    ask: Callable[[Question], Awaitable[Answer]] | None = None,
    consult: Callable[[Consultation], Awaitable[AssistantMessage]] | None = None,
    permit: Permit = _NOTHING_ALLOWED,
) -> ToolContext:
    """A context whose workspace is `tmp_path`; `env` adds to the environment of the test run."""
    return ToolContext(
        call_id=call_id,
        session_id=session_id,
        workspace=workspace or Workspace(str(tmp_path), tasks=tasks or FakeTasks()),
        storage=storage or str(tmp_path / "storage"),
        env={**os.environ, **(env or {})},
        progress=progress or FakeProgress(),
        ask=ask or _refuse,
        consult=consult or _consult_nobody,
        permit=permit,
    )


class FakeProgress:
    """Keeps what was reported in `lines`."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def __call__(self, line: str) -> None:
        self.lines.append(line)


class FakeTasks:
    """Background jobs that never change on their own; `output` is read by task id."""

    def __init__(self, *tasks: Task, output: Mapping[str, str] | None = None) -> None:
        self.tasks = {task.id: task for task in tasks}
        self.output = dict(output or {})
        self.stopped: list[str] = []
        self.told: list[str] = []

    def find(self, task_id: str) -> Task | None:
        return self.tasks.get(task_id)

    def all(self) -> tuple[Task, ...]:
        return tuple(self.tasks.values())

    def begin(self, task: Task, stop: Callable[[], Awaitable[None]]) -> None:
        self.tasks[task.id] = task

    def change(self, task: Task) -> None:
        self.tasks[task.id] = task

    def read(self, task_id: str, limit: int) -> str:
        return self.output.get(task_id, "")[-limit:]

    def tell(self, task_id: str) -> None:
        self.told.append(task_id)

    def is_told(self, task_id: str) -> bool:
        return task_id in self.told

    async def wait(self, task_id: str, timeout: float) -> Task:
        return self.tasks[task_id]

    async def stop(self, task_id: str) -> Task:
        self.stopped.append(task_id)
        return self.tasks[task_id]


async def _refuse(question: Question) -> Answer:
    return Refused(message="nobody can answer here", by_person=False)


async def _consult_nobody(consultation: Consultation) -> AssistantMessage:
    raise AssertionError(f"this test did not expect a consultation: {consultation.prompt[:200]}")
