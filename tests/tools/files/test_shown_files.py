from pathlib import Path

import msgspec
import pytest

from bridle.tools.files.edit import TOOL as edit
from bridle.tools.files.read import TOOL as read
from bridle.tools.files.shown_files import remember
from bridle.tools.files.write import TOOL as write
from bridle.types.errors import ToolError
from bridle.types.tool import Tool, ToolContext
from tests.fakes.tool_context import make_context


async def _run(tool: Tool, ctx: ToolContext, **input: object) -> object:
    made = msgspec.convert(input, tool.input)
    tool.check(made, ctx)
    return (await tool.run(made, ctx)).data


async def test_file_read_before_a_resume_can_be_edited_after_it(tmp_path: Path):
    path = tmp_path / "a.txt"
    path.write_text("one\ntwo\n")
    data = await _run(read, make_context(tmp_path), file_path=str(path))
    later = make_context(tmp_path)

    remember(later.workspace.files, [None, "Error: x", data])
    await _run(edit, later, file_path=str(path), old_string="two", new_string="three")

    assert path.read_text() == "one\nthree\n"


async def test_file_edited_or_written_before_a_resume_can_be_edited_after_it(tmp_path: Path):
    path = tmp_path / "a.txt"
    first = make_context(tmp_path)
    results = [
        await _run(write, first, file_path=str(path), content="one\ntwo\n"),
        await _run(edit, first, file_path=str(path), old_string="two", new_string="2"),
    ]
    later = make_context(tmp_path)

    remember(later.workspace.files, results)
    await _run(edit, later, file_path=str(path), old_string="2", new_string="three")

    assert path.read_text() == "one\nthree\n"


async def test_file_that_changed_meanwhile_is_not_overwritten(tmp_path: Path):
    path = tmp_path / "a.txt"
    path.write_text("one\n")
    data = await _run(read, make_context(tmp_path), file_path=str(path))
    path.write_text("somebody else was here\n")
    later = make_context(tmp_path)

    remember(later.workspace.files, [data])

    with pytest.raises(ToolError, match="modified since"):
        await _run(write, later, file_path=str(path), content="mine\n")


async def test_part_of_a_file_does_not_count_as_seen(tmp_path: Path):
    path = tmp_path / "a.txt"
    path.write_text("one\ntwo\nthree\n")
    data = await _run(read, make_context(tmp_path), file_path=str(path), limit=1)
    later = make_context(tmp_path)

    remember(later.workspace.files, [data])

    with pytest.raises(ToolError, match="has not been read"):
        await _run(write, later, file_path=str(path), content="mine\n")
