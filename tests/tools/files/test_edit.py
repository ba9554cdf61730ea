import os
import stat
from pathlib import Path
from typing import Any

import pytest

from bridle.tools.files.edit import TOOL, EditInput
from bridle.tools.files.read import TOOL as READ
from bridle.tools.files.read import ReadInput
from bridle.tools.files.write import TOOL as WRITE
from bridle.tools.files.write import WriteInput
from bridle.types.errors import ToolError
from bridle.types.permission import Access
from bridle.types.tool import ToolContext, ToolOutput
from tests.fakes.tool_context import make_context


async def edit(ctx: ToolContext, path: Path | str, old: str, new: str, **options: Any) -> ToolOutput:
    input = EditInput(file_path=str(path), old_string=old, new_string=new, **options)
    TOOL.check(input, ctx)
    return await TOOL.run(input, ctx)


async def opened(tmp_path: Path, content: str | bytes, **options: Any) -> tuple[ToolContext, Path]:
    path = tmp_path / "a.txt"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    ctx = make_context(tmp_path)
    await READ.run(ReadInput(file_path=str(path), **options), ctx)
    return ctx, path


async def test_the_one_place_is_replaced_and_reported(tmp_path: Path):
    ctx, path = await opened(tmp_path, "one\ntwo\nthree\n")

    output = await edit(ctx, path, "two", "2\n2.5")

    assert path.read_text() == "one\n2\n2.5\nthree\n"
    assert output.data == {
        "filePath": str(path),
        "oldString": "two",
        "newString": "2\n2.5",
        "originalFile": "one\ntwo\nthree\n",
        "structuredPatch": [
            {
                "oldStart": 1,
                "oldLines": 3,
                "newStart": 1,
                "newLines": 4,
                "lines": [" one", "-two", "+2", "+2.5", " three"],
            }
        ],
        "userModified": False,
        "replaceAll": False,
    }
    assert str(output.content).endswith("\n1\tone\n2\t2\n3\t2.5\n4\tthree")


async def test_of_a_long_insertion_only_the_edges_are_shown(tmp_path: Path):
    context, path = await opened(tmp_path, "".join(f"line {number}\n" for number in range(1, 11)))
    block = "".join(f"new {number}\n" for number in range(1, 31))
    output = await edit(context, path, "line 5\n", f"line 5\n{block}")
    shown = str(output.content).splitlines()
    assert "6\tnew 1" in shown and "35\tnew 30" in shown and "38\tline 8" in shown
    assert "… 28 lines as given …" in shown
    assert not any("new 15" in line for line in shown)


async def test_a_new_file_is_not_repeated(tmp_path: Path):
    path = tmp_path / "new.txt"
    output = await edit(make_context(tmp_path), path, "", "all of it\n")
    assert output.content == "Created new.txt."


async def test_several_matches_are_an_error_unless_all_are_meant(tmp_path: Path):
    ctx, path = await opened(tmp_path, "x = x + x\n")

    with pytest.raises(ToolError, match="Found 3 matches"):
        await edit(ctx, path, "x", "y")
    output = await edit(ctx, path, "x", "y", replace_all=True)

    assert path.read_text() == "y = y + y\n"
    assert output.data["replaceAll"] is True


async def test_text_that_is_not_there_is_an_error_that_shows_the_nearest_line(tmp_path: Path):
    ctx, path = await opened(tmp_path, "def alpha():\n    return 1\n")

    with pytest.raises(ToolError, match=r"not found.*line 1.*def alpha"):
        await edit(ctx, path, "def alphas():", "def beta():")
    with pytest.raises(ToolError, match=r"not found.*Line 2 begins the same"):
        await edit(ctx, path, "  return 1\n  pass", "return 2")
    with pytest.raises(ToolError, match=r"not found.*line numbers"):
        await edit(ctx, path, "1\tdef alpha():", "def beta():")
    with pytest.raises(ToolError, match=r"not found in [^ ]+\.$"):
        await edit(ctx, path, "§§§§§§", "x")


async def test_no_change_is_an_error(tmp_path: Path):
    ctx, path = await opened(tmp_path, "same\n")

    with pytest.raises(ToolError, match="Nothing to change"):
        await edit(ctx, path, "same", "same")


async def test_an_empty_old_string_creates_a_file_or_fills_an_empty_one(tmp_path: Path):
    ctx = make_context(tmp_path)
    (tmp_path / "empty.txt").write_bytes(b"")

    created = await edit(ctx, "new/a.txt", "", "hello\n")
    await edit(ctx, "empty.txt", "", "filled\n")
    await edit(ctx, "empty.txt", "filled", "full")

    assert (tmp_path / "new/a.txt").read_text() == "hello\n"
    assert created.data["originalFile"] is None
    assert (tmp_path / "empty.txt").read_text() == "full\n"


async def test_an_empty_old_string_does_not_overwrite(tmp_path: Path):
    ctx, path = await opened(tmp_path, "x")

    with pytest.raises(ToolError, match="already exists"):
        await edit(ctx, path, "", "new")

    assert path.read_text() == "x"


