"""`bridle debug prompt` tells what a first request costs, as it is really sent."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.messages_server import MessagesServer, step
from tests.fakes.program import Program


def _total(cost: Any, group: str) -> int:
    return sum(part["bytes"] for part in cost["parts"] if part["group"] == group)


async def test_the_parts_are_those_of_the_request_that_print_mode_sends(tmp_path: Path):
    async with MessagesServer([step("ok")]) as server:
        program = Program(tmp_path, server.url, ENABLE_TOOL_SEARCH="true")
        (program.project / "CLAUDE.md").write_text("Always write tests.\n" * 20, encoding="utf-8")
        told = await program.run("debug", "prompt", "--json")
        await program.run("-p", "hello")
        (sent,) = server.requests
    assert (told.code, told.err) == (0, "")
    cost = json.loads(told.out)
    assert (cost["mode"], cost["model"]) == ("print", sent.body["model"])
    assert cost["bytes"] == sum(part["bytes"] for part in cost["parts"])
    # Ids differ from session to session, and may differ in length.
    assert abs(cost["bytes"] - len(sent.raw)) < 100
    tools = {part["name"]: part["bytes"] for part in cost["parts"] if part["group"] == "tools"}
    assert list(tools) == [tool["name"] for tool in sent.body["tools"]]
    (memory,) = [part for part in cost["parts"] if part["group"] == "memory files"]
    assert memory["name"].endswith("CLAUDE.md") and memory["bytes"] >= 400
    names = {part["name"] for part in cost["parts"]}
    assert {"Skills", "Agent types", "More tools", "Environment", "what the user typed"} <= names


@pytest.mark.parametrize(
    ("mode", "has", "lacks", "most"),
    [
        ("print", "TaskOutput", "ExitPlanMode", 17_000),
        ("terminal", "ExitPlanMode", "CallTool", 20_000),
        ("agent", "Edit", "TaskOutput", 12_000),
        ("agent:Explore", "Grep", "Edit", 7_000),
    ],
)
async def test_each_mode_keeps_to_its_size(tmp_path: Path, mode: str, has: str, lacks: str, most: int):
    program = Program(tmp_path, "http://127.0.0.1:9", ENABLE_TOOL_SEARCH="true")
    done = await program.run("debug", "prompt", "--mode", mode, "--json")
    cost = json.loads(done.out)
    tools = {part["name"] for part in cost["parts"] if part["group"] == "tools"}
    assert has in tools and lacks not in tools
    assert cost["bytes"] - len(str(program.project)) <= most
    assert _total(cost, "system prompt") > 500 and _total(cost, "other") < 900


async def test_the_table_groups_and_sorts_and_flags_of_a_session_count(tmp_path: Path):
    program = Program(tmp_path, "http://127.0.0.1:9")
    done = await program.run("debug", "prompt", "--", "--tools", "Read,Grep", "--model", "claude-opus-4-8")
    lines = done.out.splitlines()
    assert lines[0].startswith("First request (print, claude-opus-4-8): ")
    at = next(number for number, line in enumerate(lines) if line.startswith("Tools (2)"))
    assert [line.split()[0] for line in lines[at + 1 : at + 3]] == ["Grep", "Read"]
    assert not list(program.home.glob(".claude/projects/**/*.jsonl"))


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("--mode", "dance"), 1, "'dance'"),
        (("--mode", "agent:nobody"), 1, "'nobody'"),
        (("--mode", "print:x"), 1, "'print:x'"),
        (("extra",), 1, "'extra'"),
    ],
)
async def test_what_cannot_be_understood_is_said_in_one_line(
    tmp_path: Path, words: tuple[str, ...], code: int, said: str
):
    done = await Program(tmp_path, "http://127.0.0.1:9").run("debug", "prompt", *words)
    assert done.code == code and said in done.err and done.err.count("\n") == 1


async def test_hooks_of_the_user_do_not_run(tmp_path: Path):
    program = Program(tmp_path, "http://127.0.0.1:9")
    (program.home / ".claude").mkdir()
    hook = {"hooks": [{"type": "command", "command": f"touch {tmp_path}/ran"}]}
    hooks = {name: [hook] for name in ("SessionStart", "UserPromptSubmit", "Stop", "SessionEnd")}
    (program.home / ".claude" / "settings.json").write_text(json.dumps({"hooks": hooks}), encoding="utf-8")
    done = await program.run("debug", "prompt")
    assert done.code == 0 and not (tmp_path / "ran").exists()


async def test_the_system_prompt_can_be_printed_without_sending_it(tmp_path: Path):
    program = Program(tmp_path, "http://127.0.0.1:9")
    done = await program.run("--dump-system-prompt", "-p", "--append-system-prompt", "Be kind.")
    assert done.code == 0 and done.out.startswith("You are bridle") and done.out.endswith("Be kind.\n")
    wrong = await program.run("--dump-system-prompt", "--nope")
    assert wrong.code == 1 and "--nope" in wrong.err and wrong.err.count("\n") == 1
