"""The slash commands of background work."""

import time
from typing import Protocol

from bridle.engine.runtime import Runtime
from bridle.transcripts.session import Session
from bridle.transcripts.store import TranscriptPath
from bridle.types.command import Asks, CommandResult, Says, Shows
from bridle.types.errors import UsageError
from bridle.types.services.tasks import BackgroundSessions, Task

_OUTPUT_CHARS = 4_000
_NO_TERMINAL = "Only a terminal session can move to the background. Start one there with: bridle --bg"


class Caller(Protocol):
    """The part of a command's context that these commands need."""

    @property
    def session(self) -> Session: ...

    @property
    def runtime(self) -> Runtime: ...

    @property
    def place(self) -> TranscriptPath: ...


async def tasks(arguments: str, caller: Caller) -> CommandResult:
    """Show background work, the output of one job (`<id>`), or end one (`stop <id>`) or all (`stop all`)."""
    words, workspace = arguments.split(), caller.runtime.workspace
    if not words:
        rows = map(_row, workspace.jobs())
        return Shows(view="tasks", text="\n".join(rows) or "Nothing is running in the background.")
    stops = words[0] == "stop"
    task_id = words[-1]
    if len(words) > 2 or (stops and len(words) != 2):
        raise UsageError("Use /tasks, /tasks <id>, /tasks stop <id> or /tasks stop all.")
    if words == ["stop", "all"]:
        running = [job for job in workspace.jobs() if job.status == "running" or job.resident]
        stopped = [await workspace.tasks.stop(job.id) for job in running]
        return Says("\n".join(map(_row, stopped)) or "Nothing is running in the background.")
    if (found := workspace.tasks.find(task_id)) is None:
        raise UsageError(f"Unknown background task {task_id}. /tasks lists all tasks.")
    if stops:
        stopped = await workspace.tasks.stop(found.id)
        return Says(f"Stopped: {stopped.description or stopped.command or stopped.id}")
    return Says(f"{_row(found)}\n{workspace.tasks.read(found.id, _OUTPUT_CHARS)}")


async def move(arguments: str, caller: Caller, sessions: BackgroundSessions | None) -> CommandResult:
    """Move the conversation to the background, with a prompt or with its running turn.

    Raises:
        UsageError: it cannot be moved.
    """
    if sessions is None:
        raise UsageError(_NO_TERMINAL)
    if sessions.is_inside:
        sessions.detach()
        return Asks(content=arguments, shown=arguments) if arguments else Says()
    if sessions.refusal is not None:
        raise UsageError(sessions.refusal)
    if not caller.place.persist:
        raise UsageError("This conversation is not saved on disk, so it cannot continue in the background.")
    if not caller.session.entries and not arguments:
        raise UsageError("The conversation is empty. Start with: /background <prompt>")
    sessions.move(arguments)
    return Says()


async def stop(sessions: BackgroundSessions | None) -> CommandResult:
    """End the background session that the user is attached to."""
    if sessions is None or not sessions.is_inside:
        return Says("This is not a background session. Exit with /exit.", is_error=True)
    sessions.stop()
    return Says()


def _row(task: Task) -> str:
    seconds = round((task.ended or time.time()) - task.started)
    named = f"{task.name}: " if task.name else ""
    return f"{task.id}  {'idle' if task.resident else task.status}  {seconds} s  {named}{task.description}"
