"""A feature that is one folder and one line of registration works in every kind of session."""

import asyncio
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from bridle.extensions.packages import approve, find_packages
from tests.fakes.messages_server import MessagesServer, Received, step
from tests.fakes.program import Program
from tests.frontends.tui.app.session import bridle

_SOURCE = Path(__file__).parent / "greeter" / "greeter.py"
_CALL = {"type": "tool_use", "id": "toolu_1", "name": "Greet", "input": {"name": "Ada"}}
_ALLOWED = ("--allowedTools", "Greet")
_WORD = {"bridleFeatures": {"greeter": {"word": "Ahoy"}}}
_IN_PROCESS = """
import asyncio
from bridle.sdk import Options, ResultMessage, query

async def main():
    settings = '{"bridleFeatures": {"greeter": {"word": "Ahoy"}}}'
    options = Options(cwd=".", allowed_tools=["Greet"], settings=settings)
    for prompt in ("greet Ada", "/greet Bob"):
        async for message in query(prompt=prompt, options=options):
            if isinstance(message, ResultMessage):
                print(message.result)

asyncio.run(main())
"""


def _register(folder: Path, home: Path, source: str | None = None) -> str:
    """Put the feature on the import path and let the user approve it; the folder for PYTHONPATH."""
    site = folder / "site"
    metadata = site / "greeter-1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: greeter\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[bridle.plugins]\ngreeter = greeter:contribution\n")
    if source is None:
        shutil.copy(_SOURCE, site / "greeter.py")
    else:
        (site / "greeter.py").write_text(source)
    env = {"HOME": str(home), "CLAUDE_CONFIG_DIR": str(home / ".claude")}
    sys.path.insert(0, str(site))
    try:
        (package,) = (each for each in find_packages(env, [str(site)]) if each.name == "greeter")
        approve(env, package)
    finally:
        sys.path.remove(str(site))
    return str(site)


def _program(folder: Path, url: str | None = None, source: str | None = None) -> Program:
    program = Program(folder, url)
    program.env["PYTHONPATH"] = _register(folder, program.home, source)
    return program


def _results(request: Received) -> list[str]:
    content = request.body["messages"][-1]["content"]
    return [str(block["content"]) for block in content if block["type"] == "tool_result"]


async def test_in_print_mode(tmp_path: Path):
    async with MessagesServer([step(_CALL), step("done")]) as server:
        program = _program(tmp_path, server.url)
        done = await program.run("-p", *_ALLOWED, "--settings", json.dumps(_WORD), "--", "greet Ada")
        said = await program.run("-p", "/greet Bob")
        first, second = server.requests
    assert (done.code, done.out) == (0, "done\n")
    assert "Greet people with Ahoy." in str(first.body["messages"])
    assert "Ahoy, Ada!" in _results(second)[0]
    assert said.out == "Hello, Bob!\n"


async def test_at_the_terminal(tmp_path: Path):
    site = _register(tmp_path, tmp_path / "home")
    async with bridle(
        tmp_path, [step(_CALL), step("all greeted")], *_ALLOWED, settings=_WORD, PYTHONPATH=site
    ) as terminal:
        await terminal.ready()
        await terminal.say("greet Ada")
        await terminal.until_text("all greeted")
        await terminal.say("/greet Bob")
        await terminal.until_text("Ahoy, Bob!")
        first, second = terminal.asked
    assert "Greet people with Ahoy." in str(first["messages"])
    assert "Ahoy, Ada!" in str(second["messages"][-1])


async def test_in_the_process_of_another_program(tmp_path: Path):
    async with MessagesServer([step(_CALL), step("done")]) as server:
        program = _program(tmp_path, server.url)
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", _IN_PROCESS, cwd=program.project, env=program.env,
            stdout=subprocess.PIPE, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        out, _ = await process.communicate()
        first, second = server.requests
    assert out.decode().splitlines() == ["done", "Ahoy, Bob!"]
    assert "Greet people with Ahoy." in str(first.body["messages"])
    assert "Ahoy, Ada!" in _results(second)[0]


async def test_in_agents(tmp_path: Path):
    work = {
        "description": "greet",
        "prompt": "Greet Ada.",
        "subagent_type": "general-purpose",
        "run_in_background": False,
    }
    task = {"type": "tool_use", "id": "toolu_0", "name": "Agent", "input": work}
    script = [step(task), step(_CALL), step("greeted"), step("done")]
    async with MessagesServer(script) as server:
        done = await _program(tmp_path, server.url).run("-p", *_ALLOWED, "--", "let someone greet Ada")
        _, agent, after, *_ = server.requests
    assert (done.code, done.out) == (0, "done\n")
    assert "Greet" in [each["name"] for each in agent.body["tools"]]
    assert "Greet people with Hello." in str(agent.body["messages"])
    assert "Hello, Ada!" in _results(after)[0]


