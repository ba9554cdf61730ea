from pathlib import Path
from typing import Any

import pytest

from bridle.engine.loop import run_turn
from bridle.permissions.rules import parse
from bridle.providers.scripted import calls, says
from bridle.tools.files.glob import TOOL as glob
from bridle.tools.files.grep import TOOL as grep
from bridle.types.event import ToolFinished
from bridle.types.origin import TYPED
from bridle.types.permission import Effect
from bridle.types.turn import Prompt
from tests.fakes.engine import FakeChannel, make_runtime, make_session


async def _result(folder: Path, call: Any, *, deny: str) -> str:
    channel = FakeChannel()
    session = make_session(mode="default")
    session.swap(rules=(parse(deny, Effect.DENY, "userSettings"),))
    runtime = make_runtime(folder, [says(call), says("ok")], grep, glob, channel=channel)
    await run_turn(session, Prompt(content="go", origin=TYPED), runtime)
    (finished,) = channel.of(ToolFinished)
    return str(finished.result["content"])


def _project(folder: Path) -> Path:
    (folder / "secrets").mkdir()
    (folder / "secrets" / "key.txt").write_text("the needle is here\n")
    (folder / "open.txt").write_text("a needle in the open\n")
    (folder / "link.txt").symlink_to(folder / "secrets" / "key.txt")
    return folder


@pytest.mark.parametrize("mode", ["content", "files_with_matches", "count"])
async def test_search_does_not_show_files_that_may_not_be_read(tmp_path: Path, mode: str):
    """S31, S32"""
    call = calls("Grep", pattern="needle", output_mode=mode)
    shown = await _result(_project(tmp_path), call, deny="Read(secrets/**)")
    assert "open.txt" in shown and "key.txt" not in shown and "needle is here" not in shown


async def test_listing_does_not_name_files_that_may_not_be_read(tmp_path: Path):
    shown = await _result(_project(tmp_path), calls("Glob", pattern="**/*.txt"), deny="Read(secrets/**)")
    assert "open.txt" in shown and "key.txt" not in shown and "link.txt" not in shown


async def test_without_such_rules_everything_is_shown(tmp_path: Path):
    shown = await _result(_project(tmp_path), calls("Glob", pattern="**/*.txt"), deny="WebFetch")
    assert "key.txt" in shown
