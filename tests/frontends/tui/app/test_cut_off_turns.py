"""A turn whose program was ended is offered again at the terminal."""

import json
from pathlib import Path

from tests.fakes.messages_server import MessagesServer, step
from tests.fakes.processes import eventually
from tests.fakes.program import Program
from tests.frontends.tui.app.session import bridle

_ID = "0b9d3c1e-5a43-4f0e-9b64-2f6f9b1d7c11"


async def _cut_off(folder: Path) -> None:
    """A conversation whose program was killed while the model was answering."""
    async with MessagesServer([step("never", silent_after=0)]) as server:
        running = await Program(folder, server.url).start("-p", "count the files", "--session-id", _ID)
        await eventually(lambda: len(server.requests) == 1)
        running.kill()
        await running.wait()


async def test_enter_continues_a_turn_that_was_cut_off(tmp_path: Path):
    await _cut_off(tmp_path)
    async with bridle(tmp_path, [step("Three files.")], "--resume", _ID) as terminal:
        await terminal.until_text("The last turn was cut off. Press Enter to continue it.")
        await terminal.until_text("Continue where you left off")
        assert not terminal.asked
        terminal.type("\r")
        await terminal.until_text("Three files.")
        said = json.dumps(terminal.asked[0]["messages"])
        assert "count the files" in said and "Continue where you left off" in said
    async with bridle(tmp_path, (), "--resume", _ID) as terminal:
        await terminal.ready()
        assert "cut off" not in terminal.emulator.text


async def test_with_the_variable_it_continues_by_itself(tmp_path: Path):
    await _cut_off(tmp_path)
    async with bridle(
        tmp_path,
        [step("Three files.")],
        "--resume",
        _ID,
        CLAUDE_CODE_RESUME_INTERRUPTED_TURN="1",
        CLAUDE_CODE_RESUME_PROMPT="Go on, please.",
    ) as terminal:
        await terminal.until_text("Three files.")
        assert "Go on, please." in json.dumps(terminal.asked[0]["messages"])


async def test_a_row_about_the_speed_of_the_model_is_kept_on_request(tmp_path: Path):
    async with bridle(tmp_path, [step("Hello.")], BRIDLE_API_METRICS="1") as terminal:
        await terminal.ready()
        await terminal.say("hi")
        await terminal.until_text("● Hello.")
        await eventually(lambda: '"api_metrics"' in terminal.program.transcripts()[0].read_text())
        rows = map(json.loads, terminal.program.transcripts()[0].read_text().splitlines())
        (row,) = [each for each in rows if each.get("subtype") == "api_metrics"]
        assert row["steps"] == 1 and row["turnDurationMs"] >= row["apiDurationMs"] >= 0
