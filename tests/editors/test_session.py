import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from bridle.engine.turn import Turn
from bridle.features.editors.choice import only_one, wanted_by
from bridle.features.editors.connector import ConnectorContext
from bridle.features.editors.session import SessionEditors
from bridle.host.editors import Editor
from bridle.permissions.rules import parse
from bridle.types.block import text_of
from bridle.types.errors import McpError, UsageError
from bridle.types.origin import TYPED
from bridle.types.permission import Effect
from bridle.types.turn import Prompt
from bridle.types.workspace import Workspace
from tests.fakes.editor import FakeEditor, selected
from tests.fakes.engine import make_runtime, make_session
from tests.fakes.processes import eventually
from tests.fakes.tool_context import FakeTasks
from tests.tables import table


class Beside:
    """A session's side of the link, in a folder of its own."""

    def __init__(self, folder: Path, **options: Any) -> None:
        self.project, self.home = folder / "project", folder / "home"
        self.project.mkdir(exist_ok=True)
        self.said: list[str] = []
        self.mentioned: list[str] = []
        self.editors = SessionEditors(
            ConnectorContext(
                workspace=Workspace(str(self.project), tasks=FakeTasks()),
                env={"CLAUDE_CONFIG_DIR": str(self.home), "HTTP_PROXY": "http://127.0.0.1:9"},
                tell=self.said.append,
                first_pause=0.01,
                wants=only_one,
                **options,
            )
        )
        self.editors.on_mention = self.mentioned.append
        self.session = make_session()
        self._runtime = make_runtime(self.project, [])

    async def beside(self) -> list[str]:
        """What the model reads beside the next prompt."""
        prompt = Prompt(content="go", origin=TYPED)
        turn = Turn(self.session, prompt, self._runtime)
        return [text_of([block]) for block in (await self.editors.beside(turn, prompt)).beside]

    async def linked(self, editor: FakeEditor) -> None:
        await eventually(lambda: self.editors.tools() and "ide_connected" in editor.heard)


@asynccontextmanager
async def linked(folder: Path, **options: Any) -> AsyncGenerator[tuple[Beside, FakeEditor]]:
    """A session that is linked to an editor."""
    beside = Beside(folder, **options)
    async with asyncio.timeout(50), FakeEditor(beside.home, beside.project) as editor:
        beside.editors.begin()
        try:
            await beside.linked(editor)
            yield beside, editor
        finally:
            await beside.editors.close()


async def test_session_links_to_the_one_editor_that_fits_and_says_who_it_is(tmp_path: Path):
    async with linked(tmp_path) as (beside, editor):
        assert beside.editors.label() == "Neovim"
        assert "ide_connected" in editor.heard and editor.refused == 0


async def test_models_are_offered_two_tools_and_no_more(tmp_path: Path):
    async with linked(tmp_path) as (beside, _):
        tools = beside.editors.tools()
        assert sorted(tool.name for tool in tools) == ["mcp__ide__executeCode", "mcp__ide__getDiagnostics"]
        assert beside.editors.tools() is tools


async def test_selection_stands_beside_the_next_prompt_once(tmp_path: Path):
    async with linked(tmp_path) as (beside, editor):
        assert await beside.beside() == []
        await editor.select(beside.project / "a.py", "x = 1\ny = 2\n", first=2, last=3)
        await eventually(lambda: beside.editors.label() == "Neovim: 2 lines selected")
        (told,) = await beside.beside()
        assert "lines 3-4 of" in told and "x = 1\ny = 2" in told
        assert await beside.beside() == []
        await editor.select(beside.project / "b.py")
        await eventually(lambda: beside.editors.label() == "Neovim: In b.py")
        (told,) = await beside.beside()
        assert "b.py open" in told


async def test_each_conversation_hears_of_the_selection(tmp_path: Path):
    async with linked(tmp_path) as (beside, editor):
        await editor.select(beside.project / "a.py")
        await eventually(lambda: beside.editors.label() == "Neovim: In a.py")
        assert len(await beside.beside()) == 1
        beside.session = make_session()
        assert len(await beside.beside()) == 1
        beside.session.id = "another"
        assert len(await beside.beside()) == 1


