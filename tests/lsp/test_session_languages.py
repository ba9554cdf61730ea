"""Language servers of a session, and how their faults end."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from bridle.features.language_servers.session import LanguageContext, SessionLanguages
from bridle.types.errors import ToolError
from bridle.types.services.language_servers import Finding, Inquiry, Operation
from tests.fakes import language_server
from tests.fakes.processes import eventually, is_running


class Conversation:
    """Somebody who changes files."""


class Scene:
    """One fake server for files that end with .x."""

    def __init__(self, folder: Path, kind: str, **entry: Any) -> None:
        self.folder = folder
        self.file = folder / "one.x"
        self.file.write_text("first\nsecond\n")
        self.log = folder / "log"
        self.told: list[str] = []
        self.program: dict[str, Any] = {
            "command": sys.executable,
            "args": [language_server.__file__, kind, str(self.log)],
            "extensionToLanguage": {".x": "xlang"},
            "startupTimeout": 5000,
            "shutdownTimeout": 1000,
            **entry,
        }
        context = LanguageContext(root=lambda: str(folder), env=dict(os.environ), tell=self.told.append)
        self.languages = SessionLanguages({"fake": self.program}, context)

    async def ask(self, operation: Operation = "hover", **fields: Any) -> Finding:
        wanted: dict[str, Any] = {"path": str(self.file), "line": 1, "character": 1, **fields}
        return await self.languages.ask(
            Inquiry(operation=operation, **wanted), hides=lambda path: path.startswith("/secret")
        )

    def heard(self, method: str) -> list[Any]:
        """The params of every message of a kind that the server got."""
        rows = [json.loads(line) for line in self.log.read_text().splitlines()] if self.log.exists() else []
        return [row.get("params") for row in rows if row.get("method") == method]

    def starts(self) -> list[int]:
        return [int(line) for line in Path(f"{self.log}.starts").read_text().split()]


@asynccontextmanager
async def _scene(folder: Path, kind: str = "good", **entry: Any) -> AsyncGenerator[Scene]:
    scene = Scene(folder, kind, **entry)
    try:
        yield scene
    finally:
        async with asyncio.timeout(50):
            await scene.languages.close()


async def test_nothing_starts_before_somebody_asks(tmp_path: Path):
    async with _scene(tmp_path) as scene:
        assert scene.languages.news(Conversation()) is None
    assert not Path(f"{scene.log}.starts").exists()


async def test_each_question_gets_its_answer_in_words(tmp_path: Path):
    async with _scene(tmp_path) as scene:
        assert (await scene.ask("hover")).text == "```x\nf()\n```\n\nsaid"
        assert (await scene.ask("goToDefinition")).text == "one.x:\n  1: first"
        assert (
            await scene.ask("documentSymbol")
        ).text == "one.x:\nfunction f (line 1)\n  variable inner (line 1)"
        assert (await scene.ask("workspaceSymbol", query="g")).text == "/w.x:\n  1: class g"
        assert (await scene.ask("goToImplementation")).text == "No results."
        assert (await scene.ask("prepareCallHierarchy")).text == "one.x:\n  1: function f"
        assert (await scene.ask("incomingCalls")).text == "/c.x:\n  1: function caller"
        assert (await scene.ask("outgoingCalls")).text == "No results."
        assert len(scene.starts()) == 1
        assert scene.heard("workspace/symbol") == [{"query": "g"}]


async def test_files_of_a_work_tree_have_a_server_of_their_own(tmp_path: Path):
    tree = tmp_path / ".claude" / "worktrees" / "side"
    tree.mkdir(parents=True)
    (tree / "two.x").write_text("there\n")
    async with _scene(tmp_path) as scene:
        await scene.ask()
        found = await scene.ask("goToDefinition", path=str(tree / "two.x"))
        roots = [each["rootPath"] for each in scene.heard("initialize")]
    assert found.text == "two.x:\n  1: there" and roots == [str(tmp_path), str(tree)]


async def test_what_lies_in_hidden_files_is_left_out(tmp_path: Path):
    async with _scene(tmp_path) as scene:
        found = await scene.ask("findReferences")
    assert (found.text, found.results, found.files) == ("one.x:\n  1: first", 1, 1)


async def test_many_results_are_cut(tmp_path: Path):
    async with _scene(tmp_path, "many") as scene:
        found = await scene.ask("findReferences")
    assert found.results == 5_000 and "4800 more are not shown" in found.text
    assert len(found.text) < 21_000


async def test_the_server_sees_files_as_they_are_on_disk(tmp_path: Path):
    async with _scene(tmp_path) as scene:
        await scene.ask()
        scene.file.write_text("changed\n")
        os.utime(scene.file, ns=(1, 1))
        assert (await scene.ask("goToDefinition")).text == "one.x:\n  1: changed"
        (opened,), (changed,) = scene.heard("textDocument/didOpen"), scene.heard("textDocument/didChange")
    assert opened["textDocument"]["languageId"] == "xlang"
    assert opened["textDocument"]["text"] == "first\nsecond\n"
    assert changed["contentChanges"] == [{"text": "changed\n"}] and changed["textDocument"]["version"] == 2


async def test_columns_are_counted_as_the_server_does(tmp_path: Path):
    async with _scene(tmp_path) as scene:
        scene.file.write_text("😀é = 1\n")
        await scene.ask("hover", character=3)
        (asked,) = scene.heard("textDocument/hover")
    assert asked["position"] == {"line": 0, "character": 3}


async def test_settings_and_options_reach_the_server(tmp_path: Path):
    options: dict[str, Any] = {"settings": {"a": {"b": 5}}, "initializationOptions": {"fast": True}}
    async with _scene(tmp_path, **options) as scene:
        await scene.ask()
        (introduced,) = scene.heard("initialize")
        (configured,) = scene.heard("workspace/didChangeConfiguration")
        await eventually(lambda: '"ask-2"' in scene.log.read_text())
        rows = [json.loads(line) for line in scene.log.read_text().splitlines()]
    assert introduced["initializationOptions"] == {"fast": True}
    assert introduced["rootUri"] == f"file://{tmp_path}"
    assert configured == {"settings": {"a": {"b": 5}}}
    answers = {row["id"]: row for row in rows if str(row.get("id", "")).startswith("ask-")}
    assert answers["ask-1"]["result"] == [5]
    assert answers["ask-2"]["error"]["code"] == -32601


async def test_a_server_is_shut_down_in_order(tmp_path: Path):
    async with _scene(tmp_path) as scene:
        await scene.ask()
        (pid,) = scene.starts()
    assert len(scene.heard("shutdown")) == 1 and len(scene.heard("exit")) == 1
    assert not is_running(pid)


async def test_files_without_a_server_are_left_to_other_tools(tmp_path: Path):
    async with _scene(tmp_path) as scene:
        with pytest.raises(ToolError, match=r"No language server is configured for \.md files"):
            await scene.ask(path=str(tmp_path / "a.md"))
        with pytest.raises(ToolError, match="cannot be read"):
            await scene.ask(path=str(tmp_path / "missing.x"))


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("hangs", "did not answer initialize within 1.5 s"),
        ("exits", "ended with code 7: no license"),
        ("garbage", "does not speak"),
        ("huge", "more than 32 MiB"),
    ],
)
async def test_a_server_that_cannot_be_used_says_why_and_is_ended(tmp_path: Path, kind: str, reason: str):
    async with _scene(tmp_path, kind, startupTimeout=1500 if kind == "hangs" else 10_000) as scene:
        with pytest.raises(ToolError, match=reason):
            await scene.ask()
        (pid,) = scene.starts()
        assert not is_running(pid)


async def test_a_program_that_is_missing_is_named(tmp_path: Path):
    async with _scene(tmp_path, command="/nonexistent/server") as scene:
        with pytest.raises(ToolError, match="nonexistent/server"):
            await scene.ask()


async def test_what_is_printed_before_the_protocol_does_no_harm(tmp_path: Path):
    async with _scene(tmp_path, "chatty") as scene:
        assert (await scene.ask()).text


async def test_a_server_that_crashes_is_started_again_but_not_for_ever(tmp_path: Path):
    async with _scene(tmp_path, "crashes", maxRestarts=2) as scene:
        for _ in range(3):
            with pytest.raises(ToolError, match="ended with code 9"):
                await scene.ask()
        with pytest.raises(ToolError, match="crashed 3 times"):
            await scene.ask()
        assert len(scene.starts()) == 3


async def test_a_server_is_not_started_again_where_that_is_not_wanted(tmp_path: Path):
    async with _scene(tmp_path, "crashes", restartOnCrash=False) as scene:
        for _ in range(2):
            with pytest.raises(ToolError):
                await scene.ask()
        assert len(scene.starts()) == 1


async def test_what_a_server_does_not_offer_is_not_asked(tmp_path: Path):
    async with _scene(tmp_path, "poor") as scene:
        assert (await scene.ask("hover")).text
        with pytest.raises(ToolError, match="does not offer"):
            await scene.ask("findReferences")
        assert scene.heard("textDocument/references") == []


async def test_an_interrupt_is_told_to_the_server(tmp_path: Path):
    async with _scene(tmp_path, "silent") as scene:
        asking = asyncio.create_task(scene.ask())
        await eventually(lambda: scene.heard("textDocument/hover"))
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        await eventually(lambda: scene.heard("$/cancelRequest"))


@pytest.mark.parametrize("entry", [{"transport": "socket"}, {"args": "x"}, {"startupTimeout": "soon"}])
async def test_an_entry_that_cannot_be_used_is_a_sentence(tmp_path: Path, entry: dict[str, Any]):
    async with _scene(tmp_path, **entry) as scene:
        with pytest.raises(ToolError, match="language server fake failed"):
            await scene.ask()


async def test_what_is_wrong_with_a_changed_file_is_told_once(tmp_path: Path):
    async with _scene(tmp_path) as scene:
        mine, other = Conversation(), Conversation()
        scene.file.write_text("fine\nbad line\nhint line\n")
        scene.languages.touch(mine, [str(scene.file)])
        said: list[str] = []
        await eventually(lambda: said.append(scene.languages.news(mine) or "") or any(said))
        told = next(filter(None, said))
        assert "line 2: error: wrong: bad line (fake)" in told and "hint" not in told
        assert scene.languages.news(mine) is None and scene.languages.news(other) is None
        # The same fault is not told again, a new one is.
        scene.file.write_text("fine\nbad line\nfine\nbad too\n")
        scene.languages.touch(mine, [str(scene.file)])
        said.clear()
        await eventually(lambda: said.append(scene.languages.news(mine) or "") or any(said))
        assert "line 4: error: wrong: bad too" in said[-1] and "line 2" not in said[-1]


async def test_diagnostics_are_bounded_and_can_be_turned_off(tmp_path: Path):
    async with _scene(tmp_path) as scene:
        mine = Conversation()
        scene.file.write_text("bad\n" * 500)
        scene.languages.touch(mine, [str(scene.file)])
        said: list[str] = []
        await eventually(lambda: said.append(scene.languages.news(mine) or "") or any(said))
        assert said[-1].count("error:") == 10 and "(490 more)" in said[-1]
    async with _scene(tmp_path, diagnostics=False) as scene:
        scene.languages.touch(mine, [str(scene.file)])
        await eventually(lambda: scene.heard("textDocument/didSave"))
        await scene.ask()
        assert scene.languages.news(mine) is None


async def test_a_server_that_does_not_start_after_an_edit_is_told_to_the_user_once(tmp_path: Path):
    async with _scene(tmp_path, "exits") as scene:
        for _ in range(3):
            scene.languages.touch(Conversation(), [str(scene.file)])
        await eventually(lambda: scene.told)
        assert len(scene.told) == 1 and "ended with code 7" in scene.told[0]


async def test_after_a_change_the_old_server_ends_and_the_new_one_answers(tmp_path: Path):
    async with _scene(tmp_path) as scene:
        await scene.ask()
        (first,) = scene.starts()
        same = {"fake": scene.program}
        await scene.languages.change(same)
        assert is_running(first)
        await scene.languages.change({"fake": {**scene.program, "initializationOptions": {"new": True}}})
        await eventually(lambda: not is_running(first))
        await scene.ask()
        assert len(scene.starts()) == 2
        await scene.languages.change({})
        with pytest.raises(ToolError, match="No language server"):
            await scene.ask()
