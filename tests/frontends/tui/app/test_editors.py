import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.fakes.editor import FakeEditor
from tests.fakes.messages_server import step
from tests.fakes.processes import eventually
from tests.frontends.tui.app.session import Terminal, bridle

_READ = {"type": "tool_use", "id": "toolu_read01", "name": "Read", "input": {"file_path": "a.py"}}
_EDIT = {
    "type": "tool_use",
    "id": "toolu_edit01",
    "name": "Edit",
    "input": {"file_path": "a.py", "old_string": "two", "new_string": "2"},
}
_SIZE = (100, 30)


@asynccontextmanager
async def beside(
    folder: Path, *script: Any, links: bool = True, **env: Any
) -> AsyncGenerator[tuple[Terminal, FakeEditor]]:
    """A session in the terminal of an editor."""
    project, home = folder / "project", folder / "home" / ".claude"
    project.mkdir()
    (project / "a.py").write_text("one\ntwo\n")
    async with FakeEditor(home, project) as editor:
        env = {"CLAUDE_CODE_SSE_PORT": str(editor.port), **env} if links else env
        async with bridle(folder, script, size=_SIZE, **env) as terminal:
            await terminal.ready()
            if links:
                await eventually(lambda: editor.called("getLatestSelection"))
                await terminal.until_text("Neovim ")
            yield terminal, editor


async def test_footer_shows_the_editor_and_where_the_user_is_in_it(tmp_path: Path):
    async with beside(tmp_path, step("It is a file.")) as (terminal, editor):
        path = tmp_path / "project" / "a.py"
        await editor.select(path)
        await terminal.until_text("Neovim: In a.py")
        await editor.select(path, "one\ntwo\n", first=0, last=1)
        await terminal.until_text("Neovim: 2 lines selected")
        await terminal.say("what is this?")
        await terminal.until_text("It is a file.")
        assert "lines 1-2 of" in json.dumps(terminal.asked[0]["messages"])
        await editor.stop()
        await terminal.until_text("Neovim: not connected")


async def test_terminal_that_is_no_editors_is_not_linked_until_the_user_wants_it(tmp_path: Path):
    async with beside(tmp_path, links=False, TERM_PROGRAM="") as (terminal, editor):
        terminal.type("/ide\r")
        await terminal.until_text("With this folder open")
        assert not editor.is_linked
        terminal.type("\r")
        await terminal.until_text("connected, in")
        terminal.type("d")
        await eventually(lambda: not editor.is_linked)
        terminal.type("\x1b")
        await terminal.ready()


async def test_lines_that_the_editor_mentions_stand_in_the_prompt(tmp_path: Path):
    async with beside(tmp_path, step("Seen.")) as (terminal, editor):
        terminal.type("look at")
        await terminal.until_text("look at")
        path = str(tmp_path / "project" / "a.py")
        await editor.tell("at_mentioned", {"filePath": path, "lineStart": 0, "lineEnd": 1})
        await terminal.until_text("look at @a.py#L1-2")
        terminal.type("\r")
        await terminal.until_text("Seen.")
        assert 'lines=\\"1-2\\"' in json.dumps(terminal.asked[0]["messages"])


async def test_change_that_is_accepted_in_the_editor_is_made_and_the_question_goes(tmp_path: Path):
    async with beside(tmp_path, step(_READ), step(_EDIT), step("All done.")) as (terminal, editor):
        await terminal.say("go on")
        await terminal.until_text("also shown in Neovim")
        await eventually(lambda: editor.called("openDiff"))
        editor.answer("FILE_SAVED", "one\nzwei\n")
        await terminal.until_text("All done.")
        assert (tmp_path / "project" / "a.py").read_text() == "one\nzwei\n"
        assert "Accepted in Neovim: a.py" in "\n".join(terminal.emulator.everything)
        assert "+zwei" in json.dumps(terminal.asked[-1]["messages"][-1])
        await eventually(lambda: editor.called("close_tab"))


async def test_change_that_is_accepted_here_closes_the_tab_there(tmp_path: Path):
    async with beside(tmp_path, step(_READ), step(_EDIT), step("All done.")) as (terminal, editor):
        await terminal.say("go on")
        await terminal.until_text("❯ 1. Yes")
        await eventually(lambda: editor.called("openDiff"))
        terminal.type("\r")
        await terminal.until_text("All done.")
        assert (tmp_path / "project" / "a.py").read_text() == "one\n2\n"
        tab = editor.called("openDiff")[0]["tab_name"]
        await eventually(lambda: editor.called("close_tab") == [{"tab_name": tab}])


async def test_change_that_is_rejected_in_the_editor_ends_the_turn(tmp_path: Path):
    async with beside(tmp_path, step(_READ), step(_EDIT)) as (terminal, editor):
        await terminal.say("go on")
        await eventually(lambda: editor.called("openDiff"))
        editor.answer("DIFF_REJECTED", "tab")
        await terminal.until_text("Rejected in Neovim: a.py")
        await terminal.ready()
        assert (tmp_path / "project" / "a.py").read_text() == "one\ntwo\n" and len(terminal.asked) == 2


async def test_editor_that_dies_leaves_the_question_in_the_terminal(tmp_path: Path):
    async with beside(tmp_path, step(_READ), step(_EDIT), step("All done.")) as (terminal, editor):
        await terminal.say("go on")
        await terminal.until_text("❯ 1. Yes")
        await eventually(lambda: editor.called("openDiff"))
        await editor.stop()
        async with asyncio.timeout(50):
            terminal.type("\r")
            await terminal.until_text("All done.")
        assert (tmp_path / "project" / "a.py").read_text() == "one\n2\n"


async def test_diff_stays_in_the_terminal_where_the_user_wants_it_so(tmp_path: Path):
    home = tmp_path / "home" / ".claude"
    home.mkdir(parents=True)
    (home / ".claude.json").write_text('{"diffTool": "terminal"}')
    async with beside(tmp_path, step(_READ), step(_EDIT), step("All done.")) as (terminal, editor):
        await terminal.say("go on")
        await terminal.until_text("❯ 1. Yes")
        terminal.type("\r")
        await terminal.until_text("All done.")
        assert editor.called("openDiff") == []
