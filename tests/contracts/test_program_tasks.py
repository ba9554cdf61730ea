"""Tasks that need the whole program, in every dialect: agents, compaction, a continued session, plan mode."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from bench.model_tasks import TASKS, Task, write_project
from tests.fakes.dialects import CASES, Case
from tests.fakes.model_server import ModelServer
from tests.fakes.program import Program

_TASKS = ("D", "E2", "E3", "F")
_SMALL = 20_000
"""A window that ten files do not fit into."""


@pytest.mark.parametrize("dialect", CASES)
async def test_the_program_does_the_tasks_without_a_detour(tmp_path: Path, dialect: str):
    faults = await asyncio.gather(*(_faults(tmp_path / name, CASES[dialect], TASKS[name]) for name in _TASKS))
    assert dict(zip(_TASKS, faults, strict=True)) == {name: [] for name in _TASKS}


async def _faults(folder: Path, case: Case, task: Task) -> list[str]:
    folder.mkdir()
    async with ModelServer(case.api(), counts=True) as server:
        program = Program(folder, **case.variables(server.url), CLAUDE_CODE_MAX_RETRIES="0")
        program.project.rmdir()
        write_project(program.project)
        steps = list(task.steps(program.project))
        runs = [steps[: len(steps) // 2], steps[len(steps) // 2 :]] if task.continued else [steps]
        faults: list[str] = []
        for number, part in enumerate(runs):
            server.script(*part)
            flags = (*task.flags, *_model(case, server.url, small=task.small), *["--continue"][:number])
            done = await program.run("-p", "Do what the task says.", *flags)
            faults += [f"run {number}: {done}"] if done.code or done.err or not done.out.strip() else []
        sent = len(server.requests)
    faults += [f"{sent} requests instead of {task.needs}"] if sent != task.needs else []
    return faults + [fault for file in program.transcripts() for fault in _errors(file)]


def _model(case: Case, url: str, *, small: bool) -> tuple[str, ...]:
    entries = case.entries(url)
    if small:
        entries = {**entries, case.model: {**entries.get(case.model, {}), "contextWindow": _SMALL}}
    return "--model", case.model, "--settings", json.dumps({"bridleModels": entries})


def _errors(transcript: Path) -> list[str]:
    """The results of a transcript that are errors."""
    rows = [json.loads(line) for line in transcript.read_text().splitlines()]
    contents: list[Any] = [row["message"]["content"] for row in rows if row["type"] == "user"]
    blocks: list[Any] = [block for content in contents if isinstance(content, list) for block in content]
    return [f"failed: {block['content']}" for block in blocks if block.get("is_error")]
