"""Language servers of plugins in the real program."""

import json
import sys
from pathlib import Path
from typing import Any

from tests.fakes import language_server
from tests.fakes.host import FakeHost
from tests.fakes.messages_server import MessagesServer, step
from tests.fakes.plugins import write_plugin
from tests.fakes.processes import eventually, is_running
from tests.fakes.program import Program


def _plugin(folder: Path, log: Path) -> Path:
    entry = {
        "command": sys.executable,
        "args": [language_server.__file__, "good", str(log)],
        "extensionToLanguage": {".x": "xlang"},
        "initializationOptions": {"root": "${CLAUDE_PLUGIN_ROOT}"},
    }
    return write_plugin(folder, {"name": "plug"}, **{".lsp.json": json.dumps({"xls": entry})})


def _trust(program: Program) -> None:
    folder = program.home / ".claude"
    folder.mkdir(exist_ok=True)
    trust = {"projects": {str(program.project): {"hasTrustDialogAccepted": True}}}
    (folder / ".claude.json").write_text(json.dumps(trust))


def _use(number: int, name: str, **input: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": input}


async def test_the_tool_asks_the_server_of_a_plugin_which_ends_with_the_session(tmp_path: Path):
    log = tmp_path / "log"
    steps = [step(_use(1, "LSP", operation="hover", filePath="one.x", line=1, character=1)), step("done")]
    async with MessagesServer(steps) as server:
        program = Program(tmp_path, server.url)
        (program.project / "one.x").write_text("first\n")
        _trust(program)
        plugin = _plugin(tmp_path / "plug", log)
        done = await program.run("-p", "hi", "--plugin-dir", str(plugin))
    assert (done.code, done.out) == (0, "done\n")
    assert "f()" in server.requests[-1].raw.decode()
    sent = [json.loads(line) for line in log.read_text().splitlines()]
    assert sent[0]["params"]["initializationOptions"] == {"root": str(plugin)}
    assert sent[-1]["method"] == "exit"
    (pid,) = map(int, Path(f"{log}.starts").read_text().split())
    assert not is_running(pid)


async def test_in_a_folder_that_is_not_trusted_there_is_no_server_and_no_tool(tmp_path: Path):
    log = tmp_path / "log"
    steps = [step(_use(1, "Write", file_path="one.x", content="bad\n")), step("done")]
    async with MessagesServer(steps) as server:
        program = Program(tmp_path, server.url)
        plugin = _plugin(tmp_path / "plug", log)
        flags = ("--plugin-dir", str(plugin), "--allowedTools", "Write", "--output-format", "stream-json")
        done = await program.run("-p", "hi", *flags, "--verbose")
    init = next(frame for frame in done.frames if frame.get("subtype") == "init")
    assert done.code == 0 and "LSP" not in init["tools"]
    assert (program.project / "one.x").exists() and not Path(f"{log}.starts").exists()


async def test_what_an_edit_breaks_is_told_to_the_model_once(tmp_path: Path):
    log = tmp_path / "log"
    steps = [
        step(_use(1, "Write", file_path="one.x", content="fine\nbad line\n")),
        step("written"),
        step("seen"),
        step("nothing new"),
    ]
    async with MessagesServer(steps) as server:
        program = Program(tmp_path, server.url)
        _trust(program)
        plugin = _plugin(tmp_path / "plug", log)
        async with FakeHost(
            program, "-p", "--plugin-dir", str(plugin), "--permission-mode", "acceptEdits"
        ) as host:
            host.prompt("write it")
            await host.result()
            await eventually(lambda: log.exists() and "didSave" in log.read_text())
            host.prompt("and now")
            await host.result()
            host.prompt("once more")
            await host.result()
            assert (await host.close())[0] == 0
    bodies = [each.raw.decode() for each in server.requests]
    told = "line 2: error: wrong: bad line"
    assert told in bodies[-1] and bodies[-1].count(told) == 1


async def test_a_server_that_a_plugin_has_got_is_there_after_a_reload(tmp_path: Path):
    log = tmp_path / "log"
    look = _use(1, "LSP", operation="hover", filePath="one.x", line=1, character=1)
    async with MessagesServer([step(look), step("not yet"), step(look), step("done")]) as server:
        program = Program(tmp_path, server.url)
        (program.project / "one.x").write_text("first\n")
        _trust(program)
        plugin = write_plugin(tmp_path / "plug", {"name": "plug"}, **{".lsp.json": "{}"})
        async with FakeHost(program, "-p", "--plugin-dir", str(plugin)) as host:
            host.prompt("look")
            await host.result()
            _plugin(tmp_path / "plug", log)
            assert (await host.request("reload_plugins"))["subtype"] == "success"
            host.prompt("look again")
            await host.result()
            assert (await host.close())[0] == 0
    assert "f()" not in server.requests[1].raw.decode()
    assert "f()" in server.requests[-1].raw.decode()


async def test_a_server_does_not_outlive_a_session_that_is_killed(tmp_path: Path):
    log = tmp_path / "log"
    steps = [step(_use(1, "LSP", operation="hover", filePath="one.x")), step("done")]
    async with MessagesServer(steps) as server:
        program = Program(tmp_path, server.url)
        (program.project / "one.x").write_text("first\n")
        _trust(program)
        async with FakeHost(program, "-p", "--plugin-dir", str(_plugin(tmp_path / "plug", log))) as host:
            host.prompt("look")
            await host.result()
            (pid,) = map(int, Path(f"{log}.starts").read_text().split())
            assert is_running(pid)
            host.process.kill()
            await eventually(lambda: not is_running(pid))
