"""S34: whatever is moved between the check and the use, only what was checked is read or written."""

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Generator
from pathlib import Path

import msgspec
import pytest

from bridle.host.safe_open import locate
from bridle.tools.files.edit import TOOL as EDIT
from bridle.tools.files.edit import EditInput
from bridle.tools.files.glob import TOOL as GLOB
from bridle.tools.files.glob import GlobInput
from bridle.tools.files.grep import TOOL as GREP
from bridle.tools.files.grep import GrepInput
from bridle.tools.files.read import TOOL as READ
from bridle.tools.files.read import ReadInput
from bridle.tools.files.seen_files import put
from bridle.tools.files.text_files import read_text
from bridle.tools.files.write import TOOL as WRITE
from bridle.tools.files.write import WriteInput
from bridle.tools.notebooks.notebook_edit import TOOL as NOTEBOOK_EDIT
from bridle.tools.notebooks.notebook_edit import NotebookEditInput
from bridle.types.errors import ToolError
from bridle.types.permission import Permit
from bridle.types.tool import ToolContext
from tests.fakes.tool_context import make_context

ROUNDS = 1000

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="names are exchanged as Linux does it")

# Exchanges two names for as long as its standard input is open: each is the real thing half of the time.
_SWAP = """
import ctypes, os, select, sys
first, second = map(os.fsencode, sys.argv[1:])
library = ctypes.CDLL(None, use_errno=True)
EXCHANGE, HERE = 2, -100

def exchange():
    if library.renameat2(HERE, first, HERE, second, EXCHANGE) != 0:
        sys.exit(os.strerror(ctypes.get_errno()))

print("ready", flush=True)
while not select.select([0], [], [], 0)[0]:
    for _ in range(50):
        exchange()
"""


