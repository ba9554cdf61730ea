"""What a team costs: to the first request, CPU and memory of each agent, an interrupt, work trees, a merge.

`python bench/teams.py [agents]` prints one line for each figure with its budget; the model is a script, while
git, shells and the broker are real.
"""

import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec

from bridle.context.briefing import SessionBriefing
from bridle.context.environment import gather_environment
from bridle.context.prompt import PromptInputs
from bridle.engine.feature import Features
from bridle.engine.loop import run_turn
from bridle.engine.runtime import Asking, Gate, Limits, ModelFacts, Records, Runtime
from bridle.features.agents.feature import AGENTS, AgentsFeature
from bridle.features.agents.registry import AgentRegistry, Agents, AgentSetup
from bridle.features.leases.feature import LeasesFeature
from bridle.features.leases.leases import Leases
from bridle.features.teams.feature import TeamsFeature
from bridle.host.background import BackgroundShells
from bridle.host.git.merge import Repository
from bridle.host.git.merge_queue import MergeQueue, Plan
from bridle.permissions.policy import decide
from bridle.providers.scripted import Line, ScriptedProvider, calls, says
from bridle.tools.toolbox import choose
from bridle.transcripts.store import TranscriptPath, make_session, make_writer
from bridle.types.event import Event, ToolStarted
from bridle.types.model import ModelEvent, ModelRequest
from bridle.types.origin import TYPED
from bridle.types.question import Answer, Question, Refused
from bridle.types.turn import Prompt
from bridle.types.workspace import Workspace

_JOB = "the job of agent"


class _World:
    """The model of everybody, and a channel that notes when calls begin."""

    def __init__(self, agents: int, job: list[Line], *, park: bool, **more: Any) -> None:
        starts = [
            calls(
                "Agent", description="job", prompt=f"{_JOB} {number}.", run_in_background=True,
                subagent_type="general-purpose", **more,
            )
            for number in range(agents)
        ]  # fmt: skip
        self._main = ScriptedProvider([says(*starts), says("started")])
        self._jobs = {number: ScriptedProvider(job) for number in range(agents)}
        self._park = park
        self.began: list[float] = []
        self.arrived: dict[int, float] = {}
        self.all_there = asyncio.Event()

    def emit(self, event: Event) -> None:
        if isinstance(event, ToolStarted) and event.tool == "Agent":
            self.began.append(time.perf_counter())

    async def ask(self, question: Question) -> Answer:
        del question
        return Refused(message="no", by_person=False)

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        text = msgspec.json.encode(request.history.messages).decode()
        mine = None if "works in the background" in text else text.find(_JOB)
        if mine is None or mine < 0:
            async for event in self._main.stream(request):
                yield event
            return
        number = int(text[mine + len(_JOB) :].split(".")[0])
        self.arrived.setdefault(number, time.perf_counter())
        if len(self.arrived) == len(self._jobs):
            self.all_there.set()
        if self._park:
            await asyncio.Event().wait()
        async for event in self._jobs[number].stream(request):
            yield event

    async def close(self) -> None:
        pass


async def _measure(agents: int, job: list[Line], *, park: bool = False, **more: Any) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as name:
        folder = _repository(Path(name, "project"))
        env = {**_environment(name), "CLAUDE_CODE_MAX_CONCURRENT_SUBAGENTS": "1000"}
        place = TranscriptPath(cwd=str(folder), env=env, warn=print)
        session = make_session("s1", place, make_writer(str(Path(name, "s1.jsonl")), place))
        session.swap(model="model-a", mode="bypassPermissions")
        world = _World(agents, job, park=park, **more)
        shells = BackgroundShells(str(Path(name, "storage")), on_change=lambda _: None)
        runtime = _runtime(folder, Path(name), world, shells, env)
        started = runtime.features.find(AGENTS)
        assert started is not None
        memory, cpu, began = _rss(), time.process_time(), time.perf_counter()
        await run_turn(session, Prompt(content="go", origin=TYPED), runtime)
        await world.all_there.wait()
        memory = (_rss() - memory) / agents
        if not park:
            await asyncio.gather(*started.registry.beside.values())
        cpu = (time.process_time() - cpu) / agents
        took = time.perf_counter() - began
        stopping = time.perf_counter()
        await started.stop_all()
        stopping = time.perf_counter() - stopping
        merging = await _merge(folder, env) if more else 0.0
        await started.close()
        await shells.close()
        session.close()
    spawn = [world.arrived[number] - start for number, start in enumerate(world.began)]
    return {"spawn": spawn, "memory": memory, "cpu": cpu, "took": took, "stop": stopping, "merge": merging}


