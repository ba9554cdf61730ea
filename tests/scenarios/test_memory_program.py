"""Memory, budgets and windows as the whole program uses them."""

import json
from pathlib import Path

from bridle.context.memory import Topic, save_topic
from bridle.context.memory_folder import memory_folder
from tests.fakes.messages_server import MessagesServer, step
from tests.fakes.program import Program


def _settings(program: Program, **values: object) -> None:
    folder = program.home / ".claude"
    folder.mkdir(exist_ok=True)
    (folder / "settings.json").write_text(json.dumps(values))


async def test_a_session_begins_with_what_earlier_ones_remembered(tmp_path: Path):
    async with MessagesServer([step("ok"), step("ok")]) as server:
        program = Program(tmp_path, server.url)
        folder = memory_folder(str(program.project), program.env)
        save_topic(folder, Topic(name="Port", description="It is 8081", kind="project", body="8081"))

        assert (await program.run("-p", "hi")).code == 0
        assert (await program.run("-p", "hi", CLAUDE_CODE_DISABLE_AUTO_MEMORY="1")).code == 0

        first, second = (json.dumps(request.body) for request in server.requests)
        assert "It is 8081" in first and "It is 8081" not in second


async def test_a_budget_in_the_settings_ends_the_turn_of_a_later_process(tmp_path: Path):
    async with MessagesServer([step("ok")]) as server:
        program = Program(tmp_path, server.url)
        _settings(program, bridleBudgets={"day": {"calls": 1}})
        assert (await program.run("-p", "hi")).code == 0

        done = await program.run("-p", "hi", "--output-format", "json")

        assert done.code == 1
        assert done.result["subtype"] == "error_max_budget_usd"
        assert len(server.requests) == 1
        shown = await program.run("usage", "--by", "project", "--json")
        assert json.loads(shown.out)[0]["calls"] == 1


async def test_without_budgets_there_is_no_ledger(tmp_path: Path):
    async with MessagesServer([step("ok")]) as server:
        program = Program(tmp_path, server.url)
        assert (await program.run("-p", "hi")).code == 0
        assert not (program.home / ".claude" / "bridle" / "usage.db").exists()


async def test_a_window_on_the_command_line_is_checked(tmp_path: Path):
    program = Program(tmp_path, "http://127.0.0.1:9")
    done = await program.run("-p", "hi", "--autocompact", "many")
    assert done.code == 1 and "--autocompact" in done.err


async def test_nobody_is_there_to_approve_a_plan_in_print_mode(tmp_path: Path):
    async with MessagesServer([step("ok")]) as server:
        program = Program(tmp_path, server.url)
        assert (await program.run("-p", "hi")).code == 0
        names = {tool["name"] for tool in server.requests[0].body["tools"]}
        assert not names & {"EnterPlanMode", "ExitPlanMode"}