async def test_a_file_must_be_read_before_it_is_edited(tmp_path: Path):
    (tmp_path / "a.txt").write_text("old\n")

    with pytest.raises(ToolError, match="has not been read yet"):
        await edit(make_context(tmp_path), "a.txt", "old", "new")


async def test_a_missing_file_is_an_error(tmp_path: Path):
    with pytest.raises(ToolError, match="does not exist"):
        await edit(make_context(tmp_path), "a.txt", "old", "new")


async def test_several_edits_follow_one_read_and_a_partial_read_is_enough(tmp_path: Path):
    ctx, path = await opened(tmp_path, "a\nb\nc\n", limit=1)

    await edit(ctx, path, "a", "1")
    await edit(ctx, path, "b", "2")
    await edit(ctx, path, "c", "3")

    assert path.read_text() == "1\n2\n3\n"
    with pytest.raises(ToolError, match="part"):
        WRITE.check(WriteInput(file_path=str(path), content=""), ctx)


async def test_an_edit_after_own_write_needs_no_read(tmp_path: Path):
    ctx = make_context(tmp_path)
    await WRITE.run(WriteInput(file_path="a.txt", content="a\n"), ctx)

    await edit(ctx, "a.txt", "a", "b")

    assert (tmp_path / "a.txt").read_text() == "b\n"


async def test_foreign_changes_elsewhere_are_kept(tmp_path: Path):
    ctx, path = await opened(tmp_path, "one\ntwo\n")
    path.write_text("ONE\ntwo\nthree\n")

    output = await edit(ctx, path, "two", "2")

    assert path.read_text() == "ONE\n2\nthree\n"
    assert "which changed since" in str(output.content)
    with pytest.raises(ToolError, match="part"):
        WRITE.check(WriteInput(file_path=str(path), content=""), ctx)


@pytest.mark.parametrize(
    ("theirs", "old"),
    [("two\ntwo\n", "two"), ("gone\n", "two"), ("say “two”\n", '"two"')],
    ids=["no longer unique", "gone", "only alike"],
)
async def test_an_edit_of_a_changed_file_is_refused_when_its_place_is_uncertain(
    tmp_path: Path, theirs: str, old: str
):
    ctx, path = await opened(tmp_path, 'one\n"two"\n')
    path.write_text(theirs)

    for replace_all in (False, True):
        with pytest.raises(ToolError):
            await edit(ctx, path, old, "2", replace_all=replace_all)

    assert path.read_text() == theirs


async def test_a_change_between_check_and_run_is_kept(tmp_path: Path):
    ctx, path = await opened(tmp_path, "one\ntwo\n")
    input = EditInput(file_path=str(path), old_string="two", new_string="2")
    TOOL.check(input, ctx)
    path.write_text("theirs\ntwo\n")

    await TOOL.run(input, ctx)

    assert path.read_text() == "theirs\n2\n"


@pytest.mark.parametrize(
    ("content", "old", "new", "expected"),
    [
        (b"a\r\nb\r\nc\r\n", "a\nb", "x\ny", b"x\r\ny\r\nc\r\n"),
        (b"a\r\nb\r\nc\r\n", "a\r\nb", "x\r\ny", b"x\r\ny\r\nc\r\n"),
        (b"a\r\nb\r\nc\r\n", "b", "b\nb2", b"a\r\nb\r\nb2\r\nc\r\n"),
        (b"a\nb\r\nc\nd\r\n", "c", "c\nc2", b"a\nb\r\nc\nc2\nd\r\n"),
        (b"a\nb\r\nc\nd\r\n", "b\nc", "x\ny", b"a\nx\r\ny\nd\r\n"),
        (b"\xef\xbb\xbfa\n", "a", "\u00e9", b"\xef\xbb\xbf\xc3\xa9\n"),
        (b"\xff\xfe" + "a\r\nb".encode("utf-16-le"), "b", "c", b"\xff\xfe" + "a\r\nc".encode("utf-16-le")),
        (b"gr\xfcn\n", "grün", "röt", b"r\xf6t\n"),
        (b"a\rb\n", "b", "c", b"a\rc\n"),
    ],
)
async def test_encoding_and_every_line_ending_are_kept(
    tmp_path: Path, content: bytes, old: str, new: str, expected: bytes
):
    ctx, path = await opened(tmp_path, content)

    await edit(ctx, path, old, new)

    assert path.read_bytes() == expected
    await READ.run(ReadInput(file_path=str(path)), ctx)


async def test_characters_that_the_encoding_lacks_are_an_error(tmp_path: Path):
    ctx, path = await opened(tmp_path, b"gr\xfcn\n")

    with pytest.raises(ToolError, match="latin-1"):
        await edit(ctx, path, "grün", "5 €")

    assert path.read_bytes() == b"gr\xfcn\n"