async def test_file_that_a_rule_hides_is_not_told_of(tmp_path: Path):
    async with linked(tmp_path) as (beside, editor):
        beside.session.swap(rules=(parse("Read(**/.env)", Effect.DENY, "cliArg"),))
        await editor.select(beside.project / ".env", "KEY=secret")
        await eventually(lambda: beside.editors.label() == "Neovim: 1 line selected")
        assert await beside.beside() == []


async def test_selection_that_was_there_before_the_link_is_known(tmp_path: Path):
    beside = Beside(tmp_path)
    async with asyncio.timeout(50), FakeEditor(beside.home, beside.project) as editor:
        editor.selection = selected(beside.project / "a.py", "x", first=6, last=6)
        beside.editors.begin()
        await eventually(lambda: beside.editors.label() == "Neovim: 1 line selected")
        await beside.editors.close()


async def test_editor_mentions_lines_of_a_file(tmp_path: Path):
    async with linked(tmp_path) as (beside, editor):
        path = str(beside.project / "src" / "a.py")
        await editor.tell("at_mentioned", {"filePath": path, "lineStart": 2, "lineEnd": 8})
        await eventually(lambda: beside.mentioned == ["@src/a.py#L3-9"])


async def test_garbage_between_messages_is_ignored(tmp_path: Path):
    beside = Beside(tmp_path)
    async with asyncio.timeout(50), FakeEditor(beside.home, beside.project) as editor:
        editor.greeting = ("not JSON", b"\xff\xfe\x00", "[]", "7", '{"jsonrpc":"2.0"}', "[[[[" * 50_000)
        beside.editors.begin()
        await beside.linked(editor)
        for params in ("{}", "7", "null", '{"filePath": {"a": []}, "selection": 3}'):
            for method in ("selection_changed", "at_mentioned", "diagnostics_changed", "log_event"):
                await editor.send(f'{{"jsonrpc":"2.0","method":"{method}","params":{params}}}')
        await editor.select(beside.project / "a.py")
        await eventually(lambda: beside.editors.label() == "Neovim: In a.py")
        await beside.editors.close()


async def test_editor_that_dies_is_told_and_the_same_one_is_found_again_elsewhere(tmp_path: Path):
    async with linked(tmp_path) as (beside, editor):
        await editor.select(beside.project / "a.py")
        await eventually(lambda: beside.editors.label() == "Neovim: In a.py")
        await editor.stop()
        await eventually(lambda: beside.editors.label() == "Neovim: not connected")
        assert beside.editors.tools() == () and await beside.beside() == []
        editor.lock.unlink()
        editor.heard.clear()
        await editor.start()
        await beside.linked(editor)
        assert beside.editors.label() == "Neovim"


async def test_wrong_token_is_a_problem_that_is_listed(tmp_path: Path):
    beside = Beside(tmp_path, insists=True)
    async with asyncio.timeout(50), FakeEditor(beside.home, beside.project) as editor:
        editor.write_lock(authToken="another")
        beside.editors.begin()
        await eventually(lambda: editor.refused)
        await eventually(lambda: beside.said)
        assert not editor.is_linked and "cannot connect to Neovim" in beside.said[0]
        (row,) = await beside.editors.rows()
        assert row.state in ("waiting", "connecting") and beside.editors.tools() == ()
        editor.write_lock()
        await beside.linked(editor)
        assert len(beside.said) == 1
        await beside.editors.close()


async def test_several_editors_that_fit_are_a_choice_for_the_user(tmp_path: Path):
    beside = Beside(tmp_path, insists=True)
    async with (
        asyncio.timeout(50),
        FakeEditor(beside.home, beside.project, name="Emacs") as one,
        FakeEditor(beside.home, beside.project) as other,
    ):
        beside.editors.begin()
        await eventually(lambda: beside.said)
        assert not one.is_linked and not other.is_linked
        assert (await beside.editors.connect("neo")).port == other.port
        assert [row.state for row in await beside.editors.rows()] == ["off", "connected"]
        assert (await beside.editors.connect(str(one.port))).name == "Emacs"
        await eventually(lambda: not other.is_linked)
        assert (await beside.editors.disconnect()) is not None
        await eventually(lambda: not one.is_linked)
        assert beside.editors.label() == ""
        await beside.editors.close()


