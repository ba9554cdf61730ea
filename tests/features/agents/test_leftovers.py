"""Effort by number, agents that are moved to the background, trees that are left, conflicts foreseen."""

import asyncio
import os
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bridle.engine.runtime import ModelFacts, Runtime
from bridle.providers.scripted import calls, says
from bridle.tools.enter_worktree import TOOL as ENTER
from bridle.tools.shell.bash import TOOL as BASH
from bridle.types.agent import AgentDefinition
from bridle.types.tool import Tool, ToolContext, ToolOutput, tool
from tests.fakes.agents import EchoInput, team
from tests.fakes.engine import facts
from tests.fakes.processes import eventually
from tests.fakes.repositories import commit, git, repository

_HELPER = AgentDefinition(name="helper", description="d", text="p", source="user")
_ENV = {"PATH": os.environ["PATH"], "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}


def _start(*, waits: bool = True, **more: Any) -> Any:
    return calls(
        "Agent", description="d", prompt="<job>", subagent_type="helper", run_in_background=not waits, **more
    )


def _pausing(released: asyncio.Event) -> Tool:
    @tool("mcp__t__pause", EchoInput, read_only=True)
    async def pause(input: EchoInput, ctx: ToolContext) -> ToolOutput:
        """Wait."""
        await released.wait()
        return ToolOutput(content="done waiting", data={})

    return pause


def _with_efforts(runtime: Runtime) -> Runtime:
    able = msgspec.structs.replace(facts("model-a"), efforts=("low", "medium", "high", "max"))

    def know(model: str) -> ModelFacts:
        del model
        return able

    return msgspec.structs.replace(runtime, facts=know)


@pytest.mark.parametrize(
    ("number", "level"),
    [(0, "low"), (50, "low"), (51, "medium"), (85, "medium"), (100, "high"), (101, "max")],
)
async def test_a_number_stands_for_the_level_of_effort_that_covers_it(
    tmp_path: Path, number: int, level: str
):
    scripts = {"main": [says(_start(effort=number)), says("ok")], "job": [says("done")]}
    async with team(tmp_path, scripts, agents=[_HELPER], change=_with_efforts) as made:
        await made.prompt()
        (asked,) = made.models.requests("job")
    assert asked.request.effort == level


async def test_an_agent_in_the_foreground_can_be_moved_to_the_background(tmp_path: Path):
    released = asyncio.Event()
    scripts = {
        "main": [says(_start()), says("ok")],
        "job": [says(calls("mcp__t__pause", text="")), says("the report")],
    }
    async with team(tmp_path, scripts, _pausing(released), agents=[_HELPER]) as made:
        turn = asyncio.create_task(made.prompt())
        await eventually(lambda: made.models.requests("job"))
        assert made.agents.move_to_background() == 1
        assert made.agents.move_to_background() == 0
        async with asyncio.timeout(50):
            await turn
        data = made.result("call-1")
        released.set()
        (task,) = await made.over()

    assert data["status"] == "async_launched"
    assert (task.status, task.result, task.backgrounded) == ("completed", "the report", True)


async def test_a_moved_agent_can_still_be_stopped(tmp_path: Path):
    scripts = {"main": [says(_start()), says("ok")], "job": [says(calls("mcp__t__pause", text=""))]}
    async with team(tmp_path, scripts, _pausing(asyncio.Event()), agents=[_HELPER]) as made:
        turn = asyncio.create_task(made.prompt())
        await eventually(lambda: made.models.requests("job"))
        made.agents.move_to_background()
        await turn
        assert await made.agents.stop_all() == 1
        (task,) = await made.over()
    assert task.status == "killed"


async def test_a_work_tree_that_an_agent_entered_goes_with_it_unless_it_holds_work(tmp_path: Path):
    project = repository(tmp_path / "project")
    for name, then, left in (("idle", "true", False), ("busy", "touch new", True)):
        enter, run = calls("EnterWorktree", name=name), calls("Bash", command=then)
        scripts = {"main": [says(_start()), says("ok")], "job": [says(enter), says(run), says("done")]}
        async with team(project, scripts, ENTER, BASH, agents=[_HELPER], env=_ENV) as made:
            await made.prompt()
        assert (project / ".claude" / "worktrees" / name).exists() == left
        for path in ("s1.jsonl", "storage"):
            await asyncio.to_thread(_remove, project / path)


def _remove(path: Path) -> None:
    import shutil

    shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)


async def test_a_report_says_when_the_branch_would_conflict(tmp_path: Path):
    project = repository(tmp_path / "project", file="one\n")
    change = calls("Bash", command="echo theirs > file && git commit -qam theirs")
    scripts = {
        "main": [says(_start(isolation="worktree")), says("ok")],
        "job": [says(change), says(calls("mcp__t__pause", text="")), says("done")],
    }
    released = asyncio.Event()
    async with team(project, scripts, BASH, _pausing(released), agents=[_HELPER], env=_ENV) as made:
        turn = asyncio.create_task(made.prompt())
        await eventually(lambda: len(made.models.requests("job")) == 2)
        await asyncio.to_thread(commit, project, "ours", file="ours\n")
        released.set()
        await turn
        text = str(made.models.requests("main")[1].messages[-1]["content"])
    assert "Merging its branch would conflict in file." in text
    assert "worktree-agent-" in git(project, "branch")
