"""Measures the search over conversations, the audit chain, and rewinds.

Of the search: the index, its size, an update with nothing new, queries.
"""

import argparse
import itertools
import json
import os
import random
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench.evidence_audit import measure_audit
from bench.evidence_rewind import measure_rewind
from bridle.features.recall import index
from bridle.features.recall.places import find_units
from bridle.features.recall.query import Query, search

_WORDS = 60_000
_TEXTS = 20_000
_QUERIES = 300
_ROW = {
    "isSidechain": False,
    "version": "2.1.0",
    "gitBranch": "main",
    "userType": "external",
    "entrypoint": "cli",
}
_USAGE = {"input_tokens": 1, "output_tokens": 2, "cache_read_input_tokens": 30_000}


def vocabulary() -> list[str]:
    """Words that do not exist, the first of them the most frequent."""
    draw = random.Random(1)
    letters = "abcdefghijklmnopqrstuvwxyz"
    return ["".join(draw.choices(letters, k=draw.randint(3, 10))) for _ in range(_WORDS)]


def write_corpus(home: Path, *, sessions: int, messages: int) -> None:
    """Transcripts in 300 projects: prompts, answers, calls and results in turn."""
    draw, words = random.Random(2), vocabulary()
    weights = list(itertools.accumulate(1 / (at + 5) for at in range(_WORDS)))
    texts = [
        " ".join(draw.choices(words, cum_weights=weights, k=draw.choice((12, 40, 90, 200))))
        for _ in range(_TEXTS)
    ]
    for number in range(sessions):
        cwd, session = f"/repo/p{number % 300}", f"{number:08d}-0000-4000-8000-000000000000"
        folder = home / ".claude" / "projects" / cwd.replace("/", "-")
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{session}.jsonl"
        with path.open("w", encoding="utf-8") as file:
            for at in range(messages):
                text = f"{draw.choice(texts)} {' '.join(draw.choices(words, k=4))}"
                row = {**_ROW, **_said(at, text, cwd), "sessionId": session, "cwd": cwd}
                row |= {"uuid": f"{number:08d}-{at:04d}", "parentUuid": f"{number:08d}-{at - 1:04d}"}
                row["timestamp"] = (
                    f"2026-{1 + number * 10 // sessions:02d}-{1 + number % 28:02d}T10:00:00.000Z"
                )
                file.write(json.dumps(row) + "\n")
        os.utime(path, (1_760_000_000 + number, 1_760_000_000 + number))


def _said(at: int, text: str, cwd: str) -> dict[str, Any]:
    content: Any = text
    if at % 4 == 1:
        content = [{"type": "text", "text": text}]
    elif at % 4 == 2:
        input = {"command": text[:120], "file_path": f"{cwd}/src/part{at}.py"}
        content = [
            {"type": "tool_use", "id": f"toolu_{at}", "name": ("Bash", "Read")[at % 8 // 4], "input": input}
        ]
    elif at % 4 == 3:
        content = [{"type": "tool_result", "tool_use_id": f"toolu_{at - 1}", "content": text * 2}]
    role = "assistant" if at % 4 in (1, 2) else "user"
    message: dict[str, Any] = {"role": role, "content": content}
    if role == "assistant":
        message |= {
            "id": f"msg_{at}",
            "model": "claude-sonnet-5-5",
            "usage": _USAGE,
            "stop_reason": "end_turn",
        }
    return {"type": role, "message": message}


def measure(home: Path) -> None:
    env = {"HOME": str(home), "CLAUDE_CONFIG_DIR": str(home / ".claude")}
    began, used = time.perf_counter(), time.process_time()
    done = index.update(env, patience=1.0)
    wall, cpu = time.perf_counter() - began, time.process_time() - used
    print(f"first index{done.messages:>14,} messages{wall:>9.1f} s wall{cpu:>9.1f} s CPU")
    began = time.perf_counter()
    index.update(env)
    print(f"nothing new{done.units:>14,} sessions{(time.perf_counter() - began) * 1000:>9.0f} ms")
    folder = os.path.dirname(index.index_path(env))
    size = sum(os.path.getsize(os.path.join(folder, name)) for name in os.listdir(folder))
    whole = sum(unit.size for unit in find_units(env))
    print(f"size{size >> 20:>21,} MB of {whole >> 20:,} MB: {size / whole:.1%}")
    times = sorted(_ask(env))
    p50, p95 = times[len(times) // 2] * 1000, times[len(times) * 95 // 100] * 1000
    print(f"query{p50:>23.1f} ms p50{p95:>9.1f} ms p95{times[-1] * 1000:>9.1f} ms most")


def _ask(env: dict[str, str]) -> list[float]:
    draw, words = random.Random(3), vocabulary()
    times: list[float] = []
    for number in range(_QUERIES):
        # Frequent words as well as rare ones.
        picked = [words[int(draw.paretovariate(0.35)) % _WORDS] for _ in range(draw.choice((1, 2, 2, 3)))]
        tools = ("Bash",) if number % 5 == 0 else ()
        began = time.perf_counter()
        search(Query(words=" ".join(picked), tools=tools), env)
        times.append(time.perf_counter() - began)
    return times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sessions", type=int, default=1_000)
    parser.add_argument("--messages", type=int, default=100, help="in each session")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        write_corpus(Path(folder), sessions=given.sessions, messages=given.messages)
        measure(Path(folder))
    measure_audit()
    measure_rewind()


if __name__ == "__main__":
    main()
