"""What a compaction gives back at once: the files, tasks and plans that the work stands on."""

from collections.abc import Callable, Sequence

from bridle.context.reminders import reminder
from bridle.context.tokens import estimate
from bridle.types.block import TextBlock
from bridle.types.entry import ConversationEntry
from bridle.types.workspace import Workspace

_MOST_FILES = 5
_TOKENS_PER_FILE = 5_000
_TOKENS_OF_FILES = 50_000
_MOST_TODOS = 50

Source = Callable[[], str | None]
"""Something else that must be known again, such as the plan or the skills in use; None when there is none."""


def restored(
    workspace: Workspace, kept: Sequence[ConversationEntry], sources: Sequence[Source] = ()
) -> list[TextBlock]:
    """Reminders of what the model had before it, except what still stands in the part that was kept."""
    texts = [_files(workspace, kept), _todos(workspace), _jobs(workspace), *(source() for source in sources)]
    return [reminder(text) for text in texts if text]


def _files(workspace: Workspace, kept: Sequence[ConversationEntry]) -> str | None:
    seen = {path for entry in kept if (path := _path_read(entry)) is not None}
    parts: list[str] = []
    left = _TOKENS_OF_FILES
    for path, state in workspace.files.newest():
        tokens = estimate(state.content)
        if len(parts) == _MOST_FILES:
            break
        if path in seen or state.partial or tokens > min(left, _TOKENS_PER_FILE):
            continue
        left -= tokens
        parts.append(f"## {path}\n{state.content}")
    if not parts:
        return None
    return "# Files you had read\nAs they were then; read a file again where that matters.\n\n" + "\n\n".join(
        parts
    )


def _todos(workspace: Workspace) -> str | None:
    if not workspace.todos:
        return None
    lines = [f"- [{todo.get('status')}] {todo.get('content')}" for todo in workspace.todos[:_MOST_TODOS]]
    return "# Your task list\n" + "\n".join(lines)


def _jobs(workspace: Workspace) -> str | None:
    running = [job for job in workspace.jobs() if job.status == "running"]
    if not running:
        return None
    lines = [f"- {job.id}: {job.description} (output: {job.output_file})" for job in running]
    return "# Running in the background\n" + "\n".join(lines)


def _path_read(entry: ConversationEntry) -> str | None:
    if entry["type"] != "user":
        return None
    match entry.get("toolUseResult"):
        case {"file": {"filePath": str() as path}} | {"filePath": str() as path}:
            return path
        case _:
            return None
