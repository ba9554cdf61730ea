"""The screens of what fills the window, lasts and costs, in a real terminal."""

import json
from pathlib import Path
from typing import Any

from tests.fakes.messages_server import step
from tests.fakes.processes import eventually
from tests.frontends.tui.app.session import Terminal, bridle


def _reads(number: int, path: Path) -> dict[str, Any]:
    return {"type": "tool_use", "id": f"toolu_{number}", "name": "Read", "input": {"file_path": str(path)}}


async def _with_two_results(terminal: Terminal) -> None:
    project = terminal.program.project
    (project / "long.txt").write_text("long line\n" * 400)
    (project / "short.txt").write_text("short line\n" * 100)
    terminal.server.script(
        [
            step(_reads(1, project / "long.txt")),
            step(_reads(2, project / "short.txt")),
            step("Both are read."),
        ]
    )
    await terminal.ready()
    await terminal.say("look at both")
    await terminal.until_text("Both are read.")
    await terminal.ready()


async def _closed(terminal: Terminal) -> None:
    terminal.type("\x1b")
    await terminal.ready()


async def _sent_next(terminal: Terminal, words: str) -> str:
    """What the model is sent with one more prompt."""
    terminal.server.script([step("Yes.")])
    before = len(terminal.asked)
    await terminal.say(words)
    await eventually(lambda: len(terminal.asked) > before)
    await terminal.until_text("Yes.")
    return json.dumps(terminal.asked[-1]["messages"])


async def test_single_items_are_listed_with_their_cost_and_stubbed_by_key(tmp_path: Path):
    async with bridle(tmp_path) as terminal:
        await _with_two_results(terminal)
        await terminal.say("/items")
        await terminal.until_text("s stub")
        rows = [row for row in terminal.emulator.rows if "result" in row]
        assert "long.txt" in rows[0] and "tokens" in rows[0] and "short.txt" in rows[1]
        terminal.type("s")
        await terminal.until(lambda screen: "short.txt" in next(r for r in screen.rows if "result" in r))
        await _closed(terminal)
        sent = await _sent_next(terminal, "and then")
        assert "long line" not in sent and "short line" in sent and '"toolu_1"' in sent


async def test_a_single_item_is_dropped_by_key_after_a_question(tmp_path: Path):
    async with bridle(tmp_path) as terminal:
        await _with_two_results(terminal)
        await terminal.say("/items")
        await terminal.until_text("d drop")
        terminal.type("d")
        await terminal.until_text("Remove this from the context?")
        terminal.type("y")
        await terminal.until(lambda screen: "long.txt" not in screen.text)
        await _closed(terminal)
        sent = await _sent_next(terminal, "and then")
        assert "long line" not in sent and "toolu_1" not in sent and "short line" in sent


async def test_a_pinned_item_can_be_neither_stubbed_nor_dropped_until_it_is_let_go(tmp_path: Path):
    async with bridle(tmp_path) as terminal:
        await _with_two_results(terminal)
        await terminal.say("/items")
        await terminal.until_text("d drop")
        terminal.type("p")
        await terminal.until_text("●")
        await terminal.until(lambda screen: "d drop" not in screen.text and "s stub" not in screen.text)
        terminal.type("p")
        await terminal.until(lambda screen: "●" not in screen.text and "d drop" in screen.text)


async def test_a_compaction_is_reported_looked_at_and_taken_back(tmp_path: Path):
    async with bridle(tmp_path) as terminal:
        await _with_two_results(terminal)
        await terminal.say("/pin The port is 8081.")
        await terminal.until_text("Pinned")
        terminal.server.script([step("<summary>Two files were read.</summary>")])
        await terminal.say("/compact keep the names")
        await terminal.until_text("undo with /uncompact")
        report = terminal.emulator.text
        assert "Compacted" in report and "• 2 results of Read:" in report and "tokens" in report
        assert "keep the names" in json.dumps(terminal.asked[-1])
        await terminal.ready()
        await terminal.say("/compacted")
        await terminal.until_text("Last compaction")
        await terminal.until_text("results of Read (2)")
        terminal.type("\t")
        await terminal.until_text("Two files were read.")
        terminal.type("\t")
        await terminal.until_text("● The port is 8081.")
        await _closed(terminal)
        await terminal.say("/uncompact")
        await terminal.until_text("Undid the compaction. Later messages were dropped")
        assert "long line" in await _sent_next(terminal, "and then")


