"""Replays tasks against the whole program and tells what the model was sent, against stored figures.

`python -m bench.model` compares with `bench/model.json` and fails where something got worse;
`--write` stores what was measured; `--source DIR --write-before` stores what another checkout needs.
"""

import argparse
import asyncio
import json
import os
import re
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench.model_tasks import TASKS, Task, write_project
from tests.fakes import sse
from tests.fakes.bedrock_server import MessagesApi
from tests.fakes.model_server import ModelServer, Received, Said, answer
from tests.fakes.openai_server import ChatApi

_STORED = Path(__file__).with_suffix(".json")
_MARKS = re.compile(rb',"cache_control":\{"type":"ephemeral"\}')
_SPARE = 6
"""Answers for turns that nobody wanted."""
_MOST_GROWTH = 1.01
_LEAST_CACHEABLE = 0.99
_AIM = 0.7
"""Of the bytes that the tasks needed before."""
_PATIENCE = 120.0


class Figures(Struct, frozen=True, kw_only=True):
    """What a task came to."""

    requests: int
    bytes: int
    cacheable: float
    """Of the bytes that were sent before, how many come again unchanged at the front."""
    errors: int
    """Results that are errors although nothing was wrong."""
    wasted: int
    """Requests beyond those that the task needs."""


class Stored(Struct, frozen=True, kw_only=True):
    now: Figures
    before: Figures


def main() -> int:
    args = _arguments()
    names = args.only.split(",") if args.only else list(TASKS)
    figures = {name: asyncio.run(measured(TASKS[name], Path(args.source))) for name in names}
    stored = stored_figures()
    if args.write or args.write_before:
        kept = {
            name: _stored(stored.get(name), each, before=args.write_before) for name, each in figures.items()
        }
        _STORED.write_bytes(msgspec.json.format(msgspec.json.encode(stored | kept), indent=2) + b"\n")
        stored |= kept
    return _report(figures, stored)


def stored_figures() -> dict[str, Stored]:
    """What each task came to when it was last stored."""
    return msgspec.json.decode(_STORED.read_bytes(), type=dict[str, Stored]) if _STORED.exists() else {}


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Replay tasks and compare what the model was sent.")
    parser.add_argument("--source", default=str(Path(__file__).parents[1]), help="the checkout to measure")
    parser.add_argument("--only", default="", help="tasks, with commas between them")
    parser.add_argument("--write", action="store_true", help="store what was measured")
    parser.add_argument("--write-before", action="store_true", help="store it as what it was before")
    return parser.parse_args()


def _stored(known: Stored | None, measured: Figures, *, before: bool) -> Stored:
    if known is None:
        return Stored(now=measured, before=measured)
    return msgspec.structs.replace(known, **{"before" if before else "now": measured})


async def measured(task: Task, source: Path) -> Figures:
    """What a task comes to with the program of a checkout."""
    # Names of the same length in every run, because they are part of what is sent.
    with tempfile.TemporaryDirectory(prefix="bridle-") as folder:
        project = Path(folder) / "project"
        write_project(project)
        api = _Chat() if task.chat else _Messages()
        async with ModelServer(api) as server:
            steps = list(task.steps(project))
            middle = len(steps) // 2
            for part in (steps[:middle], steps[middle:]) if task.continued else (steps,):
                server.script(*part, *[answer("Noted.")] * _SPARE)
                again = (
                    ("--continue",)
                    if task.continued and part is not steps[:middle] and server.requests
                    else ()
                )
                await _run(task, server.url, source, Path(folder), again)
            return _figures(task, server.requests, folder)


