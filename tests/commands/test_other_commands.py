import json
from pathlib import Path
from typing import Any

import pytest

from bridle.commands.catalog import CATALOG
from bridle.commands.exports import answers, conversation_text
from bridle.providers.scripted import calls, says
from bridle.tools.files.read import TOOL as READ
from bridle.types.command import Asks, Says, Shows
from bridle.types.errors import UsageError
from bridle.types.event import Noticed
from tests.fakes.commanded import Commanded
from tests.fakes.engine import requests

_NOTICES = [listing for listing in CATALOG if listing.module == "bridle.commands.unavailable"]
_PROMPTS = (
    "init", "security-review", "statusline", "team-onboarding", "auto-mode-setup", "autofix-pr",
    "ultrareview", "schedule",
)  # fmt: skip


@pytest.mark.parametrize("name", _PROMPTS)
async def test_prompts_of_ours_are_short_and_take_wishes(tmp_path: Path, name: str):
    asked = await Commanded(tmp_path).run(f"/{name} and be quick")
    assert isinstance(asked, Asks) and asked.shown == f"/{name} and be quick"
    assert isinstance(asked.content, str)
    assert "and be quick" in asked.content and 200 < len(asked.content) < 3_000


@pytest.mark.parametrize("listing", _NOTICES, ids=lambda listing: listing.name)
async def test_notices_are_one_or_two_sentences(tmp_path: Path, listing: Any):
    said = await Commanded(tmp_path).run(f"/{listing.name}")
    assert (
        isinstance(said, Says) and said.text.endswith(".") and len(said.text) < 250 and "\n" not in said.text
    )


async def test_a_subtask_without_agents_is_an_ordinary_prompt(tmp_path: Path):
    commanded = Commanded(tmp_path)
    assert await commanded.run("/subtask count files") == Asks(
        content="count files", shown="/subtask count files"
    )
    with pytest.raises(UsageError):
        await commanded.run("/subtask")


async def test_the_conversation_is_exported_as_plain_text(tmp_path: Path):
    commanded = Commanded(tmp_path, [says("Looking.", calls("Read", file_path="x")), says("Gone.")], READ)
    assert await commanded.run("/export") == Says("Nothing to export yet.")
    await commanded.prompt("look at x")
    said = await commanded.run("/export talk")
    assert isinstance(said, Says)
    text = (commanded.project / "talk.txt").read_text()
    assert text.startswith("> look at x\n\nLooking.\n\n[Read] ") and text.rstrip().endswith("Gone.")
    shown = await commanded.run("/export")
    assert isinstance(shown, Shows) and shown.text == conversation_text(commanded.session)


async def test_answers_are_copied_by_number_or_written_to_a_file(tmp_path: Path):
    commanded = Commanded(tmp_path, [says("first"), says("second")])
    await commanded.prompt("one", "two")
    assert answers(commanded.session) == ["second", "first"]
    assert await commanded.run("/copy") == Shows(view="copy", arguments="1", text="second")
    await commanded.run("/copy 2 out.md")
    assert (commanded.project / "out.md").read_text() == "first\n"
    with pytest.raises(UsageError):
        await commanded.run("/copy 3")


async def test_a_report_stays_on_this_machine_and_holds_no_secrets(tmp_path: Path):
    settings = '{"env": {"TOKEN": "hunter2"}, "apiKeyHelper": "/bin/hunter2", "theme": "dark"}'
    commanded = Commanded(tmp_path, settings=settings, env={"ANTHROPIC_API_KEY": "hunter2"})
    said = await commanded.run("/bug it froze")
    assert isinstance(said, Says)
    (path,) = (commanded.home / "feedback-bundles").iterdir()
    data = path.read_text()
    assert "it froze" in data and '"dark"' in data and "hunter2" not in data
    assert path.stat().st_mode & 0o077 == 0


async def test_what_fills_the_memory_is_written_down(tmp_path: Path):
    commanded = Commanded(tmp_path)
    assert isinstance(await commanded.run("/heapdump"), Says)
    assert "most memory used" in (commanded.project / "storage" / "heap.txt").read_text()


async def test_a_goal_keeps_the_turn_going_until_it_holds(tmp_path: Path):
    commanded = Commanded(
        tmp_path,
        [
            says("I wrote it."),
            says('{"ok": false, "reason": "no test was run"}'),
            says("All 3 tests pass."),
            says('{"ok": true}'),
        ],
    )
    outcome = await commanded.prompt("/goal all tests pass")
    asked = requests(commanded.server.runtime)
    assert outcome.text == "All 3 tests pass." and len(asked) == 4
    assert "no test was run" in json.dumps(asked[2].messages)
    assert asked[1].model == "small" and "I wrote it." in json.dumps(asked[1].messages)
    assert commanded.context.goal.condition is None
    assert any("reached" in notice.text for notice in commanded.channel.of(Noticed))


