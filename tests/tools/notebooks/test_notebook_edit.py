import json
from pathlib import Path
from typing import Any

import pytest

from bridle.tools.files.read import TOOL as READ
from bridle.tools.files.read import ReadInput
from bridle.tools.notebooks.notebook_edit import TOOL, NotebookEditInput
from bridle.types.errors import ToolError
from bridle.types.permission import Access
from bridle.types.tool import ToolContext, ToolOutput
from tests.fakes.tool_context import make_context

CELLS: list[dict[str, Any]] = [
    {"cell_type": "markdown", "id": "intro", "metadata": {}, "source": ["# Title\n", "text"]},
    {
        "cell_type": "code",
        "execution_count": 3,
        "id": "calc",
        "metadata": {"tags": ["keep"]},
        "outputs": [{"output_type": "stream", "name": "stdout", "text": "3"}],
        "source": "1 + 2",
    },
]


def document(minor: int = 5) -> dict[str, Any]:
    return {"cells": CELLS, "metadata": {"x": "ü"}, "nbformat": 4, "nbformat_minor": minor, "unknown": 1.0}


async def opened(tmp_path: Path, text: str | None = None) -> tuple[ToolContext, Path]:
    path = tmp_path / "a.ipynb"
    layout = json.dumps(document(), indent=1, ensure_ascii=False) + "\n" if text is None else text
    path.write_bytes(layout.encode())
    ctx = make_context(tmp_path)
    await READ.run(ReadInput(file_path=str(path)), ctx)
    return ctx, path


async def edit(ctx: ToolContext, source: str = "", **options: Any) -> ToolOutput:
    input = NotebookEditInput(notebook_path="a.ipynb", new_source=source, **options)
    TOOL.check(input, ctx)
    return await TOOL.run(input, ctx)


async def test_replacing_a_code_cell_clears_what_the_old_source_printed(tmp_path: Path):
    ctx, path = await opened(tmp_path)
    before = path.read_text()

    output = await edit(ctx, "4 + 5", cell_id="calc")

    changed = {**CELLS[1], "execution_count": None, "outputs": [], "source": "4 + 5"}
    expected = {**document(), "cells": [CELLS[0], changed]}
    assert path.read_text() == json.dumps(expected, indent=1, ensure_ascii=False) + "\n"
    assert output.data == {
        "new_source": "4 + 5",
        "cell_id": "calc",
        "cell_type": "code",
        "language": "python",
        "edit_mode": "replace",
        "error": "",
        "notebook_path": str(path),
        "original_file": before,
        "updated_file": path.read_text(),
    }


async def test_a_source_kept_as_lines_stays_lines(tmp_path: Path):
    ctx, path = await opened(tmp_path)

    await edit(ctx, "a\nb", cell_id="cell-0")

    assert json.loads(path.read_text())["cells"][0]["source"] == ["a\n", "b"]


async def test_the_type_of_a_cell_can_be_changed(tmp_path: Path):
    ctx, path = await opened(tmp_path)

    await edit(ctx, "text", cell_id="calc", cell_type="markdown")
    await edit(ctx, "1", cell_id="intro", cell_type="code")

    first, second = json.loads(path.read_text())["cells"]
    assert "outputs" not in second and "execution_count" not in second
    assert (first["outputs"], first["execution_count"]) == ([], None)


async def test_cells_are_inserted_after_a_cell_or_at_the_beginning(tmp_path: Path):
    ctx, path = await opened(tmp_path)

    await edit(ctx, "x\ny", cell_id="intro", cell_type="code", edit_mode="insert")
    await edit(ctx, "first", cell_type="markdown", edit_mode="insert")

    cells = json.loads(path.read_text())["cells"]
    assert [cell["source"] for cell in cells] == [["first"], ["# Title\n", "text"], ["x\n", "y"], "1 + 2"]
    assert set(cells[0]) == {"cell_type", "id", "metadata", "source"}
    assert set(cells[2]) == {"cell_type", "execution_count", "id", "metadata", "outputs", "source"}
    assert len({cell["id"] for cell in cells}) == 4


