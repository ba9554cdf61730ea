import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.editor import FakeEditor, problem, selected
from tests.fakes.host import FakeHost
from tests.fakes.messages_server import MessagesServer, step
from tests.fakes.processes import eventually
from tests.fakes.program import Program


def _call(name: str, number: int = 1, **input: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": input}


def _editor(program: Program) -> FakeEditor:
    return FakeEditor(program.home / ".claude", program.project)


async def test_flag_links_print_mode_and_the_selection_goes_with_the_prompt(tmp_path: Path):
    async with MessagesServer([step("ok")]) as server:
        program = Program(tmp_path, server.url)
        async with _editor(program) as editor:
            editor.selection = selected(program.project / "a.py", "x = 1", first=2, last=2)
            done = await program.run("-p", "what is this?", "--ide")
        assert (done.code, done.out, done.err) == (0, "ok\n", "")
        sent = json.dumps(server.requests[0].body["messages"])
        assert "line 3 of" in sent and "x = 1" in sent
        assert "mcp__ide__getDiagnostics" in json.dumps(server.requests[0].body)
        assert "openDiff" not in json.dumps(server.requests[0].body)


async def test_print_mode_leaves_editors_alone(tmp_path: Path):
    async with MessagesServer([step("ok")]) as server:
        program = Program(tmp_path, server.url, TERM_PROGRAM="vscode", CLAUDE_CODE_AUTO_CONNECT_IDE="1")
        async with _editor(program) as editor:
            done = await program.run("-p", "hi")
            assert (done.code, editor.heard) == (0, [])


async def test_flag_without_an_editor_says_so_and_goes_on(tmp_path: Path):
    async with MessagesServer([step("ok")]) as server:
        program = Program(tmp_path, server.url)
        done = await program.run("-p", "hi", "--ide")
        assert (done.code, done.out) == (0, "ok\n") and done.err.count("--ide:") == 1


async def test_editors_are_listed_without_a_model(tmp_path: Path):
    async with MessagesServer([]) as server:
        program = Program(tmp_path, server.url)
        assert "No editor" in (await program.run("-p", "/ide")).out
        async with _editor(program) as editor:
            listed = await program.run("-p", "/ide")
            assert f"Neovim ({editor.port}): in {program.project}" in listed.out
            refused = await program.run("-p", "/ide Neovim")
            assert "--ide" in refused.out + refused.err
            linked = await program.run("-p", "/ide Neovim", "--ide")
            assert "Connected to Neovim" in linked.out


async def test_host_links_to_an_editor_by_a_command_and_a_change_is_asked_in_both(tmp_path: Path):
    edit = _call("Edit", 2, file_path="a.py", old_string="two", new_string="2")
    script = [step(_call("Read", file_path="a.py")), step(edit), step("Done.")]
    async with MessagesServer(script) as server:
        program = Program(tmp_path, server.url)
        (program.project / "a.py").write_text("one\ntwo\n")
        flags = ("--permission-prompt-tool", "stdio")
        async with _editor(program) as editor, FakeHost(program, *flags) as host:
            host.prompt("/ide neovim")
            await host.result()
            host.prompt("go")
            asked = await host.asked()
            assert asked["request"]["tool_name"] == "Edit"
            await eventually(lambda: editor.called("openDiff"))
            editor.answer("FILE_SAVED", "one\nTWO\n")
            await host.result()
            await host.close()
        assert (program.project / "a.py").read_text() == "one\nTWO\n"
        result = json.dumps(server.requests[-1].body["messages"][-1])
        assert "+TWO" in result and "Neovim" in result
        assert any(frame["type"] == "control_cancel_request" for frame in host.frames)


async def test_editor_answers_a_question_and_skips_no_denial(tmp_path: Path):
    write = _call("Write", file_path="a.py", content="x\n")
    async with MessagesServer([step(write), step("Done.")]) as server:
        program = Program(tmp_path, server.url)
        async with _editor(program) as editor:
            flags = ("--permission-prompt-tool", "stdio", "--disallowedTools", "Edit(a.py)", "--ide")
            async with FakeHost(program, *flags) as host:
                host.prompt("go")
                await host.result()
                await host.close()
            assert editor.called("openDiff") == [] and not (program.project / "a.py").exists()


async def test_new_problems_in_a_file_that_was_changed_reach_the_model(tmp_path: Path):
    async with MessagesServer() as server:
        program = Program(tmp_path, server.url)
        path = program.project / "a.py"
        async with _editor(program) as editor:
            uri = f"file://{path}"
            editor.diagnostics[uri] = [problem("old trouble")]

            os.mkfifo(program.project / "gate")

            def broken(_: Any) -> Any:
                editor.diagnostics[uri] = [problem("old trouble"), problem("new trouble", line=4)]
                editor.calls.clear()
                return step(_call("Bash", 2, command="cat gate"))

            async def open_gate() -> None:
                # By the second question the first is answered and heard.
                await eventually(
                    lambda: len(server.requests) == 2 and len(editor.called("getDiagnostics")) > 1
                )
                await asyncio.to_thread((program.project / "gate").write_text, "open")

            server.script([step(_call("Write", file_path="a.py", content="x\n")), broken, step("Done.")])
            opening = asyncio.create_task(open_gate())
            done = await program.run("-p", "go", "--ide", "--allowedTools", "Write,Bash(cat:*)")
            await opening
        assert done.code == 0
        first, second, third = (json.dumps(request.body["messages"]) for request in server.requests)
        assert "trouble" not in first and "trouble" not in second
        assert "line 5: error: new trouble (checker)" in third and "old trouble" not in third


@pytest.mark.parametrize("tool", ["mcp__ide__getDiagnostics", "mcp__ide__executeCode"])
async def test_code_is_run_only_when_somebody_agrees_and_problems_are_free_to_see(tmp_path: Path, tool: str):
    async with MessagesServer([step(_call(tool)), step("Done.")]) as server:
        program = Program(tmp_path, server.url)
        async with _editor(program) as editor:
            editor.diagnostics = {
                f"file://{program.project}/a.py": [problem("in a")],
                f"file://{program.project}/.env": [problem("in env")],
            }
            done = await program.run("-p", "go", "--ide", "--disallowedTools", "Read(.env)")
            name = tool.removeprefix("mcp__ide__")
            assert done.code == 0 and len(editor.called(name)) == (name == "getDiagnostics")
        result = json.dumps(server.requests[-1].body["messages"])
        if tool == "mcp__ide__getDiagnostics":
            assert "in a" in result and "in env" not in result
        else:
            assert "executeCode done" not in result


async def test_editor_that_takes_calls_and_never_answers_holds_nothing_up(tmp_path: Path):
    async with MessagesServer(
        [step(_call("Write", file_path="a.py", content="x\n")), step("Done.")]
    ) as server:
        program = Program(tmp_path, server.url)
        async with _editor(program) as editor:
            editor.is_slow = True
            async with asyncio.timeout(50):
                done = await program.run("-p", "go", "--ide", "--allowedTools", "Write")
        assert (done.code, done.out) == (0, "Done.\n") and (program.project / "a.py").exists()
