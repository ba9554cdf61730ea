import asyncio
import os
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bridle.tools.files.grep import TOOL, GrepInput
from bridle.types.errors import ToolError
from bridle.types.permission import Access
from bridle.types.tool import ToolOutput
from bridle.types.workspace import Workspace
from tests.fakes.processes import eventually, is_running, read_number
from tests.fakes.tool_context import FakeTasks, make_context

STAND_IN = {"PATH": "/nowhere", "USE_BUILTIN_RIPGREP": "0"}
NOTE = "\n\n(ripgrep is not installed; git-ignored files were searched too.)"
either = pytest.mark.parametrize("env", [{}, STAND_IN], ids=["ripgrep", "stand-in"])


def plant(root: Path, **files: str) -> None:
    """Make files, each older than the one before it; `__` in a name is a slash."""
    for age, (name, content) in enumerate(files.items()):
        path = root / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
        os.utime(path, (1_700_000_000 - age, 1_700_000_000 - age))


async def grep(root: Path, env: dict[str, str] | None = None, **input: Any) -> ToolOutput:
    sent = {name.replace("dash_", "-"): value for name, value in input.items()}
    parsed, context = msgspec.convert(sent, GrepInput), make_context(root, env=env)
    TOOL.check(parsed, context)
    async with asyncio.timeout(50):
        return await TOOL.run(parsed, context)


async def text(root: Path, env: dict[str, str] | None = None, **input: Any) -> str:
    return str((await grep(root, env, **input)).content).removesuffix(NOTE)


@either
async def test_files_that_match_are_listed_newest_first(tmp_path: Path, env: dict[str, str]):
    plant(tmp_path, z_dot_py="foo\n", src__a_dot_py="a foo b\n", b_dot_py="bar\n")
    output = await grep(tmp_path, env, pattern="fo+")
    assert str(output.content).removesuffix(NOTE) == "Found 2 files\nz.py\nsrc/a.py"
    assert output.data == {
        "mode": "files_with_matches",
        "filenames": ["z.py", "src/a.py"],
        "numFiles": 2,
    }


@either
async def test_content_shows_path_number_and_line(tmp_path: Path, env: dict[str, str]):
    plant(tmp_path, b_dot_py="one\nfoo 2\n", a__c_dot_py="foo\r\nx\nfoo\n")
    output = await grep(tmp_path, env, pattern="foo", output_mode="content")
    content = "a/c.py:1:foo\na/c.py:3:foo\nb.py:2:foo 2"
    assert str(output.content).removesuffix(NOTE) == content
    assert output.data == {
        "mode": "content",
        "filenames": ["a/c.py", "b.py"],
        "numFiles": 2,
        "content": content,
        "numLines": 3,
    }


@either
async def test_line_numbers_can_be_left_out(tmp_path: Path, env: dict[str, str]):
    plant(tmp_path, a="x\n12:foo\n")
    assert await text(tmp_path, env, pattern="foo", output_mode="content", dash_n=False) == "a:12:foo"


@either
async def test_context_is_marked_and_separated(tmp_path: Path, env: dict[str, str]):
    plant(tmp_path, a="1\n2\nfoo\n4\n5\n6\nfoo\n", b="foo\n")
    asked = {"pattern": "foo", "output_mode": "content"}
    around = "a-2-2\na:3:foo\na-4-4\n--\na-6-6\na:7:foo\n--\nb:1:foo"
    assert await text(tmp_path, env, **asked, dash_C=1) == around
    assert await text(tmp_path, env, **asked, context=1) == around
    assert await text(tmp_path, env, **asked, dash_A=1) == "a:3:foo\na-4-4\n--\na:7:foo\n--\nb:1:foo"
    assert await text(tmp_path, env, **asked, dash_B=1) == "a-2-2\na:3:foo\n--\na-6-6\na:7:foo\n--\nb:1:foo"


@either
async def test_only_the_match_can_be_shown_and_case_ignored(tmp_path: Path, env: dict[str, str]):
    plant(tmp_path, a="xFOOx foo\n")
    shown = await text(tmp_path, env, pattern="foo", output_mode="content", dash_o=True, dash_i=True)
    assert shown == "a:1:FOO\na:1:foo"