async def _run(task: Task, url: str, source: Path, folder: Path, more: Sequence[str]) -> None:
    dropped = ("CLAUDE", "ANTHROPIC", "OPENAI", "ENABLE_TOOL_SEARCH", "PYTHON")
    env = {key: value for key, value in os.environ.items() if not key.startswith(dropped)}
    env |= {"HOME": str(folder), "CLAUDE_CONFIG_DIR": str(folder / "config"), "NO_PROXY": "127.0.0.1"}
    env |= {"PYTHONPATH": str(source / "src"), "CLAUDE_CODE_MAX_RETRIES": "0"}
    flags: list[str] = [*task.flags, *more]
    if task.chat or task.small:
        own = {"dialect": "chat" if task.chat else "messages", "baseUrl": f"{url}/v1" if task.chat else url,
               "keyEnv": "KEY", "contextWindow": 20_000 if task.small else 200_000}  # fmt: skip
        flags += ["--model", "own", "--settings", json.dumps({"bridleModels": {"own": own}})]
        env |= {"KEY": "test-key"}
    else:
        flags += ["--model", "claude-sonnet-5-5"]
        env |= {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "test-key"}
    argv = (sys.executable, "-m", "bridle", "-p", "Do what the task says.", *flags)
    process = await asyncio.create_subprocess_exec(
        *argv, cwd=folder / "project", env=env,
        stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    async with asyncio.timeout(_PATIENCE):
        out, err = await process.communicate()
    if process.returncode:
        print(f"a run ended with {process.returncode}: {err.decode()[-400:]}{out.decode()[-400:]}")


class _Messages(MessagesApi):
    """Gives every answer an id of its own, and counts tokens by the size of the request."""

    def __init__(self) -> None:
        self._answers = 0
        self._size = 0

    def streams(self, request: Received) -> bool:
        self._size = len(request.raw)
        return super().streams(request)

    def frames(self, said: Said) -> list[bytes]:
        self._answers += 1
        usage = {"input_tokens": self._size // 4, "output_tokens": 50}
        stop = {"end": "end_turn", "calls": "tool_use"}[said.stop]
        fields = {"id": f"msg_{self._answers}", "model": "served", "stop_reason": stop, "usage": usage}
        return [sse.frame(event) for event in sse.events_of(sse.message(*said.blocks, **fields), piece=200)]


class _Chat(ChatApi):
    def __init__(self) -> None:
        super().__init__()
        self._answers = 0

    def frames(self, said: Said) -> list[bytes]:
        self._answers += 1
        own = b"chatcmpl-%d" % (self._answers + 1)
        return [frame.replace(b"chatcmpl-1", own) for frame in super().frames(said)]


def _figures(task: Task, requests: Sequence[Received], folder: str) -> Figures:
    bodies = [_MARKS.sub(b"", request.raw) for request in requests]
    return Figures(
        requests=len(requests),
        # Names of folders differ from run to run and are no fault of anyone.
        bytes=sum(len(request.raw.replace(folder.encode(), b"/tmp/bridle")) for request in requests),
        cacheable=round(_cacheable(bodies), 4),
        errors=len(_errors(requests) - task.fails),
        wasted=max(0, len(requests) - task.needs),
    )


def _cacheable(bodies: Sequence[bytes]) -> float:
    """The share of what was sent before that each conversation repeats from its first byte."""
    last: dict[bytes, bytes] = {}
    kept = sent = 0
    for body in bodies:
        key = _conversation(body)
        if (before := last.get(key)) is not None:
            # The brackets that close a request are no part of what comes again.
            whole = before.removesuffix(b"]}")
            sent += len(whole)
            kept += _common(whole, body)
        last[key] = body
    return kept / sent if sent else 1.0


def _common(one: bytes, other: bytes) -> int:
    """How many bytes two requests have in common from the first on."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[:middle] == other[:middle] else (low, middle - 1)
    return low


def _conversation(body: bytes) -> bytes:
    """What the requests of one conversation have in common, whatever becomes of the rest."""
    request: Any = json.loads(body)
    first = next(message for message in request["messages"] if message["role"] == "user")
    return json.dumps((request.get("system"), first["content"])).encode()


def _errors(requests: Sequence[Received]) -> set[str]:
    """The calls whose results are errors."""
    found: set[str] = set()
    for request in requests:
        for message in request.body["messages"]:
            content = message["content"]
            if message["role"] == "tool" and str(content).startswith(("Error", "InputValidationError")):
                found.add(message["tool_call_id"])
            for block in content if isinstance(content, list) else ():
                if block.get("type") == "tool_result" and block.get("is_error"):
                    found.add(block["tool_use_id"])
    return found


def _report(figures: dict[str, Figures], stored: dict[str, Stored]) -> int:
    print(
        f"{'task':<34}{'requests':>9}{'bytes':>11}{'before':>11}{'change':>8}{'cached':>8}{'errors':>7}{'wasted':>7}"
    )
    worse: list[str] = []
    for name, each in figures.items():
        known = stored.get(name)
        before = known.before.bytes if known else each.bytes
        title = f"{name:<3} {TASKS[name].what}"
        print(
            f"{title:<34}{each.requests:>9}{each.bytes:>11,}{before:>11,}{each.bytes / before - 1:>8.0%}"
            f"{each.cacheable:>8.1%}{each.errors:>7}{each.wasted:>7}"
        )
        worse += (f"{name}: {fault}" for fault in faults(TASKS[name], each, known))
    total = sum(each.bytes for each in figures.values())
    was = sum(stored[name].before.bytes if name in stored else each.bytes for name, each in figures.items())
    judged = "met" if total <= was * _AIM else "MISSED"
    print(f"{'all':<34}{'':>9}{total:>11,}{was:>11,}{total / was - 1:>8.0%}  aim {_AIM - 1:.0%} {judged}")
    for fault in worse:
        print(f"WORSE {fault}")
    return 1 if worse else 0


def faults(task: Task, each: Figures, known: Stored | None) -> list[str]:
    """What got worse than it is stored, or is no longer what it must be."""
    found: list[str] = []
    if known is not None and each.bytes > known.now.bytes * _MOST_GROWTH:
        found.append(f"{each.bytes:,} bytes instead of {known.now.bytes:,}")
    if known is not None and each.requests > known.now.requests:
        found.append(f"{each.requests} requests instead of {known.now.requests}")
    if each.errors:
        found.append(f"{each.errors} results are errors although nothing was wrong")
    if each.cacheable < _LEAST_CACHEABLE and not task.small:
        found.append(f"only {each.cacheable:.1%} of what was sent before comes again unchanged")
    return found


if __name__ == "__main__":
    sys.exit(main())
