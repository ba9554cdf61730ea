"""The link of the extension for VS Code, in Node, with a real bridle at the other end; VS Code is fake."""

import asyncio
import json
import os
import shutil
import stat
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import InvalidStatus

from tests.fakes.host import FakeHost
from tests.fakes.messages_server import MessagesServer, step
from tests.fakes.program import Program

_BUILT = os.environ.get("BRIDLE_VSCODE", "")
_LIMIT = 60

pytestmark = pytest.mark.skipif(
    not shutil.which("node") or not os.path.exists(os.path.join(_BUILT, "out", "link.js")),
    reason="needs node and the extension for VS Code, which make test builds where npm is",
)


class VsCode:
    """The link's process, and what its fake editor says and is told."""

    def __init__(self, process: asyncio.subprocess.Process, home: Path) -> None:
        self._process = process
        self._home = home
        self.port = 0

    @property
    def lock(self) -> Path:
        return self._home / ".claude" / "ide" / f"{self.port}.lock"

    @property
    def token(self) -> str:
        return json.loads(self.lock.read_bytes())["authToken"]

    async def event(self) -> Mapping[str, Any]:
        assert self._process.stdout is not None
        return json.loads(await self._process.stdout.readline())

    def do(self, command: str, **arguments: Any) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"do": command, **arguments}).encode() + b"\n")

    def answer(self, tab: str, kind: str, **more: str) -> None:
        self.do("answer", tab=tab, verdict={"kind": kind, **more})


@asynccontextmanager
async def _vscode(program: Program) -> AsyncGenerator[VsCode]:
    script = str(Path(__file__).parent / "vscode_link.cjs")
    env = {**os.environ, "HOME": str(program.home)}
    env.pop("CLAUDE_CONFIG_DIR", None)
    process = await asyncio.create_subprocess_exec(
        "node", script, _BUILT, str(program.project), env=env,
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    editor = VsCode(process, program.home)
    try:
        async with asyncio.timeout(_LIMIT):
            editor.port = (await editor.event())["port"]
            yield editor
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


def _selected(path: Path, text: str) -> Mapping[str, Any]:
    end = {"line": 2, "character": len(text)}
    return {"path": str(path), "text": text, "start": {"line": 2, "character": 0}, "end": end}


def _call(name: str, number: int, **input: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": input}


async def test_bridle_finds_the_extension_and_the_selection_goes_with_the_prompt(tmp_path: Path):
    async with MessagesServer([step("ok")]) as server:
        program = Program(tmp_path, server.url)
        async with _vscode(program) as editor:
            editor.do("select", to=_selected(program.project / "a.py", "x = 1"))
            done = await program.run("-p", "what is this?", "--ide")
        assert (done.code, done.out, done.err) == (0, "ok\n", "")
        sent = json.dumps(server.requests[0].body)
        assert "In Visual Studio Code the user has selected line 3 of" in sent and "x = 1" in sent
        assert "mcp__ide__getDiagnostics" in sent and "mcp__ide__openDiff" not in sent


@pytest.mark.parametrize(
    ("verdict", "held", "told"),
    [
        ({"kind": "saved", "text": "one\n2\n"}, "one\n2\n", "Changed a.py."),
        ({"kind": "saved", "text": "one\nTWO\n"}, "one\nTWO\n", "edited this change in Visual Studio Code"),
        ({"kind": "rejected"}, "one\ntwo\n", "rejected this change in Visual Studio Code"),
    ],
)
async def test_change_opens_as_a_diff_and_the_answer_there_counts(
    tmp_path: Path, verdict: Mapping[str, str], held: str, told: str
):
    edit = _call("Edit", 2, file_path="a.py", old_string="two", new_string="2")
    script = [step(_call("Read", 1, file_path="a.py")), step(edit), step("Done."), step("Next.")]
    async with MessagesServer(script) as server:
        program = Program(tmp_path, server.url)
        file = program.project / "a.py"
        file.write_text("one\ntwo\n")
        flags = ("--permission-prompt-tool", "stdio", "--ide")
        async with _vscode(program) as editor, FakeHost(program, *flags) as host:
            host.prompt("go")
            await host.asked()
            shown = await editor.event()
            assert (shown["event"], shown["path"], shown["contents"]) == ("diff", str(file), "one\n2\n")
            editor.answer(shown["tab"], **verdict)
            await host.result()
            host.prompt("and now?")
            await host.result()
            await host.close()
        assert file.read_text() == held
        assert told in json.dumps(server.requests[-1].body["messages"])


async def test_answer_in_the_terminal_closes_the_diff(tmp_path: Path):
    write = _call("Write", 1, file_path="a.py", content="x\n")
    async with MessagesServer([step(write), step("Done.")]) as server:
        program = Program(tmp_path, server.url)
        flags = ("--permission-prompt-tool", "stdio", "--ide")
        async with _vscode(program) as editor, FakeHost(program, *flags) as host:
            host.prompt("go")
            asked = await host.asked()
            shown = await editor.event()
            host.answer(asked, {"behavior": "allow", "updatedInput": asked["request"]["input"]})
            assert await editor.event() == {"event": "closed", "tab": shown["tab"]}
            await host.result()
            await host.close()
        assert (program.project / "a.py").read_text() == "x\n"


async def test_lock_is_private_and_goes_with_the_link(tmp_path: Path):
    program = Program(tmp_path)
    async with _vscode(program) as editor:
        status = editor.lock.lstat()
        assert stat.S_IMODE(status.st_mode) == 0o600
        assert stat.S_IMODE(editor.lock.parent.stat().st_mode) == 0o700
        assert [each.name for each in editor.lock.parent.iterdir()] == [editor.lock.name]
        assert len(editor.token) == 64
        with pytest.raises(OSError):
            await asyncio.open_connection("127.0.0.2", editor.port)
        editor.do("stop")
        assert await editor.event() == {"event": "stopped"}
        assert not editor.lock.exists()


def _connect(editor: VsCode, **headers: str) -> connect:
    named = {"X-Claude-Code-Ide-Authorization": headers.pop("token", editor.token), **headers}
    return connect(f"ws://127.0.0.1:{editor.port}", additional_headers=named, proxy=None)


async def test_only_the_token_lets_in_and_no_page_of_a_browser(tmp_path: Path):
    async with _vscode(Program(tmp_path)) as editor:
        for headers, status in (
            ({"token": "0" * 64}, 401),
            ({"token": ""}, 401),
            ({"token": "x" * 5_000}, 401),
            ({"Origin": "http://127.0.0.1"}, 403),
        ):
            with pytest.raises(InvalidStatus) as refused:
                await _connect(editor, **headers)
            assert refused.value.response.status_code == status


async def _ask(socket: ClientConnection, tool: str, **arguments: Any) -> Mapping[str, Any]:
    params = {"name": tool, "arguments": arguments}
    await socket.send(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}))
    return json.loads(await socket.recv())["result"]


