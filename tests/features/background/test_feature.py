"""Background work as a feature: its commands, what agents share, what is waited for and when it ends."""

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bridle.engine.feature import Features
from bridle.features.background.feature import BACKGROUND, BackgroundFeature, patience
from bridle.host.background import BackgroundShells
from bridle.types.command import Says, Shows
from bridle.types.errors import ToolError, UsageError
from bridle.types.event import TaskEnded, TaskStarted
from bridle.types.services.tasks import Task
from bridle.types.turn import Prompt
from bridle.types.workspace import Workspace
from tests.fakes.commanded import Commanded
from tests.fakes.engine import FakeChannel, make_runtime
from tests.fakes.features import feature_commands, feature_context, with_feature


class _World:
    """A session with background work and real commands."""

    def __init__(self, folder: Path) -> None:
        self.folder = str(folder)
        self.channel = FakeChannel()
        self.woken: list[Prompt] = []
        self.workspace = Workspace(self.folder)
        context = feature_context(
            folder,
            workspace=self.workspace,
            storage=str(folder / "storage"),
            wake=self.woken.append,
            runtime=lambda: self.runtime,
        )
        self.feature = BackgroundFeature(context)
        runtime = msgspec.structs.replace(
            make_runtime(folder, (), channel=self.channel), workspace=self.workspace
        )
        self.runtime = with_feature(runtime, self.feature)

    async def start(self, command: str, **facts: Any) -> Task:
        shells = self.workspace.tasks
        assert isinstance(shells, BackgroundShells)
        return await shells.start(
            ["/bin/sh", "-c", command],
            cwd=self.folder,
            env={"PATH": "/usr/bin:/bin"},
            command=command,
            description=facts.get("description", command),
            call_id="c1",
        )


async def test_a_job_is_reported_when_it_begins_and_ends_and_the_model_reads_of_its_end(tmp_path: Path):
    world = _World(tmp_path)
    task = await world.start("exit 3")
    async with asyncio.timeout(50):
        assert await world.feature.wait_for_more(float("inf"), print)
    await world.feature.release()

    assert [event.task.id for event in world.channel.of(TaskStarted)] == [task.id]
    (ended,) = world.channel.of(TaskEnded)
    assert (ended.task.status, ended.task.exit_code) == ("failed", 3)
    (note,) = world.woken
    assert world.feature.covers(note) and not world.feature.is_stale(note)
    world.workspace.tasks.tell(task.id)
    assert world.feature.is_stale(note)


async def test_the_session_waits_for_jobs_and_names_them(tmp_path: Path):
    world, said = _World(tmp_path), list[str]()
    assert not await world.feature.wait_for_more(60, said.append)
    await world.start("sleep 600", description="the long one")
    assert not await world.feature.wait_for_more(0, said.append)
    assert not await world.feature.wait_for_more(0.01, said.append)
    await world.feature.release()
    assert said == ["waiting for 1 background job: the long one"]


async def test_commands_run_until_hooks_know_of_the_end_and_no_longer(tmp_path: Path):
    world = _World(tmp_path)
    task = await world.start("sleep 600")
    await world.runtime.features.close()
    assert [job.status for job in world.workspace.jobs()] == ["running"]
    await world.runtime.features.release()
    assert [(job.id, job.status) for job in world.workspace.jobs()] == [(task.id, "killed")]


def test_agents_share_the_jobs_of_the_session_and_do_not_end_them(tmp_path: Path):
    feature = _World(tmp_path).feature
    work: Any = None
    inherited = Features([feature]).for_agent(work)
    assert inherited.find(BACKGROUND) is feature
    assert inherited.find(BACKGROUND) is Features([feature]).for_hook_agent().find(BACKGROUND)


def test_a_workspace_without_background_work_says_so(tmp_path: Path):
    workspace = Workspace(str(tmp_path))
    assert workspace.jobs() == () and not workspace.is_told("b1")
    with pytest.raises(ToolError):
        _ = workspace.tasks


async def test_work_that_is_not_there_cannot_be_stopped(tmp_path: Path):
    commanded = Commanded(tmp_path, sources=feature_commands(tmp_path))
    shown = await commanded.run("/tasks")
    assert isinstance(shown, Shows)
    for wrong in ("stop", "stop a b", "stop nothing"):
        with pytest.raises(UsageError):
            await commanded.run(f"/tasks {wrong}")


async def test_without_a_terminal_a_session_is_neither_moved_nor_stopped(tmp_path: Path):
    commanded = Commanded(tmp_path, sources=feature_commands(tmp_path))
    with pytest.raises(UsageError):
        await commanded.run("/background go on")
    stopped = await commanded.run("/stop")
    assert isinstance(stopped, Says) and stopped.is_error


def test_how_long_print_mode_waits_is_said_by_a_variable():
    name = "CLAUDE_CODE_PRINT_BG_WAIT_CEILING_MS"
    assert [patience({name: text}) for text in ("1500", "0", "soon")] == [1.5, float("inf"), 600.0]