@either
async def test_counts_are_totalled_over_all_results(tmp_path: Path, env: dict[str, str]):
    plant(tmp_path, a="foo\nfoo\n", b="foo\n", c="foo\n")
    output = await grep(tmp_path, env, pattern="foo", output_mode="count", head_limit=1)
    assert str(output.content).removesuffix(NOTE) == (
        "a:2\n\n4 matching lines in 3 files.\n\n(Files 1 to 1 of 3; use offset 1 for more.)"
    )
    assert output.data == {
        "mode": "count",
        "filenames": [],
        "numFiles": 3,
        "content": "a:2",
        "numMatches": 4,
        "appliedLimit": 1,
    }


@either
async def test_a_pattern_may_cross_lines_when_told(tmp_path: Path, env: dict[str, str]):
    plant(tmp_path, a="x\none\ntwo three\n")
    asked = {"pattern": "one.two", "output_mode": "content"}
    assert await text(tmp_path, env, **asked) == "No matches found"
    assert await text(tmp_path, env, **asked, multiline=True) == "a:2:one\na:3:two three"


@either
async def test_globs_narrow_the_search(tmp_path: Path, env: dict[str, str]):
    plant(tmp_path, a_dot_py="foo\n", b_dot_ts="foo\n", c_dot_md="foo\n", src__d_dot_py="foo\n")

    async def found(glob: str) -> list[str]:
        return (await grep(tmp_path, env, pattern="foo", glob=glob)).data["filenames"]

    assert await found("*.py") == ["a.py", "src/d.py"]
    assert await found("*.{ts,md}") == ["b.ts", "c.md"]
    assert await found("*.ts, *.md") == ["b.ts", "c.md"]
    assert await found("src/*") == ["src/d.py"]
    assert await found("!*.py") == ["b.ts", "c.md"]


async def test_types_narrow_the_search_where_ripgrep_is_there(tmp_path: Path):
    plant(tmp_path, a_dot_py="foo\n", b_dot_ts="foo\n")
    assert (await grep(tmp_path, pattern="foo", type="py")).data["filenames"] == ["a.py"]
    with pytest.raises(ToolError, match="nonesuch"):
        await grep(tmp_path, pattern="foo", type="nonesuch")
    with pytest.raises(ToolError, match="ripgrep"):
        await grep(tmp_path, STAND_IN, pattern="foo", type="py")


@either
async def test_a_file_or_a_directory_may_be_searched(tmp_path: Path, env: dict[str, str]):
    plant(tmp_path, src__a_dot_py="foo\n", b_dot_py="foo\n")
    assert await text(tmp_path, env, pattern="foo", path="src") == "Found 1 file\nsrc/a.py"
    alone = await grep(tmp_path, env, pattern="foo", path="src/a.py", output_mode="content")
    assert str(alone.content).removesuffix(NOTE) == "1:foo"
    assert alone.data is not None and alone.data["filenames"] == ["src/a.py"]
    outside = await text(tmp_path / "src", env, pattern="foo", path=str(tmp_path / "b.py"))
    assert outside == f"Found 1 file\n{tmp_path}/b.py"


@either
async def test_a_bad_expression_is_an_error_in_the_searchers_words(tmp_path: Path, env: dict[str, str]):
    with pytest.raises(ToolError, match="regex parse error"):
        await grep(tmp_path, env, pattern="fo(")


@either
async def test_a_pattern_that_looks_like_an_option_is_a_pattern(tmp_path: Path, env: dict[str, str]):
    plant(tmp_path, a="--files\n-e x\n")
    assert await text(tmp_path, env, pattern="--files", output_mode="content") == "a:1:--files"
    assert await text(tmp_path, env, pattern="-e", output_mode="content") == "a:2:-e x"


async def test_a_missing_path_or_pattern_is_refused(tmp_path: Path):
    with pytest.raises(ToolError, match="missing"):
        await grep(tmp_path, pattern="x", path="missing")
    with pytest.raises(ToolError):
        await grep(tmp_path, pattern="")


@either
async def test_nothing_found_is_said(tmp_path: Path, env: dict[str, str]):
    assert await text(tmp_path, env, pattern="x") == "No files found"
    assert await text(tmp_path, env, pattern="x", output_mode="content") == "No matches found"
    assert await text(tmp_path, env, pattern="x", output_mode="count") == "No matches found"