async def test_pins_are_added_and_removed_on_their_screen(tmp_path: Path):
    async with bridle(tmp_path, [step("Yes.")]) as terminal:
        await terminal.ready()
        await terminal.say("hello there")
        await terminal.until_text("Yes.")
        await terminal.say("/pin")
        await terminal.until_text("nothing is pinned")
        terminal.type("a")
        await terminal.until_text("Text to keep")
        terminal.type("Never push to main.\r")
        await terminal.until_text("› ● Never push to main.")
        terminal.type("d")
        await terminal.until_text("Unpin this?")
        terminal.type("y")
        await terminal.until_text("nothing is pinned")


async def test_the_window_is_shown_with_every_part_of_it(tmp_path: Path):
    async with bridle(tmp_path, size=(100, 40)) as terminal:
        (terminal.program.project / "CLAUDE.md").write_text("Use tabs.\n")
        skill = terminal.program.home / ".claude" / "skills" / "bake"
        skill.mkdir(parents=True)
        (skill / "SKILL.md").write_text("---\nname: bake\ndescription: Bakes bread.\n---\nBake.\n")
        await _with_two_results(terminal)
        await terminal.say("/context")
        await terminal.until_text("auto-compacts at")
        shown = terminal.emulator.text.lower()
        for part in ("system prompt", "tools", "memory", "skills", "messages", "free"):
            assert part in shown
        terminal.type("/bake")
        await terminal.until(lambda screen: any(row.startswith("› bake") for row in screen.rows))


async def test_memory_files_are_opened_and_the_switch_is_turned(tmp_path: Path):
    async with bridle(tmp_path, EDITOR="true", CLAUDE_CODE_DISABLE_AUTO_MEMORY="") as terminal:
        (terminal.program.project / "CLAUDE.md").write_text("Use tabs.\n")
        await terminal.ready()
        await terminal.say("/memory")
        await terminal.until_text("automatic notes")
        shown = terminal.emulator.text
        assert "› Project" in shown and "all your projects" in shown and "not created yet" in shown
        terminal.type("/automatic")
        await terminal.until(lambda screen: any(row.startswith("› ✓ automatic notes") for row in screen.rows))
        terminal.type("\r")
        await terminal.until(
            lambda screen: any("automatic notes" in row and "off" in row for row in screen.rows)
        )
        settings = json.loads((terminal.program.home / ".claude" / "settings.json").read_text())
        assert settings["autoMemoryEnabled"] is False


async def test_usage_is_shown_by_model_and_day(tmp_path: Path):
    async with bridle(tmp_path, size=(100, 40)) as terminal:
        await _with_two_results(terminal)
        await terminal.say("/usage")
        await terminal.until_text("by source")
        assert "claude-sonnet" in terminal.emulator.text
        assert "cost" in terminal.emulator.text and "$0." in terminal.emulator.text
        terminal.type("\t\t\t")
        await terminal.until(lambda screen: "Agents" in screen.text and "Prompts" in screen.text)
        assert any(row.startswith("Read") and "$0." in row for row in terminal.emulator.rows)


async def test_budgets_are_shown_with_what_is_gone_and_for_what(tmp_path: Path):
    settings = {"bridleBudgets": {"day": {"usd": 5, "calls": 4}}}
    async with bridle(tmp_path, size=(100, 40), settings=settings) as terminal:
        await _with_two_results(terminal)
        await terminal.say("/usage")
        await terminal.until_text("today: 3 of 4 calls")
        await terminal.until_text("75%")
        terminal.type("\t\t\t")
        await terminal.until(lambda screen: "Agents" in screen.text and "Tools" in screen.text)
        assert "main" in terminal.emulator.text and "Read" in terminal.emulator.text
