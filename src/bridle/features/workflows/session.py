"""The workflow runs of one session: begun, found again, gone on with, and ended with it."""

import asyncio
import os
from collections.abc import Callable
from typing import Any

import msgspec

from bridle.engine.runtime import Runtime
from bridle.engine.turn import Turn
from bridle.features.agents.feature import AGENTS
from bridle.features.workflows.agents import phases_of, view_of
from bridle.features.workflows.journal import RunFolder, RunNote, is_run_id, new_run_id, run_folders
from bridle.features.workflows.run import Plan, WorkflowRun
from bridle.features.workflows.run_context import Nested
from bridle.features.workflows.sources import (
    Files,
    Source,
    find_saved,
    find_source,
    read_script,
    require_nested,
)
from bridle.types.block import text_of
from bridle.types.errors import ToolError
from bridle.types.services.session import TOKEN_GOAL
from bridle.types.services.workflows import Launch, Launched, RunState, RunView
from bridle.types.variables import is_on

_LONGEST_ASKED = 500


class SessionWorkflows:
    """Closed with the session."""

    def __init__(self, files: Callable[[], Files], *, refusal: Callable[[], str | None]) -> None:
        self._files = files
        """The saved workflows by name, looked up again."""
        self._refusal = refusal
        """Why no run may begin, if so; active runs may finish in any case."""
        self._runs: dict[str, WorkflowRun] = {}

    async def start(self, turn: Turn, launch: Launch, *, call_id: str, typed: bool = False) -> Launched:
        """Begin a run in the background; `typed` when the user started it by a command.

        Raises:
            ToolError: there is no such workflow or run, or the script cannot be run.
        """
        agents = turn.runtime.features.find(AGENTS)
        if agents is None:
            raise ToolError("This session has no agents, so workflows cannot run.")
        if (refusal := self._refusal()) is not None:
            raise ToolError(refusal)
        folder = self._earlier(launch.resume, turn.runtime)
        source = await find_source(launch, turn, self._files(), folder)
        run_id = launch.resume or new_run_id()
        plan = _plan(source, turn, run_id=run_id, call_id=call_id, typed=typed)
        own = RunFolder(turn.runtime.records.storage, run_id)
        if folder is not None and folder.path != own.path:
            await asyncio.to_thread(_take_over, own, folder)
        run = WorkflowRun(turn, agents, plan, own)
        before = self._runs.get(run_id)
        self._runs[run_id] = run
        try:
            known = await run.begin(lambda wanted: self._nested(wanted, turn))
        except ToolError:
            self._forget(run_id, before)
            raise
        return Launched(
            run_id=run_id,
            name=plan.name,
            description=plan.description,
            script_path=run.folder.script,
            output_file=run.task.output_file,
            known=known,
            background=plan.background,
        )

    def find(self, run_id: str) -> WorkflowRun | None:
        """A run of this process."""
        return self._runs.get(run_id)

    def running(self) -> tuple[str, ...]:
        """The active runs."""
        return tuple(run_id for run_id, run in self._runs.items() if run.task.status == "running")

    async def views(self, runtime: Runtime) -> tuple[RunView, ...]:
        """Every run of the session, the newest last.

        Those of earlier processes and of the conversations that this one is a copy of are among them.
        """
        here = {run_id: run.view() for run_id, run in self._runs.items() if _counts(run, runtime)}
        left = await asyncio.to_thread(_all_left, runtime.records.folders, frozenset(here))
        return tuple(sorted((*here.values(), *left), key=lambda view: view.started))

    def ids(self, runtime: Runtime) -> tuple[str, ...]:
        """The names of all runs of the session."""
        folders = run_folders(runtime.records.folders)
        return tuple(dict.fromkeys((*self._runs, *(os.path.basename(folder.path) for folder in folders))))

    def folder(self, run_id: str, runtime: Runtime) -> RunFolder | None:
        """What is kept of a run."""
        if not is_run_id(run_id):
            return None
        if (run := self._runs.get(run_id)) is not None and _counts(run, runtime):
            return run.folder
        folders = (RunFolder(storage, run_id) for storage in runtime.records.folders)
        return next((folder for folder in folders if folder.exists()), None)

    def interrupt(self) -> int:
        """Begin to end every run, because the user wants quiet; how many there are."""
        return sum(run.interrupt() for run in self._runs.values() if run.task.status == "running")

    async def close(self) -> None:
        """End every run; what has finished is kept, so that they can be gone on with."""
        await asyncio.gather(*(run.stop() for run in self._runs.values()))

    def _earlier(self, run_id: str | None, runtime: Runtime) -> RunFolder | None:
        if run_id is None:
            return None
        if (run := self._runs.get(run_id)) is not None and run.task.status == "running":
            raise ToolError(f"The run {run_id} is {run.state}: stop it before you resume it.")
        if (folder := self.folder(run_id, runtime)) is None:
            there = ", ".join(self.ids(runtime)[-10:]) or "none"
            raise ToolError(f"Unknown workflow run {run_id} in this session. Runs: {there}.")
        return folder

    async def _nested(self, wanted: Any, turn: Turn) -> Nested:
        match wanted:
            case str() as name:
                found = find_saved(name, self._files())
                await require_nested(name.removeprefix("/"), turn)
            case {"scriptPath": str() as path}:
                found = await read_script(path, turn)
            case _:
                raise ToolError("workflow() needs the name of a saved workflow, or {scriptPath}.")
        return Nested(found.meta.name, found.text)

    def _forget(self, run_id: str, before: WorkflowRun | None) -> None:
        if before is None:
            self._runs.pop(run_id, None)
        else:
            self._runs[run_id] = before