async def test_editor_that_is_not_there_cannot_be_linked_to(tmp_path: Path):
    beside = Beside(tmp_path)
    with pytest.raises(UsageError):
        await beside.editors.connect("vim")
    with pytest.raises(UsageError):
        await beside.editors.open_file("/a.py")
    async with FakeEditor(beside.home, beside.project) as editor:
        await editor.stop()
        with pytest.raises(McpError):
            await beside.editors.connect("Neovim")
    assert beside.editors.label() == ""
    await beside.editors.close()


async def test_editor_that_comes_later_is_linked_to_when_it_does(tmp_path: Path):
    beside = Beside(tmp_path)
    beside.editors.begin()
    async with asyncio.timeout(50), FakeEditor(beside.home, beside.project) as editor:
        await beside.linked(editor)
        await beside.editors.close()


async def test_slow_editor_holds_nothing_up(tmp_path: Path):
    async with linked(tmp_path) as (beside, editor):
        editor.is_slow = True
        async with asyncio.timeout(50):
            for _ in range(100):
                await beside.editors.foresee((str(beside.project / "a.py"),))
        assert len(editor.called("getDiagnostics")) == 1
        assert await beside.beside() == []


async def test_file_is_shown_in_the_editor(tmp_path: Path):
    async with linked(tmp_path) as (beside, editor):
        assert await beside.editors.open_file("/p/a.py") == "Neovim"
        assert editor.called("openFile")[0]["filePath"] == "/p/a.py"


@pytest.mark.parametrize(
    ("env", "name"),
    [
        ({"TERM_PROGRAM": "vscode"}, "Visual Studio Code"),
        ({"TERM_PROGRAM": "vscode", "NVIM": "/run/nvim.sock"}, "Neovim"),
        ({"INSIDE_EMACS": "29.1"}, None),
        ({"CLAUDE_CODE_AUTO_CONNECT_IDE": "1"}, None),
    ],
)
def test_terminal_tells_which_of_several_editors_it_belongs_to(env: dict[str, str], name: str | None):
    editors = [
        Editor(name=each, port=number, folders=("/p",), transport="ws")
        for number, each in enumerate(("Neovim", "Visual Studio Code"))
    ]
    choose = wanted_by(env, flag=False, always=False)
    assert choose is not None
    chosen = choose(editors)
    assert (None if chosen is None else chosen.name) == name


@table(
    ("env", "flag", "always", "chosen"),
    [
        ({}, False, False, None),
        ({}, True, False, "only"),
        ({}, False, True, "only"),
        ({"TERM_PROGRAM": "vscode"}, False, False, "only"),
        ({"TERMINAL_EMULATOR": "JetBrains-JediTerm"}, False, False, "only"),
        ({"NVIM": "/run/nvim.sock"}, False, False, "only"),
        ({"TERM_PROGRAM": "tmux"}, False, False, None),
        ({"CLAUDE_CODE_AUTO_CONNECT_IDE": "true"}, False, False, "only"),
        ({"CLAUDE_CODE_AUTO_CONNECT_IDE": "false", "TERM_PROGRAM": "vscode"}, False, True, None),
        ({"CLAUDE_CODE_AUTO_CONNECT_IDE": "0", "CLAUDE_CODE_SSE_PORT": "4711"}, False, True, None),
        ({"CLAUDE_CODE_SSE_PORT": "4711"}, False, False, "port"),
        ({"CLAUDE_CODE_SSE_PORT": "x"}, False, False, None),
    ],
)
def test_editor_is_wanted_where_the_terminal_or_the_user_says_so(
    env: dict[str, str], flag: bool, always: bool, chosen: str | None
):
    here = Editor(name="A", port=1, folders=("/p",), transport="ws")
    named = Editor(name="B", port=4711, folders=("/q",), transport="ws", fits=False)
    choose = wanted_by(env, flag=flag, always=always)
    expected = {"only": here, "port": named, None: None}[chosen]
    assert (None if choose is None else choose((here, named))) == expected
