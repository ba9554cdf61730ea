"""A session with workflows for tests: the real engine and the real child, a script for each conversation."""

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec

from bridle.engine.feature import Features
from bridle.engine.runtime import Runtime
from bridle.engine.turn import Turn
from bridle.extensions.index import Index
from bridle.extensions.roots import Root
from bridle.extensions.workflows import WorkflowFiles
from bridle.features.workflows.feature import SESSION_WORKFLOWS, WorkflowPreferences, WorkflowsFeature
from bridle.features.workflows.run import WorkflowRun
from bridle.features.workflows.session import SessionWorkflows
from bridle.tools.workflow import TOOL as WORKFLOW
from bridle.types.origin import TYPED
from bridle.types.services.tasks import Task
from bridle.types.services.workflows import Launch, Launched
from bridle.types.tool import Tool
from bridle.types.turn import Prompt
from tests.fakes.agents import Team, team

META = "export const meta = {name: 'test', description: 'A test.'}\n"


class WorkflowSession:
    """A team that can run workflows."""

    def __init__(self, made: Team) -> None:
        self.team = made

    @property
    def workflows(self) -> WorkflowsFeature:
        found = self.team.runtime.features.find(SESSION_WORKFLOWS)
        assert found is not None
        return found

    @property
    def runs(self) -> SessionWorkflows:
        return self.workflows.runs()

    async def start(self, script: str = "", *, prompt: str = "go", **launch: Any) -> Launched:
        """Begin a run; a script without metadata gets some."""
        if script:
            launch["script"] = script if "export const meta" in script else META + script
        turn = Turn(self.team.session, Prompt(content=prompt, origin=TYPED), self.team.runtime)
        return await self.runs.start(turn, Launch(**launch), call_id="call-0")

    async def finish(self, script: str = "", **launch: Any) -> Task:
        """A run to its end."""
        before = len(self.team.ended)
        await self.start(script, **launch)
        return (await self.team.over(before + 1))[-1]

    def run(self, run_id: str) -> WorkflowRun:
        found = self.runs.find(run_id)
        assert found is not None
        return found


def answer_of(task: Task) -> str:
    """What a script returned, without the line about its agents."""
    assert task.result is not None, task.error
    return task.result.partition("\n\n")[2]


@asynccontextmanager
async def workflow_session(
    folder: Path,
    scripts: Mapping[str, Sequence[Any]],
    *tools: Tool,
    preferences: WorkflowPreferences | None = None,
    ultracode: bool = False,
    change: Callable[[Runtime], Runtime] = lambda runtime: runtime,
    **more: Any,
) -> AsyncGenerator[WorkflowSession]:
    """A session in `folder` whose saved workflows are in `.claude/workflows`."""
    saved = Root(kind="workflows", path=str(folder / ".claude" / "workflows"), source="project")
    files = WorkflowFiles(Index(str(folder / "index")), lambda: (saved,))
    workflows = WorkflowsFeature(
        files.all, preferences=preferences or WorkflowPreferences(), ultracode=ultracode
    )

    def with_workflows(runtime: Runtime) -> Runtime:
        features = Features([*runtime.features, workflows])
        return change(msgspec.structs.replace(runtime, features=features))

    async with team(folder, scripts, WORKFLOW, *tools, change=with_workflows, **more) as made:
        try:
            yield WorkflowSession(made)
        finally:
            await workflows.close()


def save(folder: Path, name: str, body: str, description: str = "A saved one.") -> Path:
    """Write a workflow file of the project."""
    path = folder / ".claude" / "workflows" / f"{name}.js"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"export const meta = {{name: '{name}', description: '{description}'}}\n{body}")
    return path
