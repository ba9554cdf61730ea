"""Long paths stand in a result once."""

from pathlib import Path
from typing import Any

import msgspec

from bridle.features.background.notes import end_note
from bridle.tools.files.edit import TOOL as EDIT
from bridle.tools.files.glob import TOOL as GLOB
from bridle.tools.files.grep import TOOL as GREP
from bridle.tools.files.write import TOOL as WRITE
from bridle.types.block import text_of
from bridle.types.services.tasks import Task
from bridle.types.tool import Tool, ToolContext, ToolOutput
from tests.fakes.tool_context import make_context

_DEEP = "packages/application/source/components"


async def _call(tool: Tool, context: ToolContext, **input: Any) -> ToolOutput:
    return await tool.run(msgspec.convert(input, tool.input), context)


def _text(output: ToolOutput) -> str:
    return str(output.content).partition("\n\n(ripgrep is not")[0]


def _outside(tmp_path: Path) -> tuple[ToolContext, Path]:
    """A session, and files that are not in its folder."""
    other, here = tmp_path / "elsewhere-with-a-long-name", tmp_path / "project"
    here.mkdir()
    for number in range(5):
        path = other / f"part{number % 2}" / f"file{number}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("import os\n" * 4)
    return make_context(here), other


async def test_files_elsewhere_are_listed_below_their_folder(tmp_path: Path):
    context, other = _outside(tmp_path)
    globbed = await _call(GLOB, context, pattern="**/*.py", path=str(other))
    found = await _call(GREP, context, pattern="import", path=str(other))
    counted = await _call(GREP, context, pattern="import", path=str(other), output_mode="count")
    for output in (globbed, found, counted):
        text = _text(output)
        assert text.count(str(other)) == 1 and f"Relative to {other}/:" in text
        assert "part0/file0.py" in text and "part1/file3.py" in text
    assert min(globbed.data["filenames"]) == str(other / "part0" / "file0.py")
    assert _text(found).startswith("Found 5 files\n")


async def test_a_few_files_elsewhere_are_named_in_full(tmp_path: Path):
    context, other = _outside(tmp_path)
    output = await _call(GLOB, context, pattern="**/file0.py", path=str(other))
    assert _text(output) == str(other / "part0" / "file0.py")


async def test_lines_of_several_files_stand_below_the_name_of_their_file(tmp_path: Path):
    for name in ("first", "second"):
        path = tmp_path / _DEEP / f"{name}.tsx"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"const {name}{n} = 1\n" for n in range(8)))
    output = await _call(GREP, make_context(tmp_path), pattern="const", output_mode="content")
    blocks = _text(output).split("\n\n")
    assert [block.splitlines()[0] for block in blocks] == [f"{_DEEP}/first.tsx", f"{_DEEP}/second.tsx"]
    assert blocks[0].splitlines()[1:3] == ["1:const first0 = 1", "2:const first1 = 1"]
    assert output.data["numLines"] == 16 and output.data["filenames"] == [
        f"{_DEEP}/first.tsx", f"{_DEEP}/second.tsx",
    ]  # fmt: skip


async def test_pages_of_grouped_lines_name_the_file_that_they_begin_in(tmp_path: Path):
    path = tmp_path / _DEEP / "first.tsx"
    path.parent.mkdir(parents=True)
    path.write_text("const a = 1\n" * 40)
    (path.parent / "second.tsx").write_text("const b = 1\n" * 40)
    output = await _call(
        GREP, make_context(tmp_path), pattern="const", output_mode="content", offset=30, head_limit=20
    )
    first, second, *_ = _text(output).split("\n\n")
    assert first.splitlines()[:2] == [f"{_DEEP}/first.tsx", "31:const a = 1"]
    assert second.splitlines()[:2] == [f"{_DEEP}/second.tsx", "1:const b = 1"]
    assert len(first.splitlines()) + len(second.splitlines()) == 22


async def test_context_lines_keep_their_marks_below_a_file(tmp_path: Path):
    context, other = _outside(tmp_path)
    for number in range(5):
        path = other / f"part{number % 2}" / f"file{number}.py"
        path.write_text("x\nhit\ny\n" + "z\n" * 5 + "hit\n")
    output = await _call(GREP, context, pattern="hit", path=str(other), output_mode="content", **{"-C": 1})
    text = _text(output)
    assert "part0/file0.py\n1-x\n2:hit\n3-y\n--\n8-z\n9:hit" in text
    assert text.count(str(other)) == 1


async def test_confirmations_name_files_of_the_project_shortly(tmp_path: Path):
    context = make_context(tmp_path)
    path = tmp_path / _DEEP / "new.tsx"
    path.parent.mkdir(parents=True)
    assert _text(await _call(WRITE, context, file_path=str(path), content="one\n")) == (
        f"Created {_DEEP}/new.tsx."
    )
    changed = await _call(EDIT, context, file_path=str(path), old_string="one", new_string="two")
    assert _text(changed).startswith(f"Changed {_DEEP}/new.tsx. It now reads:\n")
    assert changed.data["filePath"] == str(path)


def test_a_note_does_not_repeat_the_place_that_the_start_has_told():
    job = Task(
        id="b1", kind="local_bash", description="Build", call_id="c1", output_file="/a/long/path",
        started=0.0, status="completed", exit_code=0,
    )  # fmt: skip
    assert "/a/long/path" not in text_of(end_note(job, {}).content)
    unknown = msgspec.structs.replace(job, call_id="")
    assert "<output-file>/a/long/path</output-file>" in text_of(end_note(unknown, {}).content)
