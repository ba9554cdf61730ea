"""Measures what a compaction and clearing old results cost beside the model call."""

import asyncio
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from bridle.context.thinning import CLEARED, old_results
from bridle.engine.compact import compact
from bridle.engine.turn import Turn
from bridle.providers.scripted import says
from bridle.sessions.session import Session
from bridle.sessions.shortening import shorten
from bridle.types.block import result_block
from bridle.types.turn import Prompt
from tests.fakes.engine import make_runtime

_TEXT = "some words that stand for the content of a file or an answer of a model; " * 20


async def main(rounds: int = 1_000) -> None:
    """Print milliseconds for a conversation of twice as many messages as rounds."""
    session = _conversation(rounds)
    entries = list(session.entries)
    old = old_results(entries)
    began = time.perf_counter()
    shorten(session, {each.call_id: CLEARED for each in old})
    print(f"clearing {len(old)} results of {len(entries)} rows: {_since(began):.1f} ms")
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(3):
            session.rewrite(entries)
            runtime = make_runtime(Path(folder), [says("<summary>Much was said.</summary>")])
            began = time.perf_counter()
            await compact(Turn(session, Prompt(content=""), runtime), trigger="manual")
            print(f"compacting {len(entries)} rows, the scripted model included: {_since(began):.1f} ms")


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
    return (time.perf_counter() - began) * 1000


if __name__ == "__main__":
    asyncio.run(main())