async def test_a_goal_is_shown_and_given_up(tmp_path: Path):
    commanded = Commanded(tmp_path)
    assert isinstance(await commanded.run("/goal be done"), Asks)
    shown = await commanded.run("/goal")
    assert isinstance(shown, Shows) and shown.view == "goal" and "be done" in shown.text
    assert await commanded.run("/goal off") == Says("Cleared the goal: be done")
    assert not commanded.context.hooks.listens_to("Stop")


async def test_a_goal_out_of_reach_is_given_up(tmp_path: Path):
    verdict = '{"ok": false, "reason": "no network", "impossible": true}'
    commanded = Commanded(tmp_path, [says("I cannot."), says(verdict)])
    outcome = await commanded.prompt("/goal download it")
    assert outcome.text == "I cannot." and commanded.context.goal.condition is None


async def test_memory_files_and_servers_are_listed(tmp_path: Path):
    commanded = Commanded(tmp_path)
    memory = await commanded.run("/memory")
    servers = await commanded.run("/mcp")
    assert isinstance(memory, Shows) and "/init" in memory.text
    assert isinstance(servers, Shows) and "No MCP servers" in servers.text
    await commanded.run("/memory off")
    assert json.loads(commanded.user_settings()) == {"autoMemoryEnabled": False}
    refused = await commanded.run("/mcp reconnect x")
    assert isinstance(refused, Says) and refused.is_error


async def test_hooks_are_listed_with_why_some_do_not_run(tmp_path: Path):
    hook = '{"hooks": [{"type": "command", "command": "true"}], "matcher": "Bash"}'
    commanded = Commanded(
        tmp_path, settings=f'{{"disableAllHooks": true, "hooks": {{"PreToolUse": [{hook}]}}}}'
    )
    shown = await commanded.run("/hooks")
    assert isinstance(shown, Shows)
    assert "PreToolUse [Bash] command" in shown.text and "disableAllHooks" in shown.text


async def test_lessons_are_listed_and_shown(tmp_path: Path):
    commanded = Commanded(tmp_path)
    listed, first = await commanded.run("/powerup"), await commanded.run("/powerup 1")
    assert isinstance(listed, Says) and isinstance(first, Says) and "@" in first.text
    with pytest.raises(UsageError):
        await commanded.run("/powerup 99")


async def test_the_configuration_of_other_agents_is_shown_first_and_then_brought_over(tmp_path: Path):
    commanded = Commanded(tmp_path)
    codex, gemini = commanded.home / ".codex", commanded.home / ".gemini"
    (codex / "prompts").mkdir(parents=True)
    (gemini / "commands").mkdir(parents=True)
    (codex / "AGENTS.md").write_text("Use tabs.")
    (codex / "config.toml").write_text('[mcp_servers.docs]\ncommand = "docs-server"\nargs = ["--stdio"]\n')
    (codex / "prompts" / "tidy.md").write_text("Tidy up $ARGUMENTS")
    (gemini / "settings.json").write_text('{"mcpServers": {"web": {"httpUrl": "https://example.org/mcp"}}}')
    (gemini / "commands" / "ship.toml").write_text('description = "Ship: it"\nprompt = "Ship {{args}}"\n')
    planned = await commanded.run("/import")
    assert isinstance(planned, Says) and "Nothing changed" in planned.text
    assert not (commanded.home / "CLAUDE.md").exists()
    await commanded.run("/import --yes")
    assert (commanded.home / "CLAUDE.md").read_text() == "Use tabs."
    assert (commanded.home / "commands" / "tidy.md").read_text() == "Tidy up $ARGUMENTS"
    ship = (commanded.home / "commands" / "ship.md").read_text()
    assert ship == '---\ndescription: "Ship: it"\n---\nShip $ARGUMENTS'
    state = json.loads((commanded.home / ".claude.json").read_text())
    assert state["mcpServers"]["docs"]["command"] == "docs-server"
    assert state["mcpServers"]["web"] == {"type": "http", "url": "https://example.org/mcp"}
    assert "Nothing new to import" in getattr(await commanded.run("/import codex"), "text", "")
    with pytest.raises(UsageError):
        await commanded.run("/import cursor")


async def test_what_is_there_already_is_never_replaced(tmp_path: Path):
    commanded = Commanded(tmp_path)
    (commanded.home / ".codex").mkdir()
    (commanded.home / ".codex" / "AGENTS.md").write_text("Use tabs.")
    (commanded.home / "CLAUDE.md").write_text("Mine.")
    await commanded.run("/import codex --yes")
    assert (commanded.home / "CLAUDE.md").read_text() == "Mine."
