import asyncio
import os
from pathlib import Path

import pytest

from bridle.tools.files.glob import TOOL, GlobInput
from bridle.types.errors import ToolError
from bridle.types.permission import Access
from bridle.types.tool import ToolOutput
from bridle.types.workspace import Workspace
from tests.fakes.tool_context import FakeTasks, make_context

RIPGREP: dict[str, str] = {}
STAND_IN = {"PATH": "/nowhere", "USE_BUILTIN_RIPGREP": "0"}
either = pytest.mark.parametrize("env", [RIPGREP, STAND_IN], ids=["ripgrep", "stand-in"])


def plant(root: Path, *paths: str) -> None:
    """Make files, each older than the one before it."""
    for age, name in enumerate(paths):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x\n")
        os.utime(path, (1_700_000_000 - age, 1_700_000_000 - age))


async def glob(root: Path, pattern: str, path: str | None = None, **env: str) -> ToolOutput:
    input, context = GlobInput(pattern=pattern, path=path), make_context(root, env=env)
    TOOL.check(input, context)
    async with asyncio.timeout(50):
        return await TOOL.run(input, context)


async def names(root: Path, pattern: str, path: str | None = None, **env: str) -> list[str]:
    return (await glob(root, pattern, path, **env)).data["filenames"]


@either
async def test_files_are_listed_newest_first_and_relative(tmp_path: Path, env: dict[str, str]):
    plant(tmp_path, "new.py", "src/middle.py", "src/deep/old.py", "other.txt")
    output = await glob(tmp_path, "**/*.py", **env)
    listed = ["new.py", "src/middle.py", "src/deep/old.py"]
    assert output.content == "\n".join(listed)
    assert output.data == {
        "filenames": listed,
        "numFiles": 3,
        "durationMs": output.data["durationMs"],
        "truncated": False,
    }


@either
@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("*.py", ["a.py", "src/b.py"]),
        ("src/*", ["src/b.py", "src/c.ts"]),
        ("**/*.{py,ts}", ["a.py", "src/b.py", "src/c.ts"]),
        ("src/**", ["src/b.py", "src/c.ts", "src/x/d.md"]),
        ("src/", ["src/b.py", "src/c.ts", "src/x/d.md"]),
        ("src/b.py", ["src/b.py"]),
        ("./a.py", ["a.py"]),
        ("d.md", ["src/x/d.md"]),
        ("[ab].py", ["a.py", "src/b.py"]),
        ("missing/*.py", []),
    ],
)
async def test_patterns_find_what_people_expect(
    tmp_path: Path, pattern: str, found: list[str], env: dict[str, str]
):
    plant(tmp_path, "a.py", "src/b.py", "src/c.ts", "src/x/d.md")
    assert await names(tmp_path, pattern, **env) == found


async def test_nothing_found_is_said(tmp_path: Path):
    assert (await glob(tmp_path, "*.rs")).content == "No files found"


async def test_a_path_is_searched_and_results_stay_relative_to_where_we_are(tmp_path: Path):
    plant(tmp_path, "src/a.py", "b.py")
    assert await names(tmp_path, "*.py", "src") == ["src/a.py"]
    assert await names(tmp_path, "*.py", str(tmp_path / "src")) == ["src/a.py"]


async def test_absolute_patterns_are_searched_from_their_own_base(tmp_path: Path):
    plant(tmp_path, "project/a.py", "elsewhere/b.py")
    project = tmp_path / "project"
    assert await names(project, f"{tmp_path}/elsewhere/*.py") == [f"{tmp_path}/elsewhere/b.py"]
    assert await names(project, f"{project}/**/*.py") == ["a.py"]
    assert await names(project, "../elsewhere/*.py") == [f"{tmp_path}/elsewhere/b.py"]


def test_the_place_that_is_searched_is_what_is_read(tmp_path: Path):
    workspace = Workspace("/srv/project", tasks=FakeTasks())

    def reads(pattern: str, path: str | None = None) -> Access:
        return TOOL.access(GlobInput(pattern=pattern, path=path), workspace)

    assert reads("*.py") == Access(reads=("/srv/project",))
    assert reads("/etc/**") == Access(reads=("/etc",))
    assert reads("//etc/**") == Access(reads=("/etc",))
    assert reads("../../*", "src") == Access(reads=("/srv",))


@either
async def test_hidden_and_ignored_files_are_found_and_repositories_are_not(
    tmp_path: Path, env: dict[str, str]
):
    plant(tmp_path, ".hidden/a.py", "ignored.py", ".git/hooks/b.py", ".hg/c.py", "sub/.svn/d.py")
    (tmp_path / ".gitignore").write_text("ignored.py\n")
    assert await names(tmp_path, "*.py", **env) == [".hidden/a.py", "ignored.py"]
    assert await names(tmp_path, ".git/**", **env) == []


async def test_hidden_and_ignored_files_can_be_left_out(tmp_path: Path):
    plant(tmp_path, ".hidden/a.py", "ignored.py", "kept.py", ".git/HEAD")
    (tmp_path / ".gitignore").write_text("ignored.py\n")
    assert await names(tmp_path, "*.py", CLAUDE_CODE_GLOB_HIDDEN="false") == ["ignored.py", "kept.py"]
    assert await names(tmp_path, "*.py", CLAUDE_CODE_GLOB_NO_IGNORE="false") == [".hidden/a.py", "kept.py"]


@either
async def test_links_are_not_followed_so_loops_do_no_harm(tmp_path: Path, env: dict[str, str]):
    plant(tmp_path, "a/b.py")
    os.symlink(tmp_path, tmp_path / "a" / "loop")
    assert await names(tmp_path, "**/*.py", **env) == ["a/b.py"]


@either
async def test_names_that_are_not_text_can_be_shown(tmp_path: Path, env: dict[str, str]):
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.py")).write_text("")
    assert await names(tmp_path, "*.py", **env) == ["\ufffd.py"]


async def test_only_the_newest_hundred_are_listed(tmp_path: Path):
    plant(tmp_path, *(f"{n:03}.py" for n in range(120)))
    output = await glob(tmp_path, "*.py")
    assert output.data["filenames"] == [f"{n:03}.py" for n in range(100)]
    assert (output.data["numFiles"], output.data["truncated"]) == (100, True)
    assert "100 of 120 files" in str(output.content)


async def test_a_path_that_is_no_directory_is_refused(tmp_path: Path):
    plant(tmp_path, "file")
    for path in ("missing", "file"):
        with pytest.raises(ToolError, match=path):
            await glob(tmp_path, "*", path)


async def test_patterns_that_make_no_sense_are_refused(tmp_path: Path):
    for pattern in ("", "{a", "a\0"):
        with pytest.raises(ToolError):
            await glob(tmp_path, pattern)


async def test_a_search_that_takes_too_long_is_given_up(tmp_path: Path):
    (project := tmp_path / "project").mkdir()
    (tmp_path / "rg").write_text("#!/bin/sh\nexec sleep 300\n")
    (tmp_path / "rg").chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    with pytest.raises(ToolError, match="1 s"):
        await glob(project, "*", PATH=path, CLAUDE_CODE_GLOB_TIMEOUT_SECONDS="1", USE_BUILTIN_RIPGREP="0")


async def test_fifty_thousand_files_are_no_trouble(tmp_path: Path):
    for folder in range(250):
        (tmp_path / f"{folder}").mkdir()
        for file in range(200):
            os.close(os.open(tmp_path / f"{folder}" / f"{file}.py", os.O_CREAT))
    output = await glob(tmp_path, "**/*.py")
    assert "of 50,000 files" in str(output.content)
