import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from bridle.features.editors.channel import EditorChannel
from bridle.features.editors.choice import only_one
from bridle.features.editors.connector import ConnectorContext
from bridle.features.editors.session import SessionEditors
from bridle.types.event import Event, Noticed
from bridle.types.question import Answer, PermissionQuestion, Permitted, Question, Refused
from bridle.types.tool import ToolOutput
from bridle.types.workspace import Workspace
from tests.fakes.editor import TOOLS, FakeEditor
from tests.fakes.processes import eventually
from tests.fakes.tool_context import FakeTasks


class FakePerson:
    """A channel whose person thinks until they have decided."""

    def __init__(self) -> None:
        self.decided: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self.asked: list[Question] = []
        self.events: list[Event] = []
        self.left = False

    def emit(self, event: Event) -> None:
        self.events.append(event)

    async def ask(self, question: Question) -> Answer:
        self.asked.append(question)
        try:
            return await asyncio.shield(self.decided)
        except asyncio.CancelledError:
            self.left = True
            raise


class Race:
    """A question that is open here and in an editor."""

    def __init__(self, folder: Path, *, shows: bool = True) -> None:
        self.project, self.home = folder / "project", folder / "home"
        self.project.mkdir(exist_ok=True)
        self.file = self.project / "a.py"
        self.file.write_text("one\ntwo\n")
        self.person = FakePerson()
        workspace = Workspace(str(self.project), tasks=FakeTasks())
        env = {"CLAUDE_CONFIG_DIR": str(self.home)}
        self.editors = SessionEditors(
            ConnectorContext(
                workspace=workspace, env=env, tell=print, wants=only_one, shows_changes=lambda: shows
            )
        )
        self.channel = EditorChannel(self.person, self.editors)

    def ask(self, tool: str = "Edit", *, agent_id: str | None = None, **input: Any) -> asyncio.Future[Answer]:
        given = input or {"file_path": str(self.file), "old_string": "two", "new_string": "2"}
        question = PermissionQuestion(
            call_id="toolu_123456", tool=tool, input=given, reason="it writes", agent_id=agent_id
        )
        return asyncio.ensure_future(self.channel.ask(question))


@asynccontextmanager
async def race(
    folder: Path, *, shows: bool = True, tools: tuple[str, ...] = TOOLS
) -> AsyncGenerator[tuple[Race, FakeEditor]]:
    made = Race(folder, shows=shows)
    async with asyncio.timeout(50), FakeEditor(made.home, made.project, tools=tools) as editor:
        made.editors.begin()
        try:
            await eventually(made.editors.tools)
            yield made, editor
        finally:
            await made.editors.close()


async def _opened(editor: FakeEditor) -> None:
    await eventually(lambda: editor.called("openDiff"))


async def test_change_is_open_on_both_sides_and_the_person_is_told(tmp_path: Path):
    async with race(tmp_path) as (made, editor):
        asking = made.ask()
        await _opened(editor)
        (shown,) = editor.called("openDiff")
        assert shown["old_file_path"] == shown["new_file_path"] == str(made.file)
        assert shown["new_file_contents"] == "one\n2\n"
        (question,) = made.person.asked
        assert isinstance(question, PermissionQuestion) and question.elsewhere == "Neovim"
        made.person.decided.set_result(Permitted())
        assert await asking == Permitted()
        await eventually(lambda: editor.called("close_tab") == [{"tab_name": shown["tab_name"]}])


async def test_saving_in_the_editor_accepts_and_takes_the_question_away(tmp_path: Path):
    async with race(tmp_path) as (made, editor):
        asking = made.ask()
        await _opened(editor)
        editor.answer("FILE_SAVED", "one\n2\n")
        assert await asking == Permitted()
        assert made.person.left and [type(event) for event in made.person.events] == [Noticed]
        await eventually(lambda: editor.called("close_tab"))