class CallWorkflows:
    """The workflows of a session for one call of a tool."""

    def __init__(self, workflows: SessionWorkflows, turn: Turn, call_id: str) -> None:
        self._workflows = workflows
        self._turn = turn
        self._call_id = call_id

    async def start(self, launch: Launch) -> Launched:
        return await self._workflows.start(self._turn, launch, call_id=self._call_id)


def _plan(source: Source, turn: Turn, *, run_id: str, call_id: str, typed: bool) -> Plan:
    goal_of = turn.runtime.features.find(TOKEN_GOAL)
    return Plan(
        run_id=run_id,
        call_id=call_id,
        name=source.meta.name,
        description=source.meta.description,
        phases=tuple((phase.title, phase.detail) for phase in source.meta.phases),
        source=source.text,
        args=source.args,
        origin=source.origin,
        budget=None if goal_of is None else goal_of(turn.prompt),
        background=typed or not is_on(turn.runtime.env, "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS"),
        asked=text_of(turn.prompt.content)[:_LONGEST_ASKED] if typed else "",
    )


def _counts(run: WorkflowRun, runtime: Runtime) -> bool:
    """Whether a run of this process is that of the conversation, which may have gone on with it elsewhere."""
    own = RunFolder(runtime.records.storage, run.plan.run_id)
    return run.task.status == "running" or run.folder.path == own.path or not own.exists()


def _take_over(own: RunFolder, other: RunFolder) -> None:
    try:
        own.take_over(other)
    except OSError as error:
        why = error.strerror or error
        raise ToolError(f"The results of the run cannot be reused: {why}.") from error


def _all_left(storages: tuple[str, ...], known: frozenset[str]) -> list[RunView]:
    """Runs that are not running here; one that was taken over counts where it was last continued."""
    nearest: dict[str, RunFolder] = {}
    for folder in run_folders(storages):
        nearest.setdefault(os.path.basename(folder.path), folder)
    wanted = (folder for run_id, folder in nearest.items() if run_id not in known)
    return [view for folder in wanted if (view := _left(folder)) is not None]


def _left(folder: RunFolder) -> RunView | None:
    """A run that another process has left; None when nothing can be read of it."""
    try:
        note: RunNote = folder.read_note()
        records = tuple(folder.records())
    except (OSError, msgspec.MsgspecError):
        return None  # A broken record costs only itself.
    agents = tuple(
        msgspec.structs.replace(view_of(record), number=number) for number, record in enumerate(records, 1)
    )
    open_ended: RunState = "elsewhere" if folder.is_held() else "interrupted"
    return RunView(
        run_id=note.run_id,
        name=note.name,
        description=note.description,
        state=open_ended if note.state in ("running", "paused") else note.state,
        script_path=folder.script,
        phases=phases_of(note.phases, (), agents),
        agents=agents,
        logs=note.logs,
        tokens=sum(agent.tokens for agent in agents),
        started=note.started,
        ended=note.ended,
        preview=note.preview,
    )
