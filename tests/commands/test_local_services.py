"""Commands that need a hosted service elsewhere and work on this machine here."""

import json
from pathlib import Path

import pytest

from bridle.types.command import Asks, Says
from bridle.types.errors import UsageError
from tests.fakes.commanded import Commanded
from tests.fakes.messages_server import MessagesServer, step
from tests.fakes.program import Program


async def test_a_wish_becomes_a_prompt_that_schedules_and_nothing_is_listed_at_first(tmp_path: Path):
    commanded = Commanded(tmp_path)
    said = await commanded.run("/schedule")
    assert isinstance(said, Says) and said.text.startswith("Nothing is scheduled.")
    asked = await commanded.run("/routines run the tests at 9")
    assert isinstance(asked, Asks) and "run the tests at 9" in str(asked.content)
    assert "CronCreate" in str(asked.content)


async def test_a_workflow_for_github_is_written_once(tmp_path: Path):
    commanded = Commanded(tmp_path)
    with pytest.raises(UsageError, match="git repository"):
        await commanded.run("/install-github-app")
    (commanded.project / ".git").mkdir()
    said = await commanded.run("/install-github-app")
    path = commanded.project / ".github" / "workflows" / "bridle.yml"
    assert isinstance(said, Says) and "gh secret set" in said.text
    text = path.read_text()
    # What strangers write reaches the script as a variable only.
    script = text[text.index("run: |") :]
    assert "github.event.comment.body" not in script and "author_association" in text
    path.write_text("mine")
    with pytest.raises(UsageError, match="exists already"):
        await commanded.run("/install-github-app")
    assert path.read_text() == "mine"


async def test_stored_keys_are_listed_and_removed(tmp_path: Path):
    commanded = Commanded(tmp_path, env={"BRIDLE_CREDENTIALS": "file"})
    said = await commanded.run("/logout")
    assert isinstance(said, Says) and said.text.startswith("No key is stored.")

    program = Program(tmp_path, BRIDLE_CREDENTIALS="file", CLAUDE_CONFIG_DIR=str(commanded.home))
    for vendor in ("anthropic", "openai"):
        login = ("auth", "login", vendor, "--key-stdin", "--no-verify")
        assert (await program.run(*login, stdin=f"key-of-{vendor}-0123456789")).code == 0

    listed = await commanded.run("/logout")
    assert isinstance(listed, Says) and "anthropic, openai" in listed.text
    with pytest.raises(UsageError, match="No stored key for moon"):
        await commanded.run("/logout moon")
    assert await commanded.run("/logout openai") == Says(
        "Removed the key of openai. Keys in variables are not changed."
    )
    await commanded.run("/logout all")
    assert "key-of" not in "".join(
        path.read_text(errors="replace") for path in commanded.home.rglob("*") if path.is_file()
    )


async def test_what_leaves_the_machine_is_listed(tmp_path: Path):
    commanded = Commanded(tmp_path, env={"CLAUDE_CODE_ENABLE_TELEMETRY": "1", "BRIDLE_BACKGROUND_WORK": "0"})
    said = await commanded.run("/privacy-settings")
    assert isinstance(said, Says)
    assert "telemetry: on" in said.text and "memories): off" in said.text and "for 30 days" in said.text


async def test_a_phone_needs_remote_control(tmp_path: Path):
    with pytest.raises(UsageError, match="disableRemoteControl"):
        await Commanded(tmp_path).run("/mobile")


async def test_how_to_update_is_said(tmp_path: Path):
    said = await Commanded(tmp_path).run("/upgrade")
    assert isinstance(said, Says) and "Update with:" in said.text


async def test_a_review_in_depth_runs_in_print_mode(tmp_path: Path):
    async with MessagesServer([step("No findings."), step("No findings.")]) as server:
        program = Program(tmp_path, server.url)
        done = await program.run("ultrareview", "123", "--json", "--timeout", "5")
        assert done.code == 0 and json.loads(done.out)["result"] == "No findings."
        sent = json.dumps(server.requests[0].body["messages"])
        assert "Review a change as thoroughly" in sent and "123" in sent and "Post the findings" not in sent
        wrong = await program.run("ultrareview", "a\nb")
        assert wrong.code == 1 and wrong.err.count("\n") == 1