async def test_no_file_outside_the_workspace_is_shown_without_the_user(tmp_path: Path):
    program = Program(tmp_path)
    outside = tmp_path / "secret.txt"
    outside.write_text("secret")
    (program.project / "link.txt").symlink_to(outside)
    (program.project / "dangling").symlink_to(tmp_path / "missing")
    (program.project / "up").symlink_to(tmp_path)
    project = str(program.project)
    hidden = [
        str(outside), f"{project}/../secret.txt", f"{project}/link.txt", f"{project}/dangling",
        f"{project}/up/secret.txt", f"{project}/up/new.txt", f"{project}x/a.py",
    ]  # fmt: skip
    async with _vscode(program) as editor, _connect(editor) as socket:
        for path in hidden:
            diff = {"old_file_path": path, "new_file_path": path, "new_file_contents": "x", "tab_name": "t"}
            for tool, arguments in (("openFile", {"filePath": path}), ("openDiff", diff)):
                answer = await _ask(socket, tool, **arguments)
                assert answer["isError"] and "outside" in answer["content"][0]["text"], (tool, path)
                assert await editor.event() == {"event": "outside", "path": os.path.normpath(path)}
        assert (await _ask(socket, "saveDocument", filePath=str(outside)))["isError"]
        for path in ("a.py", "", "https://example.com/a", "file://host/share", f"{project}/a\0b"):
            assert (await _ask(socket, "openFile", filePath=path))["isError"], path
        await _ask(socket, "openFile", filePath=f"{project}/new/a.py")
        assert (await editor.event())["path"] == f"{project}/new/a.py"


async def test_problems_are_told_for_the_workspace_alone_and_news_of_them_at_once(tmp_path: Path):
    program = Program(tmp_path)
    inside, outside = program.project / "a b.py", tmp_path / "other.py"
    problem = {"message": "bad", "severity": "Error", "range": {"start": {"line": 0, "character": 0}}}
    found = [{"path": str(each), "problems": [problem]} for each in (inside, outside)]
    async with _vscode(program) as editor, _connect(editor) as socket:
        editor.do("problems", found=found, uris=[inside.as_uri()])
        news = json.loads(await socket.recv())
        assert (news["method"], news["params"]) == ("diagnostics_changed", {"uris": [inside.as_uri()]})
        told = json.loads((await _ask(socket, "getDiagnostics"))["content"][0]["text"])
        assert told == [{"uri": inside.as_uri(), "diagnostics": [problem]}]
        told = json.loads((await _ask(socket, "getDiagnostics", uri=outside.as_uri()))["content"][0]["text"])
        assert told == [{"uri": outside.as_uri(), "diagnostics": []}]
        editor.do("mention", path=str(inside), lines={"first": 2, "last": 8})
        news = json.loads(await socket.recv())
        assert news["params"] == {"filePath": str(inside), "lineStart": 2, "lineEnd": 8}


async def test_broken_messages_are_answered_and_end_nothing(tmp_path: Path):
    broken = (
        "", "{", "[]", "null", "1", '"x"', "[" * 20_000, '{"id": 1}', '{"id": {}, "method": "ping"}',
        '{"id": 1, "method": "nothing"}', '{"id": 1, "method": "tools/call"}',
        '{"id": 1, "method": "tools/call", "params": {"name": "openDiff", "arguments": {"tab_name": 1}}}',
        '{"id": 1, "method": "tools/call", "params": {"name": "constructor", "arguments": []}}',
    )  # fmt: skip
    async with _vscode(Program(tmp_path)) as editor, _connect(editor) as socket:
        for text in broken:
            await socket.send(text)
            answer = json.loads(await socket.recv())
            assert "error" in answer or answer["result"]["isError"], text
        await socket.send('{"jsonrpc": "2.0", "id": 7, "method": "ping"}')
        assert json.loads(await socket.recv()) == {"jsonrpc": "2.0", "id": 7, "result": {}}


async def test_session_that_ends_takes_its_diffs_along(tmp_path: Path):
    program = Program(tmp_path)
    diff = {"new_file_path": str(program.project / "a.py"), "new_file_contents": "x", "tab_name": "t"}
    async with _vscode(program) as editor:
        async with _connect(editor) as socket:
            params = {"name": "openDiff", "arguments": diff}
            await socket.send(json.dumps({"id": 1, "method": "tools/call", "params": params}))
            assert (await editor.event())["event"] == "diff"
        assert await editor.event() == {"event": "closed", "tab": "t"}
