import asyncio
import json
import shutil
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from bridle.config.options import SessionOptions
from bridle.session.parts.plugins import OpenPlugins
from bridle.session.prepare import set_up
from tests.fakes.messages_server import MessagesServer, step
from tests.fakes.plugins import FIXTURE, write_plugin
from tests.fakes.program import Program

GREETER = FIXTURE / "plugins" / "greeter"
ASK = ("-p", "--model", "offline", "--output-format", "stream-json", "--verbose")


@pytest.fixture
def program(tmp_path: Path) -> Program:
    return Program(tmp_path, BRIDLE_CREDENTIALS="file")


async def start(program: Program, *argv: str) -> Any:
    done = await program.run(*ASK, *argv, "hi")
    assert done.code == 0, done.err
    return next(frame for frame in done.frames if frame.get("subtype") == "init")


async def test_a_plugin_of_a_flag_takes_part_in_the_session(program: Program):
    init = await start(program, "--plugin-dir", str(GREETER))

    assert init["plugins"] == [
        {"name": "greeter", "path": str(GREETER), "source": "greeter@inline", "version": "1.2.0"}
    ]
    assert {"greeter:greet"} <= set(init["skills"])
    assert {"greeter:greet", "greeter:bye"} <= set(init["slash_commands"])
    assert "greeter:host" in init["agents"]
    assert [each["name"] for each in init["mcp_servers"]] == ["plugin:greeter:bell"]
    assert [each["type"] for each in init["plugin_errors"]] == ["lsp-config-invalid"]


async def test_hooks_of_a_plugin_run_with_its_folders_and_options(program: Program):
    await start(program, "--plugin-dir", str(GREETER))

    root, data, tone = (program.project / "greeted").read_text().strip().split("|")
    assert (root, tone) == (str(GREETER), "warm")
    assert data == str(program.home / ".claude" / "plugins" / "data" / "greeter-inline")


async def test_a_path_that_is_not_there_is_told_to_the_host_and_the_session_goes_on(program: Program):
    init = await start(program, "--plugin-dir", "/nowhere/plugin")

    (error,) = init["plugin_errors"]
    assert (error["plugin"], error["type"], error["path"]) == ("plugin", "path-not-found", "/nowhere/plugin")
    assert init["plugins"] == []


async def test_an_archive_may_be_a_plugin_for_a_session(program: Program, tmp_path: Path):
    archive = tmp_path / "g.zip"
    with zipfile.ZipFile(archive, "w") as out:
        for path in GREETER.rglob("*"):
            out.write(path, f"greeter/{path.relative_to(GREETER)}")

    init = await start(program, "--plugin-dir", str(archive))

    assert [each["name"] for each in init["plugins"]] == ["greeter"]


async def test_an_installed_plugin_takes_part_and_bare_mode_has_none(program: Program):
    await program.run("plugin", "marketplace", "add", str(FIXTURE))
    done = await program.run("plugin", "install", "greeter", "-y")
    assert done.code == 0, done.err

    init = await start(program)
    assert [each["source"] for each in init["plugins"]] == ["greeter@village"]
    bare = await start(program, "--bare")
    assert bare["plugins"] == []


async def test_a_strangers_folder_brings_no_plugins(program: Program, tmp_path: Path):
    """S40"""
    marker = tmp_path / "ran"
    market = tmp_path / "market"
    shutil.copytree(FIXTURE, market)
    hooks = {"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": f"touch {marker}"}]}]}}
    (market / "plugins" / "greeter" / "hooks" / "hooks.json").write_text(json.dumps(hooks))
    settings = {
        "extraKnownMarketplaces": {"village": {"source": {"source": "directory", "path": str(market)}}},
        "enabledPlugins": {"greeter@village": True},
    }
    place = program.project / ".claude"
    shutil.copytree(market / "plugins" / "greeter", place / "skills" / "greeter")
    (place / "settings.json").write_text(json.dumps(settings))

    init = await start(program)
    assert init["plugins"] == []
    assert not marker.exists()

    # Trust lets the folder speak; what is not installed is still not run.
    shutil.rmtree(place / "skills")
    await program.run("trust", "-y")
    init = await start(program)
    assert [each["type"] for each in init["plugin_errors"]] == ["plugin-not-found"]
    assert not marker.exists()


