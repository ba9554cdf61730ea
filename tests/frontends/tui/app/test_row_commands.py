"""Commands of the user that write rows of the screen: what they are told, and what is shown of them."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bridle.frontends.tui.chat.row_command import RowCommandError, ask_for_rows
from bridle.version import COMPATIBLE_WITH
from tests.fakes.messages_server import step
from tests.fakes.processes import eventually, is_running
from tests.frontends.tui.app.session import bridle

_SESSION = "00000000-0000-4000-8000-000000000002"
_WAITS = "until [ -e go ]; do sleep 0.05; done"
_ROWS = """
import json, sys
told = json.load(sys.stdin)
for task in told["tasks"]:
    row = f"\\x1b[1m{task['name']}\\x1b[0m of {told['columns']} digs"
    content = "" if "pit" in task["description"] else row
    print("no row")
    print(json.dumps({"id": task["id"], "content": content}))
"""


def _call(tool: str, id: str, **input: object) -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": tool, "input": input}


def _digging() -> list[Any]:
    agents = [
        _call(
            "Agent",
            f"toolu_{name}",
            description=f"dig {name}",
            prompt=f"Dig the {name}.",
            subagent_type="general-purpose",
        )
        for name in ("well", "pit")
    ]
    waits = [
        step(_call("Bash", f"toolu_bash_{name}", command=_WAITS), when=f"Dig the {name}.")
        for name in ("well", "pit")
    ]
    ends = [step("It is dug.", when=f"toolu_bash_{name}") for name in ("well", "pit")]
    said = step("They are at work.", when="hand it over", repeat=True)
    return [step(*agents, when="hand it over"), said, *waits, *ends]


async def test_a_status_line_command_is_told_everything_that_is_known(tmp_path: Path):
    project = tmp_path / "project"
    project.mkdir()
    subprocess.run(["git", "init", "-q", "-b", "main"], cwd=project, check=True)
    with (project / ".git" / "config").open("a") as file:
        file.write('[remote "origin"]\n\turl = git@forge.example:ada/engine.git\n')
    settings = {
        "statusLine": {"type": "command", "command": "cat > .told.new && mv .told.new told.json; echo told"},
        "permissions": {"allow": ["Write"], "additionalDirectories": [str(tmp_path)]},
        "editorMode": "vim",
        "effortLevel": "high",
    }
    usage = {"input_tokens": 30, "output_tokens": 5, "cache_read_input_tokens": 1000}
    script = [
        step(_call("Write", "toolu_1", file_path="a.txt", content="one\ntwo\n")),
        step("Written.", message={"usage": usage}),
    ]
    told: dict[str, Any] = {}

    def is_told() -> bool:
        told.update(json.loads((project / "told.json").read_text()))
        return told["cost"]["total_lines_added"] == 2 and told["cost"]["total_duration_ms"] > 0

    async with bridle(tmp_path, script, "--session-id", _SESSION, settings=settings) as terminal:
        await terminal.until_text("told")
        assert json.loads((project / "told.json").read_text())["context_window"]["current_usage"] is None
        await terminal.say("write it")
        await terminal.until_text("Written.")
        await eventually(is_told)
    assert told["workspace"] == {
        "current_dir": str(project),
        "project_dir": str(project),
        "added_dirs": [str(tmp_path)],
        "repo": {"host": "forge.example", "owner": "ada", "name": "engine"},
    }
    assert told["model"]["display_name"] == "Sonnet 5.5" and told["model"]["id"].endswith("sonnet-5-5")
    window = told["context_window"]
    assert window["current_usage"] == {
        "input_tokens": 30,
        "output_tokens": 5,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 1000,
    }
    assert (window["total_input_tokens"], window["total_output_tokens"]) == (1030, 5)
    assert window["used_percentage"] + window["remaining_percentage"] == 100
    assert told["cost"]["total_cost_usd"] > 0 and told["cost"]["total_lines_removed"] == 0
    assert told["cost"]["total_api_duration_ms"] <= told["cost"]["total_duration_ms"]
    assert told["transcript_path"].endswith(f"{_SESSION}.jsonl") and len(told["prompt_id"]) == 36
    assert {
        name: told[name]
        for name in (
            "session_id", "cwd", "version", "output_style", "exceeds_200k_tokens", "fast_mode", "thinking",
            "effort", "vim",
        )
    } == {
        "session_id": _SESSION,
        "cwd": str(project),
        "version": COMPATIBLE_WITH,
        "output_style": {"name": "default"},
        "exceeds_200k_tokens": False,
        "fast_mode": False,
        "thinking": {"enabled": True},
        "effort": {"level": "high"},
        "vim": {"mode": "INSERT"},
    }  # fmt: skip


async def test_the_users_command_writes_the_rows_of_agents(tmp_path: Path):
    (tmp_path / "rows.py").write_text(_ROWS)
    command = f"{sys.executable} {tmp_path / 'rows.py'}"
    settings = {
        "permissions": {"allow": ["Bash"]},
        "subagentStatusLine": {"type": "command", "command": command},
    }
    async with bridle(tmp_path, _digging(), settings=settings, size=(100, 40)) as terminal:
        await terminal.ready()
        await terminal.say("hand it over")
        await terminal.until_text("└─ general-purpose of 100 digs")
        await terminal.until(
            lambda screen: "Bash until" in screen.text and not any("─ dig" in row for row in screen.rows)
        )
        assert terminal.emulator.text.count("─ general-purpose") == 1
        (terminal.program.project / "go").touch()
        await terminal.until(lambda screen: "└─" not in screen.text)


async def test_a_plugin_writes_the_rows_of_agents_where_the_user_does_not(tmp_path: Path):
    plugin = tmp_path / "digger"
    (plugin / ".claude-plugin").mkdir(parents=True)
    (plugin / ".claude-plugin" / "plugin.json").write_text(json.dumps({"name": "digger"}))
    (plugin / "rows.py").write_text(_ROWS)
    command = f'{sys.executable} "$CLAUDE_PLUGIN_ROOT/rows.py"'
    rows = {"subagentStatusLine": {"type": "command", "command": command}}
    (plugin / "settings.json").write_text(json.dumps(rows))
    settings = {"permissions": {"allow": ["Bash"]}}
    flags = ("--plugin-dir", str(plugin))
    async with bridle(tmp_path, _digging(), *flags, settings=settings, size=(100, 40)) as terminal:
        await terminal.ready()
        await terminal.say("hand it over")
        await terminal.until_text("└─ general-purpose of 100 digs")
        (terminal.program.project / "go").touch()
        await terminal.until(lambda screen: "└─" not in screen.text)


async def test_commands_that_write_rows_are_off_where_hooks_are(tmp_path: Path):
    command = {"type": "command", "command": "touch told; echo told"}
    settings = {"statusLine": command, "disableAllHooks": True}
    async with bridle(tmp_path, [step("Hi.")], settings=settings) as terminal:
        await terminal.ready()
        await terminal.say("hello")
        await terminal.until_text("Hi.")
        # Longer than such a command is waited with.
        await terminal.say("!sleep 1 && echo $((40 + 2))")
        await terminal.until_text("42")
        assert not (terminal.program.project / "told").exists()


async def test_a_row_command_that_never_stops_printing_costs_no_memory():
    said = await ask_for_rows("yes", {}, env={"PATH": os.environ["PATH"]}, cwd="/")
    assert set(said) == {"y", "\n"} and len(said) <= 16_000


async def test_what_a_row_command_leaves_behind_is_ended(tmp_path: Path):
    command = "sleep 60 & echo $! > left; echo said"
    said = await ask_for_rows(command, {}, env={"PATH": os.environ["PATH"]}, cwd=str(tmp_path))
    assert said == "said"
    left = int((tmp_path / "left").read_text())
    await eventually(lambda: not is_running(left))


@pytest.mark.parametrize(
    ("command", "cwd"), [("echo a\0b", "/"), ("echo a", "/nowhere-at-all")], ids=["null", "folder"]
)
async def test_a_row_command_that_cannot_be_started_says_why(command: str, cwd: str):
    with pytest.raises(RowCommandError):
        await ask_for_rows(command, {}, env={}, cwd=cwd)


async def test_a_folder_whose_name_is_no_text_can_be_told():
    said = await ask_for_rows("cat", {"cwd": "/\udc80"}, env={"PATH": os.environ["PATH"]}, cwd="/")
    assert said == '{"cwd":"/\ufffd"}'
