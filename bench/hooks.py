"""What hooks cost, measured in one process: an event nobody hears, one command, ten commands at once."""

import asyncio
import os
import statistics
import subprocess
import time
from collections.abc import Awaitable, Callable
from typing import Any

from bridle.config.sources import Layer
from bridle.hooks.command import CommandHooks
from bridle.hooks.output import LONGEST_TEXT
from bridle.hooks.payload import HookContext
from bridle.hooks.runner import HookRunner, RunnerContext
from bridle.hooks.table import Listeners, from_layers
from bridle.host.reaper import Reaper
from bridle.types.hooks.calls import PreToolUse
from bridle.types.hooks.events import Stop

_EVENT = PreToolUse(tool="Bash", input={"command": "ls -la"}, call_id="toolu_1")
_UNHEARD = 20_000


def hook_figures(folder: str, rounds: int) -> dict[str, float]:
    """Medians: microseconds of an unheard event, milliseconds of the rest."""
    return asyncio.run(_measure(folder, rounds))


async def _measure(folder: str, rounds: int) -> dict[str, float]:
    reaper = Reaper()
    env = dict(os.environ)
    commands = CommandHooks(project_dir=folder, storage=folder, env=lambda: env, reaper=reaper)
    one, ten = (
        _runner(commands, folder, "true"),
        _runner(commands, folder, *(f"sleep 0.2; : {n}" for n in range(10))),
    )
    try:
        unheard = await _unheard(one)
        await one.fire(_EVENT)
        spawned, hooked, slowest, together = [], [], [], []
        for _ in range(rounds):
            spawned.append(await _timed(_spawn("true")))
            hooked.append(await _timed(lambda: one.fire(_EVENT)))
        for _ in range(max(1, rounds // 10)):
            slowest.append(await _timed(_spawn("sleep 0.2")))
            together.append(await _timed(lambda: ten.fire(_EVENT)))
    finally:
        await commands.close()
        reaper.close()
    middle = statistics.median
    return {
        "unheard": unheard,
        "spawned": middle(spawned),
        "hooked": middle(hooked),
        "slowest": middle(slowest),
        "together": middle(together),
    }


async def _unheard(runner: HookRunner) -> float:
    began = time.perf_counter()
    for _ in range(_UNHEARD):
        await runner.fire(Stop(active=False, last_message="done"))
    return (time.perf_counter() - began) / _UNHEARD * 1e6


def _spawn(script: str) -> Callable[[], Awaitable[Any]]:
    async def spawn() -> None:
        subprocess.run(["sh", "-c", script], stdin=subprocess.DEVNULL, check=True)

    return spawn


async def _timed(work: Callable[[], Awaitable[Any]]) -> float:
    began = time.perf_counter()
    await work()
    return (time.perf_counter() - began) * 1000


def _runner(commands: CommandHooks, folder: str, *scripts: str) -> HookRunner:
    hooks = [{"type": "command", "command": script} for script in scripts]
    table = from_layers(
        [Layer("userSettings", "/settings.json", {"hooks": {"PreToolUse": [{"hooks": hooks}]}}, "")],
        trusted=True,
    )
    context = HookContext(session_id="s", transcript_path="/t", cwd=folder, permission_mode="default")
    around = RunnerContext(
        handlers={"command": commands.run}, context=lambda: context, cut=lambda text: text[:LONGEST_TEXT]
    )
    return HookRunner(Listeners(table), around)