async def test_rejecting_in_the_editor_refuses(tmp_path: Path):
    async with race(tmp_path) as (made, editor):
        asking = made.ask()
        await _opened(editor)
        editor.answer("DIFF_REJECTED", "tab")
        answer = await asking
        assert isinstance(answer, Refused) and answer.interrupt and answer.by_person and made.person.left


@pytest.mark.parametrize("said", [("TAB_CLOSED",), ("WHATEVER",), ()])
async def test_tab_that_was_closed_is_no_answer(tmp_path: Path, said: tuple[str, ...]):
    async with race(tmp_path) as (made, editor):
        asking = made.ask()
        await _opened(editor)
        editor.answer(*said)
        await made.editors.open_file(str(made.file))
        assert not asking.done() and not made.person.left
        made.person.decided.set_result(Refused(message="no"))
        assert await asking == Refused(message="no")


async def test_editor_that_dies_leaves_the_question_to_the_person(tmp_path: Path):
    async with race(tmp_path) as (made, editor):
        asking = made.ask()
        await _opened(editor)
        await editor.stop()
        await eventually(lambda: not made.editors.tools())
        assert not asking.done() and not made.person.left
        made.person.decided.set_result(Permitted())
        assert await asking == Permitted()


async def test_version_of_the_user_is_run_and_the_model_is_told(tmp_path: Path):
    async with race(tmp_path) as (made, editor):
        asking = made.ask()
        await _opened(editor)
        editor.answer("FILE_SAVED", "one\nTWO\n")
        answer = await asking
        assert isinstance(answer, Permitted) and answer.input is not None
        assert (answer.input["old_string"], answer.input["new_string"]) == ("two\n", "TWO\n")
        output = ToolOutput(content="Changed.", data={"userModified": False})
        told = made.editors.finish(made, "toolu_123456", output, ())
        assert isinstance(told.content, str) and "+TWO" in told.content and told.data["userModified"] is True
        assert made.editors.finish(made, "toolu_123456", output, ()) == output


async def test_change_that_was_taken_back_in_the_editor_is_refused(tmp_path: Path):
    async with race(tmp_path) as (made, editor):
        asking = made.ask()
        await _opened(editor)
        editor.answer("FILE_SAVED", "one\ntwo\n")
        assert isinstance(await asking, Refused)


async def test_answer_here_counts_when_both_came_at_once(tmp_path: Path):
    async with race(tmp_path) as (made, editor):
        asking = made.ask()
        await _opened(editor)
        made.person.decided.set_result(Refused(message="no"))
        editor.answer("FILE_SAVED", "one\nTWO\n")
        assert await asking == Refused(message="no")
        output = ToolOutput(content="x", data={})
        assert made.editors.finish(made, "toolu_123456", output, ()) == output


async def test_turn_that_is_interrupted_closes_the_tab(tmp_path: Path):
    async with race(tmp_path) as (made, editor):
        asking = made.ask()
        await _opened(editor)
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        assert made.person.left
        await eventually(lambda: editor.called("close_tab"))


async def test_other_questions_stay_here(tmp_path: Path):
    async with race(tmp_path) as (made, editor):
        made.person.decided.set_result(Permitted())
        assert await made.ask("Bash", command="ls") == Permitted()
        assert await made.ask("Edit", file_path="a.py", old_string="absent", new_string="") == Permitted()
        relative = {"file_path": "a.py", "old_string": "two", "new_string": "2"}
        assert await made.ask("Edit", agent_id="agent", **relative) == Permitted()
        assert editor.called("openDiff") == []


async def test_change_stays_here_where_the_user_wants_it_so(tmp_path: Path):
    async with race(tmp_path, shows=False) as (made, editor):
        made.person.decided.set_result(Permitted())
        assert await made.ask() == Permitted() and editor.called("openDiff") == []


async def test_change_stays_here_where_the_editor_shows_none(tmp_path: Path):
    async with race(tmp_path, tools=("getDiagnostics",)) as (made, editor):
        made.person.decided.set_result(Permitted())
        assert await made.ask() == Permitted() and editor.called("openDiff") == []
