"""One prompt in print mode goes down through the files of docs/architecture.md; nothing calls up into cli."""

import asyncio
import json
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.architecture.layers import level
from tests.architecture.modules import SOURCE
from tests.fakes.messages_server import MessagesServer, step
from tests.fakes.program import Program

_PAGE = SOURCE.parents[1] / "docs" / "architecture.md"
_PROBE = Path(__file__).parent / "probe.py"
_MOST_FILES = 12
_OTHER_END = ("frontends/print/output.py", "frontends/print/channel.py")
"""The channel of print mode and what holds it."""


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return asyncio.run(_watched(tmp_path_factory.mktemp("way")))


async def _watched(folder: Path) -> dict[str, Any]:
    """A run with one tool call."""
    call = {"type": "tool_use", "id": "toolu_1", "name": "Glob", "input": {"pattern": "*"}}
    async with MessagesServer([step(call), step("ok")]) as server:
        program = Program(folder, server.url)
        argv = [sys.executable, str(_PROBE), str(folder / "calls"), "-p", "list the files"]
        process = await asyncio.create_subprocess_exec(
            *argv, cwd=program.project, env=program.env,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        )  # fmt: skip
        out, _ = await process.communicate()
    assert (process.returncode, out) == (0, b"ok\n")
    return json.loads((folder / "calls").read_text(encoding="utf-8"))


def _promised() -> list[str]:
    """The files of the drawing, from the top to the bottom."""
    drawing = _PAGE.read_text(encoding="utf-8").split("```")[1]
    return re.findall(r"─ ([\w/]+\.py)", drawing)


def test_the_page_names_a_dozen_files_each_below_the_one_before():
    files = _promised()
    assert 0 < len(files) <= _MOST_FILES
    assert [name for name in files if not (SOURCE / name).is_file()] == []
    levels = [level(name) for name in files]
    assert levels == sorted(levels, reverse=True)


def test_calls_that_are_open_at_the_first_request_go_down_through_files_of_the_page(watched: dict[str, Any]):
    way = [name for name in watched["way"] if not name.startswith(("providers/", "host/"))]
    assert way, "no request was seen"
    promised = _promised()
    assert [name for name in way if name not in promised] == []
    assert _is_downward(way)


def test_every_file_of_the_page_has_a_part_in_the_prompt(watched: dict[str, Any]):
    ran = {name for caller, callee, _ in watched["calls"] for name in (caller, callee)}
    assert [name for name in _promised() if name not in ran] == []


def test_nothing_calls_up_into_cli_and_a_turn_only_through_the_channel_and_features(watched: dict[str, Any]):
    upward = [
        call
        for call in watched["calls"]
        # A name of the standard library that is looked up where it is not loaded yet (decision 42).
        if level(call[0]) < level(call[1]) and call[1] != "cli/lazy_modules.py"
    ]
    assert [call for call in upward if call[1].startswith(("cli/", "sdk/", "__main__"))] == []
    turn = (
        "engine/loop.py",
        "engine/step.py",
        "engine/calls/queue.py",
        "engine/calls/dispatch.py",
        "engine/server.py",
    )
    allowed = ("features/", *_OTHER_END)
    assert [call for call in upward if call[0] in turn and not call[1].startswith(allowed)] == []


def _is_downward(files: Sequence[str]) -> bool:
    levels = [level(name) for name in files]
    return levels == sorted(levels, reverse=True)