def _runtime(
    folder: Path, base: Path, world: _World, shells: BackgroundShells, env: dict[str, str]
) -> Runtime:
    toolbox = choose()
    environment = gather_environment(str(folder), model="model-a", env=env)
    return Runtime(
        provider=world,
        channel=world,
        workspace=Workspace(str(folder), tasks=shells),
        toolbox=toolbox,
        gate=Gate(decide=decide),
        briefing=SessionBriefing(
            PromptInputs(environment=environment, tools=toolbox.names()), scope=None, git=None
        ),
        facts=lambda _: ModelFacts(context_window=200_000, max_output=64_000, max_tokens=32_000),
        asking=Asking(small_model="small"),
        records=Records(storage=str(base / "storage"), transcript=str(base / "s1.jsonl")),
        env=env,
        limits=Limits(parallel_calls=100),
        features=Features(
            [
                LeasesFeature(lambda: Leases.of_session(str(base / "broker"), "s1")),
                TeamsFeature(),
                AgentsFeature(Agents(AgentRegistry(AgentSetup(), env))),
            ]
        ),
    )


async def _merge(folder: Path, env: dict[str, str]) -> float:
    repository = Repository(root=str(folder), env=env)
    branches = tuple(await repository.leftovers("main"))
    began = time.perf_counter()
    queue = MergeQueue(repository, str(folder / ".git" / "bridle-merge"), env)
    async for result in queue.run(Plan(target="main", branches=branches, test=None), lambda _: None):
        assert result.verdict == "merged", result
    return time.perf_counter() - began


def _repository(folder: Path) -> Path:
    folder.mkdir()
    (folder / "file").write_text("one\n", encoding="utf-8")
    for words in (("init", "-q", "-b", "main"), ("add", "."), ("commit", "-q", "-m", "first")):
        subprocess.run(["git", *words], cwd=folder, env=_environment(str(folder)), check=True)
    return folder


def _environment(home: str) -> dict[str, str]:
    people = {f"GIT_{who}_{what}": "t@t" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    return {
        "HOME": home,
        "PATH": os.environ["PATH"],
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        **people,
    }


def _rss() -> float:
    """Megabytes in use."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE") / 1e6


async def _main(agents: int) -> None:
    save = calls(
        "Bash", command="echo $BRIDLE_PORT_BASE > port-$BRIDLE_AGENT_ID && git add -A && git commit -qm x"
    )
    await _measure(1, [says("done")])
    # First, so that no memory that was freed before is used again.
    parked = await _measure(agents, [], park=True)
    warm = [(await _measure(1, [], park=True))["spawn"][0] for _ in range(10)]
    quick = await _measure(agents, [says("done")])
    real = await _measure(agents, [says(save), says("done")], isolation="worktree")
    rows = (
        ("call to first request (median of 10)", statistics.median(warm) * 1000, "ms", 15),
        (f"memory of each of {agents}", parked["memory"], "MB", 5),
        (f"CPU of each of {agents} beyond the model", quick["cpu"] * 1000, "ms", 20),
        (f"interrupt of {agents}", parked["stop"] * 1000, "ms", 200),
        (f"{agents} agents: work tree, command, commit, report", real["took"], "s", None),
        (f"merging their {agents} branches", real["merge"], "s", None),
    )
    for what, figure, unit, budget in rows:
        within = "" if budget is None else f"   (budget {budget} {unit})"
        print(f"{what:55}{figure:8.2f} {unit}{within}")


if __name__ == "__main__":
    asyncio.run(_main(int(sys.argv[1]) if len(sys.argv) > 1 else 30))