async def test_its_setting_is_a_row_that_is_explained_checked_and_published(tmp_path: Path):
    program = _program(tmp_path)
    key = "bridleFeatures.greeter.word"
    explained = await program.run("config", "explain", key)
    assert "Hello" in explained.out and "default" in explained.out
    refused = await program.run("config", "set", key, "5")
    assert refused.code != 0 and key in refused.err
    assert (await program.run("config", "set", key, "Ahoy")).code == 0
    assert (await program.run("config", "get", key)).out == '"Ahoy"\n'
    schema: Any = json.loads((await program.run("config", "schema")).out)
    row = schema["properties"]["bridleFeatures"]["properties"]["greeter"]["properties"]["word"]
    assert row == {"type": "string", "description": "The word to greet with", "default": "Hello"}
    (program.home / ".claude" / "settings.json").write_text('{"bridleFeatures": {"greeter": {"word": 5}}}')
    checked = await program.run("config", "check")
    assert checked.code == 1 and key in checked.out + checked.err


async def test_a_value_that_cannot_be_used_is_warned_of_and_the_default_counts(tmp_path: Path):
    program = _program(tmp_path)
    said = await program.run("-p", "/greet Bob", "--settings", '{"bridleFeatures": {"greeter": {"word": 5}}}')
    assert said.out == "Hello, Bob!\n"
    assert "ignored bridleFeatures.greeter.word" in said.err


async def test_no_project_sets_it(tmp_path: Path):
    program = _program(tmp_path)
    (program.project / ".claude").mkdir(exist_ok=True)
    (program.project / ".claude" / "settings.json").write_text(json.dumps(_WORD))
    said = await program.run("-p", "/greet Bob", BRIDLE_TRUST_FOLDER=str(program.project))
    assert said.out == "Hello, Bob!\n"


async def test_a_repository_registers_nothing(tmp_path: Path):
    async with MessagesServer([step("ok")]) as server:
        program = Program(tmp_path, server.url)
        site = program.project
        metadata = site / "greeter-1.0.dist-info"
        metadata.mkdir()
        (metadata / "entry_points.txt").write_text("[bridle.plugins]\ngreeter = greeter:contribution\n")
        shutil.copy(_SOURCE, site / "greeter.py")
        done = await program.run("-p", "hi", PYTHONPATH=str(site), BRIDLE_TRUST_FOLDER=str(site))
        (request,) = server.requests
    assert done.code == 0
    assert "Greet" not in [each["name"] for each in request.body["tools"]]
    assert "Greet people" not in str(request.body["messages"])


async def test_a_moment_that_fails_is_warned_of_once_and_the_session_continues(tmp_path: Path):
    broken = _SOURCE.read_text().replace(
        'return f"Greet people', 'raise RuntimeError("lost") or f"Greet people'
    )
    async with MessagesServer([step(_CALL), step("done")]) as server:
        done = await _program(tmp_path, server.url, broken).run("-p", *_ALLOWED, "--", "greet Ada")
        _, second = server.requests
    assert (done.code, done.out) == (0, "done\n")
    assert "Hello, Ada!" in _results(second)[0]
    assert done.err.count("The feature greeter failed (reminder): RuntimeError: lost") == 1


async def test_tools_that_services_would_refuse_are_left_out(tmp_path: Path):
    """One has the name of a tool of bridle, the other one that no service takes."""
    own = _SOURCE.read_text()
    more = own.replace(
        "self._tools = (self._tool(),)",
        "self._tools = (self._tool(), replace(self._tool(), name='Read'), replace(self._tool(), name='a b'))",
    ).replace("from msgspec import Struct", "from msgspec import Struct\nfrom msgspec.structs import replace")
    async with MessagesServer([step(_CALL), step("done")]) as server:
        done = await _program(tmp_path, server.url, more).run("-p", *_ALLOWED, "--", "greet Ada")
        first, _ = server.requests
    names = [each["name"] for each in first.body["tools"]]
    assert (done.code, done.out) == (0, "done\n")
    assert names.count("Read") == 1 and "Greet" in names and "a b" not in names
    assert "Skipped a tool of the feature greeter" in done.err
