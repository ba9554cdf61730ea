"""Files, terminals and forms of the editor."""

import os
from pathlib import Path
from typing import Any

from tests.fakes.acp_editor import Editor, editing, said
from tests.fakes.messages_server import MessagesServer, step
from tests.fakes.program import Program

FILES = {"readTextFile": True, "writeTextFile": True}


def use(name: str, id: str, **input: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": name, "input": input}


async def _run(tmp_path: Path, editor: Editor, *calls: Any, **abilities: Any) -> tuple[Program, str]:
    tmp_path.mkdir(exist_ok=True)
    async with MessagesServer([*(step(call) for call in calls), step("Done.")]) as server:
        program = Program(tmp_path, server.url)
        async with editing(program, editor, **abilities) as agent:
            session = await agent.new_session(cwd=str(program.project), mcp_servers=[])
            await agent.prompt(session_id=session.session_id, prompt=said("go"))
        return program, str(server.requests[-1].body["messages"])


async def test_text_that_is_not_saved_is_read_and_edited_as_the_editor_has_it(tmp_path: Path):
    editor = Editor()
    file = Program(tmp_path).project / "a.txt"
    file.write_text("saved\n")
    editor.buffers[str(file)] = "typed just now\n"
    _, sent = await _run(
        tmp_path,
        editor,
        use("Read", "r", file_path=str(file)),
        use("Edit", "e", file_path=str(file), old_string="just now", new_string="and changed"),
        fs=FILES,
    )

    assert "typed just now" in sent
    assert editor.saved == {str(file): "typed and changed\n"}
    assert file.read_text() == "typed and changed\n"


async def test_what_the_editor_says_it_wrote_but_did_not_is_written(tmp_path: Path):
    editor = Editor()
    editor.saves_to_disk = False
    file = Program(tmp_path).project / "new.txt"
    await _run(tmp_path, editor, use("Write", "w", file_path=str(file), content="made\n"), fs=FILES)

    assert file.read_text() == "made\n"


async def test_the_editor_is_given_no_path_while_a_command_of_the_session_runs(tmp_path: Path):
    editor = Editor()
    file = Program(tmp_path).project / "a.txt"
    file.write_text("saved\n")
    editor.buffers[str(file)] = "not saved\n"
    _, sent = await _run(
        tmp_path,
        editor,
        use("Bash", "b", command="sleep 30", run_in_background=True),
        use("Read", "r", file_path=str(file)),
        fs=FILES,
    )

    assert "1\\\\tsaved" in sent or "1\\tsaved" in sent
    assert "not saved" not in sent


async def test_an_approved_command_runs_in_a_terminal_of_the_editor(tmp_path: Path):
    editor = Editor()
    command = "echo made > made.txt; mkdir sub; cd sub; echo seen; exit 3"
    program, sent = await _run(
        tmp_path, editor, use("Bash", "b", command=command), use("Bash", "p", command="pwd"), terminal=True
    )

    assert len(editor.asked) == 1 and len(editor.commands) == 1, "what is only judged harmless stays confined"
    assert (program.project / "made.txt").read_text() == "made\n"
    assert "Exit code 3" in sent and "seen" in sent
    assert os.path.join("project", "sub") in sent
    shown = [each for each in editor.of("tool_call_update") if each.tool_call_id == "b" and each.content]
    assert shown[0].content[0].terminal_id == "terminal-1"
    assert editor.terminals == {}, "it was released"


async def test_a_command_that_takes_too_long_is_ended_in_its_terminal(tmp_path: Path):
    editor = Editor()
    _, sent = await _run(
        tmp_path, editor, use("Bash", "b", command="touch x; sleep 60", timeout=300), terminal=True
    )

    assert "timed out after 0.3 s" in sent


async def test_a_question_of_the_model_is_a_form_or_one_choice_after_the_other(tmp_path: Path):
    options = [{"label": "Red", "description": "r"}, {"label": "Blue", "description": "b"}]
    question = {"question": "Which color?", "header": "Color", "options": options, "multiSelect": False}
    ask = use("AskUserQuestion", "q", questions=[question])
    forms, plain = Editor(), Editor(lambda _, options: options[1].option_id)
    _, by_form = await _run(tmp_path / "1", forms, ask, elicitation={"form": {}})
    _, by_choice = await _run(tmp_path / "2", plain, ask)

    assert "Blue" in by_form.split("Which color?")[-1] and "Blue" in by_choice.split("Which color?")[-1]
    assert len(forms.forms) == 1 and forms.asked == []
    assert [each.name for each in plain.asked[0][1]][:2] == ["Red", "Blue"]