async def test_programs_of_plugins_come_last_on_the_path(program: Program):
    script = (
        "import os; from bridle.config.options import SessionOptions\n"
        "from bridle.session.prepare import set_up\n"
        "from bridle.session.parts.plugins import OpenPlugins\n"
        f"setup = set_up(SessionOptions(plugin_dir=({str(GREETER)!r},)), os.environ)\n"
        f"OpenPlugins(setup, [{str(GREETER)!r}], [])\n"
        "print(setup.env['PATH'])"
    )
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", script, cwd=program.project, env=program.env, stdout=asyncio.subprocess.PIPE
    )
    async with asyncio.timeout(50):
        out, _ = await process.communicate()
    assert out.decode().strip().endswith(f":{GREETER}/bin")


async def test_plugins_are_read_again_when_somebody_asks(program: Program):
    plugins = OpenPlugins(set_up(SessionOptions(), program.env, cwd=str(program.project)), (), ())
    assert plugins.listing() == [] and not plugins.has_hooks()
    await program.run("plugin", "marketplace", "add", str(FIXTURE))
    await program.run("plugin", "install", "greeter", "-y")

    said = await plugins.reload()

    assert said.startswith("1 plugins are on")
    assert [each["name"] for each in plugins.listing()] == ["greeter"]
    assert plugins.has_hooks() and len(plugins.hook_tables()) == 1
    assert [root.prefix for root in plugins.roots("skills")] == ["greeter"]


async def test_an_agent_of_a_plugin_can_be_the_main_one(program: Program):
    done = await program.run(*ASK, "--plugin-dir", str(GREETER), "--agent", "greeter:host", "hi")

    assert done.code == 0, done.err
    init = next(frame for frame in done.frames if frame.get("subtype") == "init")
    assert "Read" in init["tools"] and "Bash" not in init["tools"]


def _with_agent(folder: Path, name: str) -> Path:
    agent = f"---\nname: {name}\ndescription: Helps\n---\nYou are the {name} of this plugin."
    return write_plugin(
        folder, {"name": "crew"}, **{f"agents/{name}.md": agent, "settings.json": json.dumps({"agent": name})}
    )


async def test_a_plugin_may_make_the_session_one_of_its_agents(tmp_path: Path):
    plugin = _with_agent(tmp_path / "crew", "pilot")
    async with MessagesServer([step("ok"), step("ok")]) as server:
        program = Program(tmp_path, server.url)
        await program.run("-p", "hi", "--plugin-dir", str(plugin))
        (program.home / ".claude" / "settings.json").write_text('{"agent": "general-purpose"}')
        await program.run("-p", "hi", "--plugin-dir", str(plugin))
        first, second = (json.dumps(request.body["system"]) for request in server.requests)
    assert "You are the pilot of this plugin." in first
    assert "You are the pilot" not in second


def test_the_command_for_rows_of_agents_comes_with_the_folders_of_its_plugin(tmp_path: Path):
    line = {"type": "command", "command": "${CLAUDE_PLUGIN_ROOT}/rows"}
    text = json.dumps({"subagentStatusLine": line, "model": "other"})
    plugin = write_plugin(tmp_path / "crew", {"name": "crew"}, **{"settings.json": text})
    program = Program(tmp_path)
    setup = set_up(
        SessionOptions(print_mode=True, plugin_dir=(str(plugin),)), program.env, cwd=str(program.project)
    )
    rows = OpenPlugins(setup, [str(plugin)], []).agent_rows()
    assert rows is not None
    command, variables = rows
    assert (command, variables["CLAUDE_PLUGIN_ROOT"]) == ("${CLAUDE_PLUGIN_ROOT}/rows", str(plugin))