@pytest.mark.parametrize(
    ("content", "old", "new", "expected"),
    [
        ("say “hello” now\n", 'say "hello" now', 'say "bye" now', "say “bye” now\n"),
        ("it’s ‘fine’\n", "it's 'fine'", "it's 'good' isn't it", "it’s ‘good’ isn’t it\n"),
        ('x = "a"\n', "x = “a”", "x = “b”", 'x = "b"\n'),
        ('f("He said “hi”")\n', 'f("He said "hi"")', 'f("She said "hi"")', 'f("She said “hi”")\n'),
    ],
)
async def test_quotes_may_differ_in_style_and_the_file_keeps_its_own(
    tmp_path: Path, content: str, old: str, new: str, expected: str
):
    ctx, path = await opened(tmp_path, content)

    await edit(ctx, path, old, new)

    assert path.read_text() == expected


async def test_quotes_of_another_style_must_be_unique_too(tmp_path: Path):
    ctx, path = await opened(tmp_path, "“a” and ”a”\n")

    with pytest.raises(ToolError, match="Found 2 matches"):
        await edit(ctx, path, '"a"', '"b"')
    await edit(ctx, path, '"a"', '"b"', replace_all=True)

    assert path.read_text() == "“b” and ”b”\n"


async def test_an_exact_match_wins_over_quotes_of_another_style(tmp_path: Path):
    ctx, path = await opened(tmp_path, '“a” and "a"\n')

    await edit(ctx, path, '"a"', '"b"')

    assert path.read_text() == '“a” and "b"\n'


@pytest.mark.parametrize(
    ("content", "old", "expected"),
    [
        ("a\nb\nc\n", "b", "a\nc\n"),
        ("a\nb\nc\n", "b\n", "a\nc\n"),
        ("a\nxb\nc\n", "b", "a\nx\nc\n"),
        ("a\nb x\nc\n", "b ", "a\nx\nc\n"),
        ("a\nb", "b", "a\n"),
    ],
)
async def test_deleting_a_line_leaves_no_empty_one_and_joins_none(
    tmp_path: Path, content: str, old: str, expected: str
):
    ctx, path = await opened(tmp_path, content)

    await edit(ctx, path, old, "")

    assert path.read_text() == expected


async def test_a_last_line_without_a_line_feed_is_found_and_stays_so(tmp_path: Path):
    ctx, path = await opened(tmp_path, "a\nb")

    output = await edit(ctx, path, "b\n", "c\n")

    assert path.read_text() == "a\nc"
    assert output.data["structuredPatch"][0]["lines"] == [
        " a",
        "-b",
        "\\ No newline at end of file",
        "+c",
        "\\ No newline at end of file",
    ]


async def test_a_link_stays_a_link_and_permissions_are_kept(tmp_path: Path):
    target = tmp_path / "target.sh"
    target.write_text("old\n")
    target.chmod(0o755)
    link = tmp_path / "link.sh"
    link.symlink_to(target)
    ctx = make_context(tmp_path)
    await READ.run(ReadInput(file_path=str(link)), ctx)

    await edit(ctx, link, "old", "new")

    assert link.is_symlink() and target.read_text() == "new\n"
    assert stat.S_IMODE(target.stat().st_mode) == 0o755


async def test_a_file_over_a_gibibyte_is_refused(tmp_path: Path):
    path = tmp_path / "huge.txt"
    with open(path, "wb") as file:
        file.write(b"text\n" * 200_000)
        file.truncate(1024**3 + 1)
    ctx = make_context(tmp_path)
    await READ.run(ReadInput(file_path=str(path), limit=1), ctx)

    with pytest.raises(ToolError, match="limit"):
        await edit(ctx, path, "text", "x")


async def test_directories_pipes_binaries_and_notebooks_are_refused(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "a.ipynb").write_text("{}")
    for path in (".", "pipe", "a.ipynb", "/dev/null"):
        with pytest.raises(ToolError):
            await edit(make_context(tmp_path), path, "a", "b")


async def test_a_large_file_is_edited_with_a_bounded_report(tmp_path: Path):
    text = "".join(f"line {n}\n" for n in range(300_000))
    ctx, path = await opened(tmp_path, text)

    output = await edit(ctx, path, "line 150000\n", "changed\n" * 500)

    assert path.read_text() == text.replace("line 150000\n", "changed\n" * 500)
    assert len(output.content) < 2000
    assert output.data["originalFile"] is None
    (hunk,) = output.data["structuredPatch"]
    assert (hunk["oldStart"], hunk["oldLines"], hunk["newLines"]) == (149_998, 7, 506)


async def test_distant_changes_are_separate_hunks(tmp_path: Path):
    ctx, path = await opened(tmp_path, "x\n" + "-\n" * 20 + "x\n")

    output = await edit(ctx, path, "x", "y", replace_all=True)

    starts = [(hunk["oldStart"], hunk["newStart"]) for hunk in output.data["structuredPatch"]]
    assert starts == [(1, 1), (19, 19)]


def test_editing_names_the_path_it_writes(tmp_path: Path):
    input = EditInput(file_path="a.txt", old_string="a", new_string="b")

    assert TOOL.access(input, make_context(tmp_path).workspace) == Access(writes=(str(tmp_path / "a.txt"),))
    assert TOOL.subject(input) == "a.txt"
    assert not TOOL.read_only(input)