@either
async def test_hidden_files_are_searched_and_repositories_and_binaries_are_not(
    tmp_path: Path, env: dict[str, str]
):
    plant(tmp_path, _dot_env="foo\n", _dot_git__config="foo\n", _dot_hg__x="foo\n", data="foo\0foo\n")
    assert (await grep(tmp_path, env, pattern="foo")).data["filenames"] == [".env"]


async def test_ignored_files_are_left_out(tmp_path: Path):
    plant(tmp_path, _dot_gitignore="built\n", built="foo\n", kept="foo\n", _dot_git__HEAD="")
    assert (await grep(tmp_path, pattern="foo")).data["filenames"] == ["kept"]


async def test_a_configuration_of_ripgrep_has_no_effect(tmp_path: Path):
    plant(tmp_path, a="foo\n", config="--invert-match\n")
    shown = await text(
        tmp_path, {"RIPGREP_CONFIG_PATH": str(tmp_path / "config")}, pattern="foo", output_mode="content"
    )
    assert shown == "a:1:foo"


@either
async def test_very_long_lines_are_left_out(tmp_path: Path, env: dict[str, str]):
    plant(tmp_path, a="foo" + "x" * 1000 + "\n")
    assert (
        await text(tmp_path, env, pattern="foo", output_mode="content") == "a:1:[Omitted long matching line]"
    )


async def test_results_come_in_pages(tmp_path: Path):
    plant(tmp_path, a="".join(f"foo {n}\n" for n in range(300)))
    first = await grep(tmp_path, pattern="foo", output_mode="content")
    assert (first.data["numLines"], first.data["appliedLimit"]) == (250, 250)
    assert str(first.content).endswith("(Lines 1 to 250 of 300; use offset 250 for more.)")
    last = await grep(tmp_path, pattern="foo", output_mode="content", offset=250)
    assert (last.data["numLines"], last.data.get("appliedLimit"), last.data["appliedOffset"]) == (
        50,
        None,
        250,
    )
    whole = await grep(tmp_path, pattern="foo", output_mode="content", head_limit=0)
    assert (whole.data["numLines"], "appliedLimit" in whole.data) == (300, False)
    beyond = await grep(tmp_path, pattern="foo", output_mode="content", offset=999)
    assert "Only 300 lines" in str(beyond.content)


async def test_a_searcher_that_never_ends_is_ended_with_the_call(tmp_path: Path):
    (project := tmp_path / "project").mkdir()
    (tmp_path / "rg").write_text(f"#!/bin/sh\necho $$ > {tmp_path}/pid\nexec sleep 300\n")
    (tmp_path / "rg").chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    env = {"PATH": path, "USE_BUILTIN_RIPGREP": "0"}
    running = asyncio.create_task(grep(project, env, pattern="x"))
    await eventually(lambda: read_number(tmp_path / "pid"))
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert not is_running(read_number(tmp_path / "pid") or 0)


async def test_the_searcher_of_a_project_is_never_run(tmp_path: Path):
    """S43, S50: what a confined command may write must not run outside."""
    (project := tmp_path / "project").mkdir()
    plant(project, a="foo\n")
    (programs := project / ".venv" / "bin").mkdir(parents=True)
    (programs / "rg").write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    (programs / "rg").chmod(0o755)
    for builtin in ("0", "1"):
        env = {"PATH": f"{programs}:{os.environ['PATH']}", "USE_BUILTIN_RIPGREP": builtin}
        assert "a" in await text(project, env, pattern="foo")
    assert not (tmp_path / "ran").exists()


async def test_a_searcher_that_breaks_is_not_taken_for_one_that_found_nothing(tmp_path: Path):
    (project := tmp_path / "project").mkdir()
    (tmp_path / "rg").write_text("#!/bin/sh\necho out of order >&2\nexit 101\n")
    (tmp_path / "rg").chmod(0o755)
    with pytest.raises(ToolError, match="out of order"):
        env = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "USE_BUILTIN_RIPGREP": "0"}
        await grep(project, env, pattern="x")


def test_the_path_is_what_is_read():
    workspace = Workspace("/srv", tasks=FakeTasks())
    assert TOOL.access(GrepInput(pattern="x"), workspace) == Access(reads=("/srv",))
    assert TOOL.access(GrepInput(pattern="x", path="../y"), workspace) == Access(reads=("/y",))
    assert TOOL.max_result_chars == 20_000