@contextlib.contextmanager
def swapping(first: Path, second: Path) -> Generator[None, None, None]:
    command = [sys.executable, "-c", _SWAP, str(first), str(second)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stdin is not None
        process.stdout.readline()
        try:
            yield
        finally:
            process.stdin.close()
            assert process.wait(10) == 0


def approved(ctx: ToolContext, *paths: Path) -> ToolContext:
    """The context of a call that the gate let through while the paths led to themselves."""
    return msgspec.structs.replace(ctx, permit=Permit(approved={str(path): str(path) for path in paths}))


NOTEBOOK = {
    "cells": [{"cell_type": "code", "id": "a", "metadata": {}, "outputs": [], "source": ["1"]}],
    "metadata": {},
    "nbformat": 4,
    "nbformat_minor": 5,
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """`project/dir` with files, and `outside` with files of the same names that hold secrets."""
    for name, word in (("project/dir", "ours"), ("outside", "secret")):
        folder = tmp_path / name
        folder.mkdir(parents=True)
        (folder / "file.txt").write_text(f"{word}\n")
        notebook = json.loads(json.dumps(NOTEBOOK))
        notebook["cells"][0]["source"] = [word]
        (folder / "book.ipynb").write_text(json.dumps(notebook))
    return tmp_path / "project"


def swap_folder(project: Path) -> tuple[Path, Path]:
    (project / "other").symlink_to(project.parent / "outside")
    return project / "dir", project / "other"


def swap_file(name: str) -> Callable[[Path], tuple[Path, Path]]:
    def swap(project: Path) -> tuple[Path, Path]:
        (project / "dir" / "other").symlink_to(project.parent / "outside" / name)
        return project / "dir" / name, project / "dir" / "other"

    return swap


@pytest.mark.parametrize("swap", [swap_folder, swap_file("file.txt")])
async def test_a_read_never_shows_the_foreign_file(project: Path, swap: Callable[[Path], tuple[Path, Path]]):
    path = project / "dir" / "file.txt"
    seen = {"ours": 0, "refused": 0}
    with swapping(*swap(project)):
        for _ in range(ROUNDS):
            try:
                output = await READ.run(ReadInput(file_path=str(path)), approved(make_context(project), path))
            except ToolError:
                seen["refused"] += 1
            else:
                assert "ours" in str(output.content)
                seen["ours"] += 1
    assert all(seen.values()), seen


@pytest.mark.parametrize("swap", [swap_folder, swap_file("file.txt")])
async def test_write_and_edit_never_touch_the_foreign_file(
    project: Path, swap: Callable[[Path], tuple[Path, Path]]
):
    path = project / "dir" / "file.txt"
    foreign = project.parent / "outside"
    # Both hold the same text half of the time, so that nothing but the place tells them apart.
    path.write_text("secret\n")
    ctx = approved(make_context(project), path)
    await READ.run(ReadInput(file_path=str(path)), ctx)
    done = {"changed": 0, "refused": 0}
    with swapping(*swap(project)):
        for number in range(ROUNDS):
            state = ctx.workspace.files.find(str(path))
            assert state is not None
            old = state.content
            new = "ours\n" if old == "secret\n" else "secret\n"
            try:
                if number % 2:
                    await WRITE.run(WriteInput(file_path=str(path), content=new), ctx)
                else:
                    await EDIT.run(EditInput(file_path=str(path), old_string=old, new_string=new), ctx)
            except ToolError:
                done["refused"] += 1
            else:
                done["changed"] += 1
            assert sorted(os.listdir(foreign)) == ["book.ipynb", "file.txt"]
            assert (foreign / "file.txt").read_text() == "secret\n"
    assert all(done.values()), done


async def test_new_files_and_folders_never_land_in_the_foreign_folder(project: Path):
    foreign = project.parent / "outside"
    done = {"made": 0, "refused": 0}
    with swapping(*swap_folder(project)):
        for number in range(ROUNDS):
            path = project / "dir" / f"n{number}" / "new.txt"
            try:
                await WRITE.run(
                    WriteInput(file_path=str(path), content="x"), approved(make_context(project), path)
                )
                done["made"] += 1
            except ToolError:
                done["refused"] += 1
            assert sorted(os.listdir(foreign)) == ["book.ipynb", "file.txt"]
    assert all(done.values()), done


async def test_notebook_edits_never_touch_the_foreign_notebook(project: Path):
    path = project / "dir" / "book.ipynb"
    foreign = project.parent / "outside" / "book.ipynb"
    before = foreign.read_bytes()
    ctx = approved(make_context(project), path)
    await READ.run(ReadInput(file_path=str(path)), ctx)
    refused = 0
    with swapping(*swap_folder(project)):
        for number in range(ROUNDS // 2):
            try:
                await NOTEBOOK_EDIT.run(
                    NotebookEditInput(notebook_path=str(path), cell_id="a", new_source=f"{number}"), ctx
                )
            except ToolError:
                refused += 1
            assert foreign.read_bytes() == before
    assert refused


async def test_a_search_stays_in_the_folder_that_was_approved(project: Path):
    folder = project / "dir"
    (project.parent / "outside" / "private-name.txt").write_text("secret")
    said: list[str] = []
    refused = 0
    with swapping(*swap_folder(project)):
        for _ in range(20):
            ctx = approved(make_context(project), folder)
            try:
                found = await GREP.run(
                    GrepInput(pattern="ours|secret", path=str(folder), output_mode="content"), ctx
                )
                listed = await GLOB.run(GlobInput(pattern="*", path=str(folder)), ctx)
            except ToolError:
                refused += 1
            else:
                said += [str(found.content), str(listed.content)]
    assert not [text for text in said if "secret" in text or "private-name" in text]
    assert said or refused


@pytest.mark.parametrize("swap", [swap_folder, swap_file("file.txt")])
async def test_a_search_in_one_file_never_shows_the_foreign_file(
    project: Path, swap: Callable[[Path], tuple[Path, Path]]
):
    """S34"""
    path = project / "dir" / "file.txt"
    input = GrepInput(pattern="ours|secret", path=str(path), output_mode="content")
    seen = {"ours": 0, "refused": 0}
    with swapping(*swap(project)):
        for _ in range(30):
            try:
                output = await GREP.run(input, approved(make_context(project), path))
            except ToolError:
                seen["refused"] += 1
            else:
                assert output.content == "1:ours"
                seen["ours"] += 1
    assert seen["ours"] + seen["refused"] == 30


@pytest.mark.parametrize("tool", ["Read", "Write", "Edit", "NotebookEdit", "Glob", "Grep"])
async def test_a_path_that_nobody_approved_is_refused_when_somebody_decided(project: Path, tool: str):
    """S34"""
    path = project / "dir" / "file.txt"
    calls = {
        "Read": (READ, ReadInput(file_path=str(path))),
        "Write": (WRITE, WriteInput(file_path=str(path), content="x")),
        "Edit": (EDIT, EditInput(file_path=str(path), old_string="ours", new_string="x")),
        "NotebookEdit": (
            NOTEBOOK_EDIT,
            NotebookEditInput(notebook_path=f"{project}/dir/book.ipynb", cell_id="a", new_source="x"),
        ),
        "Glob": (GLOB, GlobInput(pattern="*", path=str(project / "dir"))),
        "Grep": (GREP, GrepInput(pattern="o", path=str(project / "dir"))),
    }
    run, input = calls[tool]
    ctx = approved(make_context(project), project / "another")
    with pytest.raises(ToolError, match="target changed; try again"):
        await run.run(input, ctx)
    assert path.read_text() == "ours\n"


async def test_an_approved_link_is_followed_and_kept(project: Path):
    """S31, S35"""
    link, target = project / "link.txt", project / "dir" / "file.txt"
    link.symlink_to(target)
    permit = Permit(approved={str(link): str(target)})
    ctx = msgspec.structs.replace(make_context(project), permit=permit)
    await READ.run(ReadInput(file_path=str(link)), ctx)
    await EDIT.run(EditInput(file_path=str(link), old_string="ours", new_string="new"), ctx)
    assert link.is_symlink() and target.read_text() == "new\n"
    link.unlink()
    link.symlink_to(project.parent / "outside" / "file.txt")
    with pytest.raises(ToolError, match="target changed"):
        await EDIT.run(EditInput(file_path=str(link), old_string="new", new_string="bad"), ctx)


async def test_a_file_changed_while_the_new_one_is_written_is_kept(project: Path):
    """S34"""
    path = project / "dir" / "file.txt"
    ctx = approved(make_context(project), path)
    await READ.run(ReadInput(file_path=str(path)), ctx)
    location = locate(str(path), ctx.permit.approved)
    before = read_text(location, most_bytes=100)

    def interfere(frame: object, event: str, argument: object) -> None:
        if event == "c_call" and getattr(argument, "__name__", "") == "fsync":
            sys.setprofile(None)
            path.write_text("theirs, written at the last moment\n")

    sys.setprofile(interfere)
    try:
        with pytest.raises(ToolError, match="modified since"):
            put(location, "mine\n", before.form, stamp=before.stamp)
    finally:
        sys.setprofile(None)
    assert path.read_text() == "theirs, written at the last moment\n"
    assert sorted(os.listdir(path.parent)) == ["book.ipynb", "file.txt"]
