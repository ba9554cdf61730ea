"""Notes about background jobs, as the model reads them."""

from collections.abc import Mapping, Sequence

import msgspec

from bridle.types.block import text_of
from bridle.types.origin import JOB, Origin
from bridle.types.services.tasks import Task
from bridle.types.turn import Prompt

_USUAL_RESULT = 32_000
_MOST_RESULT = 160_000
_MOST_LISTED = 10
_LONGEST_NAME = 100
REPORTING = ("local_agent", "local_workflow")
"""Jobs that have a result for the model."""
_FRAME = "This is an update on background work in this session, not a message from the user."


def end_note(task: Task, env: Mapping[str, str]) -> Prompt:
    """The note that a job has ended."""
    note = _notification(task, most=_most_result(env))
    origin = Origin(source=JOB.source, who=task.id)
    return Prompt(content=note, origin=origin, meta=True, priority="later", query=not task.hushed)


def is_note(prompt: Prompt) -> bool:
    """Whether this is news of background work, written here; what a host calls so stays as it is."""
    return prompt.meta and prompt.origin.source == JOB.source


def one_note(notes: Sequence[Prompt], jobs: Sequence[Task]) -> Prompt:
    """All notes that wait in one, in a frame that says where they come from and what still runs."""
    said = "\n".join(text_of(note.content) for note in notes)
    return msgspec.structs.replace(
        notes[0],
        content=f"{_FRAME}\n{said}\n{_still_running(jobs)}",
        origin=notes[0].origin if len(notes) == 1 else JOB,
        query=any(note.query for note in notes),
    )


def _still_running(jobs: Sequence[Task]) -> str:
    running = [job for job in jobs if job.status == "running" and job.backgrounded]
    if not running:
        return "Nothing else is running in the background."
    listed = ", ".join(f"{job.id} ({job.description[:_LONGEST_NAME]})" for job in running[:_MOST_LISTED])
    more = f" and {len(running) - _MOST_LISTED} more" if len(running) > _MOST_LISTED else ""
    return f"Still running: {listed}{more}."


def _most_result(env: Mapping[str, str]) -> int:
    """How much of an agent's report a note may hold."""
    text = env.get("TASK_MAX_OUTPUT_LENGTH", "")
    return min(int(text), _MOST_RESULT) if text.isdecimal() and int(text) else _USUAL_RESULT


def _report(task: Task, status: str, most: int) -> str:
    result = task.result if task.error is None else task.error
    if result is not None and len(result) > most:
        result = f"{result[:most]}\n(truncated; full output: {task.output_file})"
    return _tagged(
        task_id=task.id,
        call_id=task.call_id,
        output_file=_place(task),
        status=status,
        summary=f'{task.kind.removeprefix("local_").capitalize()} "{task.description}" {status}',
        result=result,
    )


def _place(task: Task) -> str | None:
    """Where the output is; None where the call that started the job has said so."""
    return None if task.call_id else task.output_file


def _notification(task: Task, *, most: int) -> str:
    status = "stopped" if task.status == "killed" else task.status
    if task.kind in REPORTING:
        return _report(task, status, most)
    what = task.kind.capitalize() if task.kind == "monitor" else "Background command"
    code = "" if task.exit_code is None else f" with exit code {task.exit_code}"
    return _tagged(
        task_id=task.id,
        call_id=task.call_id,
        output_file=_place(task),
        status=status,
        summary=f'{what} "{task.description}" {status}{code}',
        result=task.error or task.result if task.kind == "monitor" else None,
    )


def _tagged(
    *,
    task_id: str,
    call_id: str,
    output_file: str | None,
    status: str,
    summary: str,
    result: str | None = None,
) -> str:
    """The note that a background job has ended, in the form that other readers recognize."""
    place = "" if output_file is None else f"<output-file>{output_file}</output-file>\n"
    said = "" if result is None else f"<result>{result}</result>\n"
    return (
        f"<task-notification>\n<task-id>{task_id}</task-id>\n<tool-use-id>{call_id}</tool-use-id>\n"
        f"{place}<status>{status}</status>\n"
        f"<summary>{summary}</summary>\n{said}</task-notification>"
    )