async def test_formats_without_ids_get_none(tmp_path: Path):
    cells = [{key: value for key, value in cell.items() if key != "id"} for cell in CELLS]
    ctx, path = await opened(tmp_path, json.dumps({**document(4), "cells": cells}, indent=1))

    await edit(ctx, "x", cell_id="cell-1", cell_type="code", edit_mode="insert")

    assert all("id" not in cell for cell in json.loads(path.read_text())["cells"])


async def test_a_cell_is_deleted(tmp_path: Path):
    ctx, path = await opened(tmp_path)

    await edit(ctx, cell_id="cell-0", edit_mode="delete")

    assert json.loads(path.read_text())["cells"] == [CELLS[1]]


@pytest.mark.parametrize(
    "layout",
    [
        json.dumps(document(), indent=1, ensure_ascii=False) + "\n",
        json.dumps(document(), indent=4, ensure_ascii=True),
        json.dumps(document(), indent="\t", ensure_ascii=False) + "\n\n",
        json.dumps(document(), ensure_ascii=False),
        json.dumps(document(), ensure_ascii=False, separators=(",", ":")),
        json.dumps(document(), indent=2, ensure_ascii=False).replace("\n", "\r\n"),
        "\ufeff" + json.dumps(document(), indent=1),
    ],
    ids=["nbformat", "escapes", "tabs", "one line", "compact", "crlf", "byte order mark"],
)
async def test_the_layout_of_the_file_is_kept(tmp_path: Path, layout: str):
    ctx, path = await opened(tmp_path, layout)

    await edit(ctx, "1 + 3", cell_id="calc")
    await edit(ctx, "1 + 2", cell_id="calc")

    cleared = {**CELLS[1], "execution_count": None, "outputs": []}
    expected = json.loads(layout.removeprefix("\ufeff"))
    expected["cells"][1] = cleared
    after = path.read_bytes().decode()
    assert json.loads(after.removeprefix("\ufeff")) == expected
    assert after.partition("cells")[0] == layout.partition("cells")[0]
    assert after.rpartition('"metadata"')[2] == layout.rpartition('"metadata"')[2]


async def test_an_unknown_cell_is_an_error_that_names_the_cells(tmp_path: Path):
    ctx, _ = await opened(tmp_path)

    for cell_id in ("nope", "cell-2"):
        with pytest.raises(ToolError, match="intro, calc"):
            await edit(ctx, "x", cell_id=cell_id)


@pytest.mark.parametrize("options", [{}, {"edit_mode": "delete"}, {"edit_mode": "insert"}])
async def test_what_is_missing_is_named(tmp_path: Path, options: dict[str, Any]):
    ctx, _ = await opened(tmp_path)

    with pytest.raises(ToolError, match="requires"):
        await edit(ctx, "x", **options)


async def test_a_notebook_must_be_read_first_and_be_unchanged(tmp_path: Path):
    ctx, path = await opened(tmp_path)
    with pytest.raises(ToolError, match="has not been read yet"):
        await edit(make_context(tmp_path), "x", cell_id="calc")
    theirs = path.read_text().replace("Title", "Theirs")
    path.write_text(theirs)

    with pytest.raises(ToolError, match="modified since"):
        await edit(ctx, "x", cell_id="calc")

    assert path.read_text() == theirs


async def test_other_files_are_refused(tmp_path: Path):
    (tmp_path / "a.txt").write_text("x")
    ctx = make_context(tmp_path)

    with pytest.raises(ToolError, match="Edit"):
        TOOL.check(NotebookEditInput(notebook_path="a.txt", new_source="", cell_id="x"), ctx)
    with pytest.raises(ToolError, match="does not exist"):
        await edit(ctx, "x", cell_id="calc")


def test_editing_names_the_path_it_writes(tmp_path: Path):
    input = NotebookEditInput(notebook_path="a.ipynb", new_source="")

    assert TOOL.access(input, make_context(tmp_path).workspace) == Access(writes=(str(tmp_path / "a.ipynb"),))
    assert TOOL.subject(input) == "a.ipynb"
