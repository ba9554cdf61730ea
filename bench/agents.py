"""What agents cost: from the call to the first request, memory each, the prefix of a fork, an interrupt.

`python bench/agents.py [agents]` prints one line for each; the model is a script, the rest is real.
"""

import asyncio
import os
import resource
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
from bridle.features.teams.feature import TeamsFeature
from bridle.host.background import BackgroundShells
from bridle.permissions.policy import decide
from bridle.providers.dialects.messages_request import encode
from bridle.providers.scripted import ScriptedProvider, calls, says
from bridle.tools.toolbox import choose
from bridle.transcripts.session import Session
from bridle.transcripts.store import TranscriptPath, make_session, make_writer
from bridle.types.event import Event, ToolStarted
from bridle.types.history import History
from bridle.types.model import ModelEvent, ModelRequest
from bridle.types.origin import TYPED
from bridle.types.question import Answer, Question, Refused
from bridle.types.turn import Prompt
from bridle.types.workspace import Workspace

_JOB = "the job of an agent"
_PROCESSES = 9
_FIRST = "--first"


class _Clock:
    """A model and a channel that note when calls begin and when requests arrive."""

    def __init__(self, agents: int, *, fork: bool = False) -> None:
        kind = {} if fork else {"subagent_type": "general-purpose"}
        started = [
            calls("Agent", description="job", prompt=f"{_JOB} {number}", run_in_background=True, **kind)
            for number in range(agents)
        ]
        self._main = ScriptedProvider([says(*started), says("started")])
        self.began: list[float] = []
        self.arrived: list[float] = []
        self.cpu: list[float] = []
        """The processor's time at the same moments, in the order in which they came."""
        self.bodies: list[bytes] = []
        self.all_there = asyncio.Event()
        self._agents = agents

    def emit(self, event: Event) -> None:
        if isinstance(event, ToolStarted):
            self.began.append(time.perf_counter())
            self.cpu.append(time.process_time())

    async def ask(self, question: Question) -> Answer:
        del question
        return Refused(message="no", by_person=False)

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        last = msgspec.json.encode(request.history.messages[-1])
        if _JOB.encode() in last and b"works in the background" not in last:
            self.arrived.append(time.perf_counter())
            self.cpu.append(time.process_time())
            self._keep(request)
            if len(self.arrived) == self._agents:
                self.all_there.set()
            await asyncio.Event().wait()
        self._keep(request)
        async for event in self._main.stream(request):
            yield event

    async def close(self) -> None:
        pass

    def _keep(self, request: ModelRequest) -> None:
        frozen = History.of(*msgspec.json.decode(msgspec.json.encode(request.history.messages)))
        self.bodies.append(encode(msgspec.structs.replace(request, history=frozen)))


def _runtime(folder: Path, clock: _Clock, shells: BackgroundShells, env: dict[str, str]) -> Runtime:
    toolbox = choose()
    environment = gather_environment(str(folder), model="model-a", env=env)
    return Runtime(
        provider=clock,
        channel=clock,
        workspace=Workspace(str(folder), tasks=shells),
        toolbox=toolbox,
        gate=Gate(decide=decide),
        briefing=SessionBriefing(
            PromptInputs(environment=environment, tools=toolbox.names()), scope=None, git=None
        ),
        facts=lambda _: ModelFacts(context_window=200_000, max_output=64_000, max_tokens=32_000),
        asking=Asking(small_model="small"),
        records=Records(storage=str(folder / "storage"), transcript=str(folder / "s1.jsonl")),
        env=env,
        limits=Limits(parallel_calls=100),
        features=Features(
            [TeamsFeature(), AgentsFeature(Agents(AgentRegistry(AgentSetup(interactive=True), env)))]
        ),
    )


async def _measure(agents: int, *, fork: bool, history: int = 0) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        env = {"HOME": name, "PATH": os.environ["PATH"], "CLAUDE_CODE_MAX_CONCURRENT_SUBAGENTS": "1000"}
        place = TranscriptPath(cwd=name, env=env, warn=print)
        session = make_session("s1", place, make_writer(str(folder / "s1.jsonl"), place))
        session.swap(model="model-a", mode="bypassPermissions")
        _talk(session, history)
        clock = _Clock(agents, fork=fork)
        shells = BackgroundShells(str(folder / "storage"), on_change=lambda _: None)
        runtime = _runtime(folder, clock, shells, env)
        before = _rss()
        await run_turn(session, Prompt(content="go", origin=TYPED), runtime)
        await clock.all_there.wait()
        memory = (_rss() - before) / agents
        started = runtime.features.find(AGENTS)
        assert started is not None
        stopped = time.perf_counter()
        await started.stop_all()
        stopped = time.perf_counter() - stopped
        await shells.close()
        session.close()
    spawn = [there - began for began, there in zip(clock.began, clock.arrived, strict=False)]
    cpu = clock.cpu[-1] - clock.cpu[0]
    return {"spawn": spawn, "cpu": cpu, "memory": memory, "stop": stopped, "bodies": clock.bodies}


def _first_of_processes() -> tuple[float, float]:
    """Seconds from the call to the request, by the clock and on the processor, for the first agent of each.

    A process that finds no bytecode would measure the compiler: it is written by a start that does not count.
    """
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    argv = [sys.executable, __file__, _FIRST]
    runs = [
        subprocess.run(argv, env=env, capture_output=True, text=True, check=True) for _ in range(_PROCESSES)
    ]
    taken = [[float(word) for word in run.stdout.split()] for run in runs[1:]]
    return statistics.median(wall for wall, _ in taken), statistics.median(cpu for _, cpu in taken)


async def _print_first() -> None:
    first = await _measure(1, fork=False)
    print(first["spawn"][0], first["cpu"])


def _talk(session: Session, rounds: int) -> None:
    for number in range(rounds):
        session.say_user(f"question {number}: {'why ' * 50}")
        session.say_assistant(
            {
                "id": f"m{number}", "type": "message", "role": "assistant", "model": "model-a",
                "content": [{"type": "text", "text": f"answer {number}: {'because ' * 50}"}],
                "stop_reason": "end_turn", "stop_sequence": None, "usage": {},
            }
        )  # fmt: skip


def _rss() -> float:
    """Megabytes in use, or the most there ever was where that cannot be told."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * resource.getpagesize() / 1e6
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def _shared(one: bytes, other: bytes) -> float:
    same = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), len(one))
    return same / len(one)


async def _main(agents: int) -> None:
    wall, cpu = _first_of_processes()
    await _measure(1, fork=False)
    warm = [(await _measure(1, fork=False))["spawn"][0] for _ in range(10)]
    many = await _measure(agents, fork=False)
    forked = await _measure(2, fork=True, history=200)
    print(f"call to first request, first agent of a process: {wall * 1000:.1f} ms, {cpu * 1000:.1f} ms CPU")
    print(f"call to first request, later ones (median):      {statistics.median(warm) * 1000:.1f} ms")
    print(f"the same, {agents} at once, the last of them:           {many['spawn'][-1] * 1000:.1f} ms")
    print(f"memory for each of {agents}:                             {many['memory']:.2f} MB")
    print(f"stopping {agents}:                                       {many['stop'] * 1000:.1f} ms")
    parent, *forks = forked["bodies"]
    own = [body for body in forks if _JOB.encode() in body]
    print(f"a fork's share of the parent's request:          {_shared(parent, own[0]):.2%}")


if __name__ == "__main__":
    if sys.argv[1:] == [_FIRST]:
        asyncio.run(_print_first())
    else:
        asyncio.run(_main(int(sys.argv[1]) if len(sys.argv) > 1 else 30))
