from pathlib import Path

from bridle.engine.feature import Features
from bridle.engine.loop import run_turn
from bridle.engine.tool_services import ToolServices
from bridle.providers.scripted import ScriptedProvider, calls, says
from bridle.tools.files.read import TOOL as READ
from bridle.types.origin import TYPED
from bridle.types.turn import Prompt
from tests.fakes.engine import make_runtime, make_session


async def test_a_file_that_is_read_again_unchanged_is_not_sent_again(tmp_path: Path):
    path = tmp_path / "long.txt"
    path.write_text("a line of it\n" * 400)
    look, part = (calls("Read", file_path=str(path), **more) for more in ({}, {"offset": 100}))
    script = ScriptedProvider([says(look), says(look), says(part), says("Done."), says(look), says("Done.")])
    runtime = make_runtime(tmp_path, script, READ).replaced(features=Features([ToolServices()]))
    session = make_session()

    await run_turn(session, Prompt(content="read", origin=TYPED), runtime)
    path.write_text("another line\n" * 400)
    await run_turn(session, Prompt(content="read", origin=TYPED), runtime)

    results = [
        str(block["content"])
        for message in session.history.messages
        if message["role"] == "user"
        for block in message["content"]
        if not isinstance(block, str) and block["type"] == "tool_result"
    ]
    assert ["a line of it" in each for each in results] == [True, False, True, False]
    assert "The file is unchanged" in results[1] and "another line" in results[3]
    told = [entry.get("toolUseResult") for entry in session.entries if entry["type"] == "user"]
    kinds = [each["type"] for each in told if each]
    assert kinds == ["text", "file_unchanged", "text", "text"]
