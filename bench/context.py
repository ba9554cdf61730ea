"""Measures what compaction costs beside the model call, and what a very long session does."""

import asyncio
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import msgspec

sys.path.insert(0, str(Path(__file__).parents[1]))

from bridle.context.old_results import CLEARED, old_results
from bridle.engine.compaction.compact import compact
from bridle.engine.loop import run_turn
from bridle.engine.turn import Turn
from bridle.providers.scripted import says
from bridle.tools.catalog import traits_of
from bridle.transcripts.session import Session
from bridle.transcripts.shortened_results import shorten
from bridle.types.block import result_block
from bridle.types.origin import TYPED
from bridle.types.turn import Prompt
from tests.fakes.engine import make_runtime
from tests.scenarios.test_compaction_long import STEPS, CountingProvider, QuietChannel, large_window, look

_TEXT = "some words that stand for the content of a file or an answer of a model; " * 20


async def main(rounds: int = 1_000) -> None:
    """Print milliseconds of CPU for a conversation of twice as many messages as rounds."""
    session = _conversation(rounds)
    entries = list(session.entries)
    old = old_results(entries, lambda tool: traits_of(tool).repeatable)
    began = time.process_time()
    shorten(session, {each.call_id: CLEARED for each in old})
    print(f"clearing {len(old)} results of {len(entries)} rows: {_since(began):.1f} ms")
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(3):
            session.rewrite(entries)
            runtime = make_runtime(Path(folder), [says("<summary>Much was said.</summary>")])
            began = time.process_time()
            await compact(Turn(session, Prompt(content="", origin=TYPED), runtime), trigger="manual")
            print(f"compacting {len(entries)} rows, the scripted model included: {_since(began):.1f} ms")


async def long_session() -> None:
    """Print what a session of 5,000 steps does to cache, memory and time."""
    provider, channel = CountingProvider(), QuietChannel()
    with tempfile.TemporaryDirectory() as folder:
        runtime = msgspec.structs.replace(
            make_runtime(Path(folder), provider, look), channel=channel, facts=large_window
        )
        session = Session("long")
        session.swap(model="model-a", mode="bypassPermissions")
        began = time.perf_counter()
        for _ in range(STEPS // 500):
            await run_turn(session, Prompt(content="Go on.", origin=TYPED), runtime)
        seconds = time.perf_counter() - began
    early, late = (
        median(calls for step, calls in provider.work.items() if low <= step < high)
        for low, high in ((300, 900), (STEPS - 600, STEPS))
    )
    print(f"{provider.asked} steps with {len(channel.compactions)} compactions in {seconds:.1f} s")
    print(f"cached prefix: {100 * provider.cached / provider.sent:.2f} % of all bytes sent")
    print(f"beside the model: {early:.0f} calls of functions in a step early, {late:.0f} late")
    print(f"memory: {min(provider.memory):,} to {max(provider.memory):,} allocated blocks")


def _conversation(rounds: int) -> Session:
    session = Session("bench")
    session.swap(model="model-a")
    session.say_user("go")
    for number in range(rounds):
        session.say_assistant(
            {
                "id": f"m{number}",
                "type": "message",
                "role": "assistant",
                "model": "model-a",
                "content": [
                    {"type": "tool_use", "id": f"c{number}", "name": "Read", "input": {"file_path": "/a"}}
                ],
                "stop_reason": "tool_use",
                "stop_sequence": None,
                "usage": {"input_tokens": 10, "output_tokens": 5},
            }
        )
        session.say_user([result_block(f"c{number}", _TEXT)], data={})
    return session


def _since(began: float) -> float:
    return (time.process_time() - began) * 1000


if __name__ == "__main__":
    asyncio.run(main())
    asyncio.run(long_session())
