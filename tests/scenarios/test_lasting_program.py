"""What lasts beyond a turn, through the whole program: styles, effort, agents' memory, work on the side."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.messages_server import MessagesServer, step
from tests.fakes.processes import eventually
from tests.fakes.program import Program
from tests.frontends.tui.app.session import bridle

_ASIDE: dict[str, Any] = {"CLAUDE_CODE_DISABLE_AUTO_MEMORY": "", "BRIDLE_BACKGROUND_WORK": "1"}


def _reads(path: Path) -> dict[str, Any]:
    return {"type": "tool_use", "id": "toolu_1", "name": "Read", "input": {"file_path": str(path)}}


def _edits(path: Path, old: str, new: str) -> dict[str, Any]:
    wanted = {"file_path": str(path), "old_string": old, "new_string": new}
    return {"type": "tool_use", "id": "toolu_2", "name": "Edit", "input": wanted}


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


async def test_an_output_style_of_a_file_is_told_to_the_model(tmp_path: Path):
    async with MessagesServer([step("Arr.")]) as server:
        program = Program(tmp_path, server.url)
        style = "---\nname: pirate\ndescription: At sea.\n---\nSpeak like a pirate.\n"
        _write(program.home / ".claude" / "output-styles" / "pirate.md", style)
        settings = json.dumps({"outputStyle": "pirate"})
        assert (await program.run("-p", "hi", "--settings", settings)).out.strip() == "Arr."
        assert "Speak like a pirate." in json.dumps(server.requests[0].body["system"])


async def test_a_turn_goes_on_until_the_tokens_that_were_asked_for_are_used(tmp_path: Path):
    used = {"usage": {"input_tokens": 10, "output_tokens": 900}}
    script = [step(f"Part {number}.", message=used) for number in range(3)]
    async with MessagesServer(script) as server:
        done = await Program(tmp_path, server.url).run("-p", "write it all down +2k")
        assert done.out.strip() == "Part 0.\nPart 1."
        assert "900 of 2,000 tokens are used" in json.dumps(server.requests[1].body["messages"])
        # Nine tenths are enough.
        assert len(server.requests) == 2


@pytest.mark.parametrize(
    ("scope", "folder"),
    [
        ("user", "home/.claude/agent-memory"),
        ("project", "project/.claude/agent-memory"),
        ("local", "project/.claude/agent-memory-local"),
    ],
)
async def test_an_agent_begins_with_what_it_remembers(tmp_path: Path, scope: str, folder: str):
    call = {"description": "look", "prompt": "Look at it.", "subagent_type": "scout"}
    script = [
        step({"type": "tool_use", "id": "c1", "name": "Agent", "input": call}, when="send a scout"),
        step("Done.", when="send a scout", repeat=True),
        step("Looked.", when="Look at it."),
    ]
    async with MessagesServer(script) as server:
        program = Program(tmp_path, server.url, BRIDLE_TRUST_FOLDER=str(tmp_path / "project"))
        definition = f"---\nname: scout\ndescription: Scouts.\nmemory: {scope}\n---\nYou scout.\n"
        _write(program.project / ".claude" / "agents" / "scout.md", definition)
        _write(tmp_path / folder / "scout" / "MEMORY.md", "The bridge is out.\n")
        assert (await program.run("-p", "send a scout")).code == 0
        (asked,) = [each for each in server.requests if b"You scout." in each.raw]
        assert "The bridge is out." in asked.raw.decode()
        assert str(tmp_path / folder / "scout") in asked.raw.decode()


async def test_a_document_that_asks_for_it_is_brought_up_to_date_in_a_pause(tmp_path: Path):
    document = tmp_path / "project" / "STATUS.md"
    _write(document, "# MAGIC DOC: Status\n\nNothing yet.\n")
    script = [
        step("Done.", when="toolu_2"),
        step(_edits(document, "Nothing yet.", "The port is 8081."), when="The document as it is:"),
        step(_reads(document), when="look at the status"),
        step("The port is 8081.", when="toolu_1"),
    ]
    async with bridle(tmp_path, script, **_ASIDE) as terminal:
        await terminal.ready()
        await terminal.say("look at the status")
        await eventually(lambda: "8081" in document.read_text())
        await terminal.until_text("STATUS.md was updated.")


async def test_what_matters_later_is_noted_after_a_turn(tmp_path: Path):
    long = "We deploy on Fridays only, and the staging host is called heron. " * 12
    topic = {"name": "Deploys", "description": "When", "type": "project", "body": "Fridays only."}
    script = [step(json.dumps([topic]), when="You keep the memory"), step(long, when="when do we deploy")]
    async with bridle(tmp_path, script, **_ASIDE) as terminal:
        await terminal.ready()
        await terminal.say("when do we deploy")
        await terminal.until_text("Remembered for later sessions")
        (kept,) = (terminal.program.home / ".claude" / "projects").rglob("memory/project_deploys.md")
        assert "Fridays only." in kept.read_text()


async def test_who_comes_back_reads_where_things_stand(tmp_path: Path):
    script = [
        step("The login works, the tests are next.", when="who comes back to it"),
        step("It works now.", when="mend the login"),
    ]
    away: dict[str, Any] = {"CLAUDE_CODE_ENABLE_AWAY_SUMMARY": "1", "BRIDLE_AWAY_SECONDS": "0.1"}
    async with bridle(tmp_path, script, **away) as terminal:
        await terminal.ready()
        await terminal.say("mend the login")
        await terminal.until_text("While you were away: The login works")


async def test_one_setting_turns_all_work_on_the_side_off(tmp_path: Path):
    settings = {"bridleBackgroundWork": False}
    away: dict[str, Any] = {"CLAUDE_CODE_ENABLE_AWAY_SUMMARY": "1", "BRIDLE_AWAY_SECONDS": "0.01",
            "CLAUDE_CODE_ENABLE_PROMPT_SUGGESTION": "1", "CLAUDE_CODE_DISABLE_AUTO_MEMORY": ""}  # fmt: skip
    async with bridle(tmp_path, [step("One. " * 200), step("Two.")], settings=settings, **away) as terminal:
        await terminal.ready()
        await terminal.say("first thing")
        await terminal.until_text("One.")
        await terminal.ready()
        await terminal.say("second thing")
        await terminal.until_text("Two.")
        assert len(terminal.asked) == 2


async def test_words_of_an_earlier_conversation_are_found_at_the_terminal(tmp_path: Path):
    async with bridle(tmp_path, [step("Red ones keep longest."), step("Fine.")]) as terminal:
        await terminal.ready()
        await terminal.say("which apples keep?")
        await terminal.until_text("Red ones keep longest.")
        await terminal.say("/clear")
        await terminal.until_text("a new conversation")
        await terminal.say("/recall apples keep")
        await terminal.until_text("Resume with: /resume")
