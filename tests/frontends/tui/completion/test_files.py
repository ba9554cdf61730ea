import asyncio
import os
import subprocess
from pathlib import Path

import pytest

from bridle.frontends.tui.completion.files import FileIndex
from bridle.frontends.tui.completion.mentions import Resource, complete_mention, complete_path, mention_of
from bridle.frontends.tui.completion.trigger import Trigger


def _project(root: Path) -> Path:
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    (root / ".gitignore").write_text("build/\n*.log\n")
    for name in ("src/main.py", "src/deep/other.py", "build/out.o", "a.log", "my file.txt", "new.py"):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
    return root


def _index(root: Path) -> FileIndex:
    return FileIndex(str(root), dict(os.environ))


def _texts(index: FileIndex, query: str) -> list[str]:
    return [hit.text for hit in index.search(query)]


async def _mentions(
    root: Path, query: str, *, quoted: bool = False, resources: tuple[Resource, ...] = ()
) -> list[str]:
    index = _index(root)
    await index.refresh()
    trigger = Trigger(kind="mention", query=query, start=0, quoted=quoted)
    agents = [("reviewer", "reads changes")]
    return [
        each.text
        for each in complete_mention(trigger, cwd=str(root), index=index, resources=resources, agents=agents)
    ]


async def test_files_and_folders_that_git_does_not_ignore_are_found(tmp_path: Path):
    index = _index(_project(tmp_path))
    assert len(index) == 0
    async with asyncio.timeout(50):
        assert await index.refresh()
    assert len(index) == 7
    assert sorted(_texts(index, "")) == [
        ".gitignore", "my file.txt", "new.py", "src/", "src/deep/", "src/deep/other.py", "src/main.py",
    ]  # fmt: skip
    assert _texts(index, "main")[0] == "src/main.py"


async def test_list_is_made_again_only_when_something_changed(tmp_path: Path):
    index = _index(_project(tmp_path))
    await index.refresh()
    assert not await index.refresh()
    (tmp_path / "added.py").write_text("x")
    os.utime(tmp_path, ns=(1, 1))
    assert await index.refresh()
    assert _texts(index, "added") == ["added.py"]


async def test_old_lists_are_renewed(tmp_path: Path):
    now = [0.0]
    index = FileIndex(str(_project(tmp_path)), dict(os.environ), clock=lambda: now[0])
    await index.refresh()
    assert not await index.refresh()
    now[0] = 100.0
    assert await index.refresh()


async def test_projects_without_git_or_ripgrep_are_listed_too(tmp_path: Path):
    (tmp_path / "a.py").write_text("x")
    index = FileIndex(str(tmp_path), {"PATH": "", "USE_BUILTIN_RIPGREP": "0"})
    await index.refresh()
    assert _texts(index, "") == ["a.py"]


async def test_a_folder_that_is_gone_is_an_error(tmp_path: Path):
    with pytest.raises(OSError):
        await _index(tmp_path / "nothing").refresh()


async def test_mentions_of_files_get_quotes_where_they_need_them(tmp_path: Path):
    assert (await _mentions(_project(tmp_path), "my f"))[0] == '@"my file.txt" '
    assert (await _mentions(tmp_path, "main"))[0] == "@src/main.py "
    assert (await _mentions(tmp_path, "main", quoted=True))[0] == '@"src/main.py" '


async def test_resources_and_agents_are_offered_beside_files(tmp_path: Path):
    docs = Resource(server="docs", uri="file://guide.md", name="Guide")
    assert await _mentions(_project(tmp_path), "docs:gui", resources=(docs,)) == ["@docs:file://guide.md "]
    assert "@agent-reviewer " in await _mentions(tmp_path, "revi")


def test_paths_outside_the_project_are_completed_from_the_disk(tmp_path: Path):
    project = _project(tmp_path / "p")
    assert complete_path("../p/s", cwd=str(project))[0].text == "@../p/src/"
    assert [each.label for each in complete_path("./", cwd=str(project))] == [
        "./build/", "./src/", "./a.log", "./my file.txt", "./new.py",
    ]  # fmt: skip
    assert "./.gitignore" in [each.label for each in complete_path("./.g", cwd=str(project))]
    assert [each.text for each in complete_path(f"{project}/src/ma", cwd="/")] == [f"@{project}/src/main.py "]
    assert complete_path("~", cwd="/")[0].text == "@~/"
    assert complete_path(f"{tmp_path}/nowhere/x", cwd="/") == []


def test_folders_go_on():
    (only,) = complete_path("..", cwd="/tmp")
    assert (only.text, only.kind, only.goes_on) == ("@../", "folder", True)
    assert mention_of("a b/") == '@"a b/'


def test_names_that_could_drive_a_terminal_are_shown_harmless(tmp_path: Path):
    (tmp_path / "a\x1b[2J.txt").write_text("x")
    (shown,) = complete_path("./a", cwd=str(tmp_path))
    assert "\x1b" not in shown.label
    assert len(shown.label) == len("./a\x1b[2J.txt")


async def test_ignored_files_are_found_where_the_settings_say_so(tmp_path: Path):
    """`respectGitignore: false`"""
    index = FileIndex(str(_project(tmp_path)), dict(os.environ), ignored_too=True)
    await index.refresh()
    assert {"a.log", "build/out.o", "src/main.py"} <= set(_texts(index, ""))
    assert not any(text.startswith(".git/") for text in _texts(index, ""))
