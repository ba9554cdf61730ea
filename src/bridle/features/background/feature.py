"""Background work as a feature; what runs commands is imported with the first that needs it."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bridle.engine.feature import Feature
from bridle.features.background import notes
from bridle.features.context import FeatureContext
from bridle.types.command import Command, CommandResult
from bridle.types.event import TaskEnded, TaskStarted
from bridle.types.services.service import Service
from bridle.types.services.session import DIGEST
from bridle.types.services.tasks import BackgroundSessions, Task, Tasks

if TYPE_CHECKING:
    from bridle.engine.assignment import Assignment
    from bridle.engine.turn import Turn
    from bridle.features.background.commands import Caller
    from bridle.host.background import BackgroundShells
    from bridle.types.turn import Prompt

_WAIT_MS = 600_000
_MOST_NAMED = 5
_LONGEST_NAME = 100


class BackgroundFeature(Feature):
    """The jobs of a session; agents share them. Implements `Digest` for the notes about them."""

    name = "background"

    def __init__(self, context: FeatureContext) -> None:
        self._context = context
        self._shells: BackgroundShells | None = None
        self._ended = asyncio.Event()
        self.sessions: BackgroundSessions | None = None
        """Sessions in the background; set by a host that has a terminal to leave."""
        context.workspace.bring_tasks(self._open_tasks)

    def part(self, key: Service[Any]) -> Any:
        return self if key in (BACKGROUND, DIGEST) else None

    def commands(self) -> Sequence[Command]:
        return (
            Command(
                name="background",
                description="Move the session to the background",
                run=self._move,
                argument_hint="[prompt]",
                aliases=("bg",),
                at_once=True,
            ),
            Command(
                name="stop",
                description="Stop the attached background session",
                run=self._stop,
                at_once=True,
            ),
            Command(
                name="tasks",
                description="Show background work",
                run=_show_tasks,
                argument_hint="[stop id]",
                aliases=("bashes",),
                complete=lambda typed: ("stop",) if "stop".startswith(typed.lower()) else (),
                at_once=True,
            ),
        )

    def note_task(self, task: Task) -> None:
        """Report a job that has begun or ended; the model reads of an end that no call waits for."""
        runtime = self._context.runtime()
        if task.status == "running":
            runtime.channel.emit(TaskStarted(task))
            return
        runtime.channel.emit(TaskEnded(task))
        if task.backgrounded:
            self._context.wake(notes.end_note(task, runtime.env))
        self._ended.set()

    def covers(self, prompt: "Prompt") -> bool:
        return notes.is_note(prompt)

    def is_stale(self, prompt: "Prompt") -> bool:
        return notes.is_note(prompt) and self._context.workspace.is_told(prompt.origin.who)

    def combine(self, prompts: "Sequence[Prompt]") -> "Prompt":
        return notes.one_note(prompts, self._context.workspace.jobs())

    def restore(self, turn: "Turn") -> Sequence[str | None]:
        running = [job for job in turn.runtime.workspace.jobs() if job.status == "running"]
        if not running:
            return ()
        lines = [f"- {job.id}: {job.description} (output: {job.output_file})" for job in running]
        return ("# Running in the background\n" + "\n".join(lines),)

    def move_to_background(self, call_id: str | None = None) -> int:
        return 0 if self._shells is None else self._shells.move_waited(call_id)

    def owes_turn(self) -> bool:
        jobs = self._context.workspace.jobs()
        return any(job.kind in notes.REPORTING and job.status == "running" for job in jobs)

    async def wait_for_more(self, seconds: float, say: Callable[[str], None]) -> bool:
        """Wait until a job ends that has something to say."""
        running = [job for job in self._context.workspace.jobs() if _is_awaited(job)]
        if not running or seconds <= 0:
            return False
        say(f"waiting for {_named(running)}")
        self._ended.clear()
        try:
            async with asyncio.timeout(seconds):
                await self._ended.wait()
        except TimeoutError:
            return False
        return True

    def for_agent(self, work: "Assignment") -> Feature:
        return self

    def for_hook_agent(self) -> Feature:
        return self

    async def release(self) -> None:
        """End the commands that still run: until now, hooks and other features could use them."""
        if self._shells is not None:
            await self._shells.close()

    def _open_tasks(self) -> Tasks:
        from bridle.host.background import BackgroundShells

        self._shells = BackgroundShells(self._context.storage, on_change=self.note_task)
        return self._shells

    async def _move(self, arguments: str, caller: "Caller") -> CommandResult:
        from bridle.features.background.commands import move

        return await move(arguments, caller, self.sessions)

    async def _stop(self, arguments: str, caller: "Caller") -> CommandResult:
        from bridle.features.background.commands import stop

        return await stop(self.sessions)


BACKGROUND: Service[BackgroundFeature] = Service(
    "background", missing="This session cannot run background work."
)


def patience(env: Mapping[str, str]) -> float:
    """How long to wait for background jobs when the last prompt is done, in seconds."""
    text = env.get("CLAUDE_CODE_PRINT_BG_WAIT_CEILING_MS", "")
    milliseconds = int(text) if text.isdecimal() else _WAIT_MS
    return milliseconds / 1000 if milliseconds else float("inf")


async def _show_tasks(arguments: str, caller: "Caller") -> CommandResult:
    from bridle.features.background.commands import tasks

    return await tasks(arguments, caller)


def _is_awaited(task: Task) -> bool:
    """Whether a job will have something to say; what plugins watch lasts as long as the session."""
    return task.status == "running" and not (task.kind == "monitor" and not task.call_id)


def _named(jobs: Sequence[Task]) -> str:
    """All jobs by what they are called, so that a reader knows what takes so long."""
    names = [" ".join(job.description.split())[:_LONGEST_NAME] for job in jobs[:_MOST_NAMED]]
    more = f" and {len(jobs) - _MOST_NAMED} more" if len(jobs) > _MOST_NAMED else ""
    return f"{len(jobs)} background {'job' if len(jobs) == 1 else 'jobs'}: {', '.join(names)}{more}"
