"""Many agents at once on one repository do not disturb each other."""

import asyncio
import os
from pathlib import Path
from typing import Any

import msgspec

from bridle.engine.feature import Features
from bridle.engine.runtime import Runtime
from bridle.features.leases.feature import LeasesFeature
from bridle.features.leases.leases import Leases
from bridle.host.git.merge import Repository
from bridle.host.git.merge_queue import MergeQueue, Plan
from bridle.host.leases import PORT_COUNT
from bridle.providers.scripted import calls, says
from bridle.tools.shell.bash import TOOL as BASH
from bridle.types.agent import AgentDefinition
from bridle.types.question import Answer, PermissionQuestion, Permitted, Question
from bridle.types.tool import Tool, ToolContext, ToolOutput, tool
from tests.fakes.agents import EchoInput, Team, team
from tests.fakes.engine import FakeChannel
from tests.fakes.processes import eventually
from tests.fakes.repositories import git, repository

_HELPER = AgentDefinition(name="helper", description="d", text="p", source="user")
_ENV = {
    "PATH": os.environ["PATH"], "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull,
    "CLAUDE_CODE_MAX_CONCURRENT_SUBAGENTS": "40",
}  # fmt: skip


class AskedAtOnce(FakeChannel):
    """Answers no one before all have asked, so that all questions are open together."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self._count = count
        self._all = asyncio.Event()

    async def ask(self, question: Question) -> Answer:
        self.questions.append(question)
        if len(self.questions) == self._count:
            self._all.set()
        await self._all.wait()
        assert isinstance(question, PermissionQuestion)
        if question.tool != "Bash":
            return Permitted()
        # The answer is for this question alone: the command with the number that stands in it.
        return Permitted(input={"command": f"{question.input['command']} # answered"})


def _claiming(folder: Path) -> Any:
    def change(runtime: Runtime) -> Runtime:
        leases = LeasesFeature(lambda: Leases.of_session(str(folder), "s1"))
        return msgspec.structs.replace(runtime, features=Features([*runtime.features, leases]))

    return change


def _scripts(count: int, *commands: str, **more: Any) -> dict[str, Any]:
    """Agents that run these commands, and meet where a command is `meet`."""
    starts = [
        calls(
            "Agent", description=f"job {number}", prompt=f"<job-{number}>", subagent_type="helper",
            run_in_background=True, **more,
        )
        for number in range(count)
    ]  # fmt: skip
    jobs = {
        f"job-{number}": [*(says(_call(command, number)) for command in commands), says(f"report {number}")]
        for number in range(count)
    }
    return {"main": [says(*starts), says("ok")], **jobs}


def _call(command: str, number: int) -> Any:
    if command == "meet":
        return calls("mcp__t__meet", text="")
    return calls("Bash", command=command.format(number))


def _meeting(count: int) -> Tool:
    """A tool that returns when all agents have called it."""
    barrier = asyncio.Barrier(count)

    @tool("mcp__t__meet", EchoInput, read_only=True)
    async def meet(input: EchoInput, ctx: ToolContext) -> ToolOutput:
        """Wait for the others."""
        await barrier.wait()
        return ToolOutput(content="all are here", data={})

    return meet


async def _all_end(made: Team, count: int) -> None:
    await made.prompt()
    await eventually(lambda: len(made.ended) == count, seconds=90)


def _results(made: Team, count: int) -> list[Any]:
    """What each agent's command came to, as its model read it."""
    found: list[Any] = []
    for number in range(count):
        for message in made.models.requests(f"job-{number}")[-1].messages:
            blocks = [block for block in message["content"] if not isinstance(block, str)]
            found += [block for block in blocks if block["type"] == "tool_result"]
    return found


async def test_thirty_agents_in_work_trees_share_nothing_and_lose_nothing(tmp_path: Path):
    count = 30
    project = repository(tmp_path / "project")
    look = (
        'echo "$BRIDLE_PORT_BASE $BRIDLE_PORT_COUNT" > port-{0}; echo "$TMPDIR" > tmp-{0}; test -d "$TMPDIR"'
    )
    save = "git add -A && git commit -qm 'work {0}'"
    channel = AskedAtOnce(count)
    scripts = _scripts(count, look, "meet", save, isolation="worktree")
    async with team(
        project,
        scripts,
        BASH,
        _meeting(count),
        agents=[_HELPER],
        env=_ENV,
        channel=channel,
        change=_claiming(tmp_path / "broker"),
    ) as made:
        made.session.swap(mode="default")
        await _all_end(made, count)
        results = _results(made, count)

    assert [block["content"] for block in results if block.get("is_error")] == []
    assert {task.status for task in made.ended} == {"completed"}
    asked = [
        (each.agent_id, each.call_id) for each in channel.questions if isinstance(each, PermissionQuestion)
    ]
    assert len(asked) == len(set(asked)) == 3 * count
    branches = git(project, "branch", "--format=%(refname:short)", "--list", "worktree-agent-*").split()
    assert len(branches) == count
    await _check_merges(project, branches, tmp_path)
    bases = [(project / f"port-{number}").read_text().split() for number in range(count)]
    ports = {int(base) + offset for base, size in bases for offset in range(int(size))}
    assert len(ports) == count * PORT_COUNT
    folders = {(project / f"tmp-{number}").read_text().strip() for number in range(count)}
    assert len(folders) == count and not any(os.path.exists(folder) for folder in folders)


async def _check_merges(project: Path, branches: list[str], folder: Path) -> None:
    """Every commit can be reached, and all of them can be brought together."""
    queue = MergeQueue(
        Repository(root=str(project), env=_ENV), str(folder / "queue"), {**_ENV, "HOME": str(folder)}
    )
    plan = Plan(target="main", branches=tuple(branches), test=None)
    verdicts = [result.verdict async for result in queue.run(plan, lambda _: None)]
    assert verdicts == ["merged"] * len(branches)
    subjects = git(project, "log", "--format=%s", "main").splitlines()
    assert {f"work {number}" for number in range(len(branches))} <= set(subjects)


async def test_agents_that_share_one_checkout_commit_one_after_the_other(tmp_path: Path):
    count = 12
    project = repository(tmp_path / "project")
    # Without turns, one of two gits that write the index at once fails.
    command = "echo x > file-{0} && git add file-{0} && git commit -qm 'work {0}' -- file-{0}"
    async with team(
        project,
        _scripts(count, command),
        BASH,
        agents=[_HELPER],
        env=_ENV,
        change=_claiming(tmp_path / "broker"),
    ) as made:
        await _all_end(made, count)
        results = _results(made, count)

    assert [block["content"] for block in results if block.get("is_error")] == []
    subjects = git(project, "log", "--format=%s").splitlines()
    assert {f"work {number}" for number in range(count)} <= set(subjects)


async def test_an_interrupt_stops_all_agents_and_their_commands(tmp_path: Path):
    count, folder = 30, tmp_path
    project = repository(folder / "project")
    marks = folder / "marks"
    marks.mkdir()
    scripts = _scripts(count, f"touch {marks}/{{0}}; sleep 60")
    async with team(
        project, scripts, BASH, agents=[_HELPER], env=_ENV, change=_claiming(folder / "broker")
    ) as made:
        await made.prompt()
        await eventually(lambda: len(os.listdir(marks)) == count)
        made.agents.interrupt()
        await eventually(lambda: not made.agents.registry.running)
    assert {task.status for task in made.ended} == {"killed"}
