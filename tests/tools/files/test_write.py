import os
import stat
from pathlib import Path

import pytest

from bridle.host.safe_open import locate
from bridle.tools.files.read import TOOL as READ
from bridle.tools.files.read import ReadInput
from bridle.tools.files.seen_files import put
from bridle.tools.files.text_files import read_text
from bridle.tools.files.write import TOOL, WriteInput
from bridle.types.errors import ToolError
from bridle.types.permission import Access
from bridle.types.tool import ToolContext, ToolOutput
from tests.fakes.tool_context import make_context


async def write(ctx: ToolContext, path: Path | str, content: str) -> ToolOutput:
    input = WriteInput(file_path=str(path), content=content)
    TOOL.check(input, ctx)
    return await TOOL.run(input, ctx)


async def look(
    ctx: ToolContext, path: Path | str, *, offset: int | None = None, limit: int | None = None
) -> None:
    await READ.run(ReadInput(file_path=str(path), offset=offset, limit=limit), ctx)


async def test_a_new_file_is_created_with_its_directories(tmp_path: Path):
    output = await write(make_context(tmp_path), "a/b/c.txt", "hällo\n")

    assert (tmp_path / "a/b/c.txt").read_bytes() == "hällo\n".encode()
    assert output.data == {
        "type": "create",
        "filePath": str(tmp_path / "a/b/c.txt"),
        "content": "hällo\n",
        "structuredPatch": [],
        "originalFile": None,
        "userModified": False,
    }


async def test_an_existing_file_must_have_been_read(tmp_path: Path):
    (tmp_path / "a.txt").write_text("old\n")
    ctx = make_context(tmp_path)
    input = WriteInput(file_path="a.txt", content="new\n")

    with pytest.raises(ToolError, match="has not been read yet"):
        TOOL.check(input, ctx)
    with pytest.raises(ToolError, match="has not been read yet"):
        await TOOL.run(input, ctx)

    assert (tmp_path / "a.txt").read_text() == "old\n"


async def test_a_file_that_was_read_is_replaced_and_the_difference_reported(tmp_path: Path):
    (tmp_path / "a.txt").write_text("one\ntwo\nthree\n")
    ctx = make_context(tmp_path)
    await look(ctx, "a.txt")

    output = await write(ctx, "a.txt", "one\n2\nthree\n")

    assert (tmp_path / "a.txt").read_text() == "one\n2\nthree\n"
    assert output.data == {
        "type": "update",
        "filePath": str(tmp_path / "a.txt"),
        "content": "one\n2\nthree\n",
        "structuredPatch": [
            {
                "oldStart": 1,
                "oldLines": 3,
                "newStart": 1,
                "newLines": 3,
                "lines": [" one", "-two", "+2", " three"],
            }
        ],
        "originalFile": "one\ntwo\nthree\n",
        "userModified": False,
    }


async def test_a_partly_read_file_is_not_overwritten(tmp_path: Path):
    (tmp_path / "a.txt").write_text("one\ntwo\nthree\n")
    ctx = make_context(tmp_path)
    await look(ctx, "a.txt", limit=2)

    with pytest.raises(ToolError, match="part"):
        await write(ctx, "a.txt", "new")

    assert (tmp_path / "a.txt").read_text() == "one\ntwo\nthree\n"


async def test_a_file_modified_since_it_was_read_is_not_overwritten(tmp_path: Path):
    path = tmp_path / "a.txt"
    path.write_text("old\n")
    ctx = make_context(tmp_path)
    await look(ctx, path)
    path.write_text("theirs\n")

    with pytest.raises(ToolError, match="modified since"):
        await write(ctx, path, "mine\n")

    assert path.read_text() == "theirs\n"


async def test_a_change_that_keeps_the_time_is_noticed_all_the_same(tmp_path: Path):
    path = tmp_path / "a.txt"
    path.write_text("old\n")
    ctx = make_context(tmp_path)
    await look(ctx, path)
    before = path.stat()
    path.write_text("OLD\n")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

    with pytest.raises(ToolError, match="modified since"):
        await write(ctx, path, "mine\n")


async def test_a_change_between_check_and_run_is_not_lost(tmp_path: Path):
    path = tmp_path / "a.txt"
    path.write_text("old\n")
    ctx = make_context(tmp_path)
    await look(ctx, path)
    input = WriteInput(file_path=str(path), content="mine\n")
    TOOL.check(input, ctx)
    path.write_text("theirs\n")

    with pytest.raises(ToolError, match="modified since"):
        await TOOL.run(input, ctx)

    assert path.read_text() == "theirs\n"


def test_a_change_at_the_last_moment_is_not_lost(tmp_path: Path):
    path = tmp_path / "a.txt"
    path.write_text("old\n")
    location = locate(str(path), {})
    before = read_text(location, most_bytes=100)
    path.write_text("theirs\n")

    with pytest.raises(ToolError, match="modified since"):
        put(location, "mine\n", before.form, stamp=before.stamp)
    with pytest.raises(ToolError, match="modified since"):
        put(location, "mine\n", before.form, stamp=None)

    assert path.read_text() == "theirs\n"


async def test_a_file_that_was_only_touched_may_be_written(tmp_path: Path):
    path = tmp_path / "a.txt"
    path.write_text("old\n")
    ctx = make_context(tmp_path)
    await look(ctx, path)
    os.utime(path, ns=(1, 1))

    await write(ctx, path, "new\n")

    assert path.read_text() == "new\n"


async def test_own_writes_count_as_read(tmp_path: Path):
    ctx = make_context(tmp_path)
    await write(ctx, "a.txt", "1\r\n")
    await write(ctx, "a.txt", "2\n")

    output = await write(ctx, "a.txt", "3\n")

    assert output.data["type"] == "update"


@pytest.mark.parametrize(
    ("old", "content", "expected"),
    [
        (b"\xef\xbb\xbfold\n", "n\u00e9w\n", b"\xef\xbb\xbfn\xc3\xa9w\n"),
        (b"\xef\xbb\xbfold\n", "\ufeffnew\n", b"\xef\xbb\xbfnew\n"),
        (b"\xff\xfe" + "old\n".encode("utf-16-le"), "new\n", b"\xff\xfe" + "new\n".encode("utf-16-le")),
        (b"\xfe\xff" + "old\n".encode("utf-16-be"), "new\n", b"\xfe\xff" + "new\n".encode("utf-16-be")),
        (b"gr\xfcn\n", "rötlich\n", b"r\xf6tlich\n"),
        (b"gr\xfcn\n", "5 €\n", "5 €\n".encode()),
        (b"a\r\nb\r\n", "x\ny\n", b"x\r\ny\r\n"),
        (b"a\r\nb\r\n", "x\r\ny\n", b"x\r\ny\r\n"),
        (b"a\r\nb\n", "x\ny\n", b"x\ny\n"),
        (b"a\n", "x\r\ny\n", b"x\r\ny\n"),
    ],
)
async def test_encoding_and_line_endings_are_kept(tmp_path: Path, old: bytes, content: str, expected: bytes):
    (tmp_path / "a.txt").write_bytes(old)
    ctx = make_context(tmp_path)
    await look(ctx, "a.txt")

    await write(ctx, "a.txt", content)

    assert (tmp_path / "a.txt").read_bytes() == expected


async def test_permissions_and_links_are_kept(tmp_path: Path):
    target = tmp_path / "target.sh"
    target.write_text("old\n")
    target.chmod(0o750)
    (tmp_path / "link.sh").symlink_to("target.sh")
    ctx = make_context(tmp_path)
    await look(ctx, "link.sh")

    await write(ctx, "link.sh", "new\n")

    assert (tmp_path / "link.sh").is_symlink()
    assert target.read_text() == "new\n"
    assert stat.S_IMODE(target.stat().st_mode) == 0o750


async def test_what_is_no_text_file_is_refused(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "file").write_text("x")
    for path in (".", "pipe", "/dev/null", "/proc/self/fd/1", "file/below"):
        with pytest.raises(ToolError):
            await write(make_context(tmp_path), path, "x")


async def test_a_binary_file_is_not_overwritten_even_after_a_look(tmp_path: Path):
    (tmp_path / "a.gif").write_bytes(
        b"GIF89a\x01\x00\x01\x00\x00\x00\x00,\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00;"
    )
    ctx = make_context(tmp_path)
    await look(ctx, "a.gif")

    with pytest.raises(ToolError, match="binary"):
        await write(ctx, "a.gif", "text")


async def test_a_place_where_no_file_can_be_made_is_a_clear_error(tmp_path: Path):
    with pytest.raises(ToolError, match="Could not write"):
        await write(make_context(tmp_path), "/proc/no-such-folder/a.txt", "x")


async def test_text_that_cannot_be_encoded_is_an_error_and_leaves_no_file(tmp_path: Path):
    with pytest.raises(ToolError, match="cannot hold"):
        await write(make_context(tmp_path), "a.txt", "half a pair: \ud83d")

    assert not (tmp_path / "a.txt").exists()


async def test_a_rewrite_of_a_long_file_is_reported_quickly(tmp_path: Path):
    path = tmp_path / "a.txt"
    path.write_text("".join(f"{n}\n" for n in range(12_000)))
    ctx = make_context(tmp_path)
    for offset in range(1, 12_000, 2000):
        await look(ctx, path, offset=offset)

    output = await write(ctx, path, "".join(f"{n} {n}\n" for n in range(12_000)))

    (hunk,) = output.data["structuredPatch"]
    assert (hunk["oldLines"], hunk["newLines"]) == (12_000, 12_000)


def test_writing_names_the_path_it_writes(tmp_path: Path):
    input = WriteInput(file_path="a.txt", content="")

    assert TOOL.access(input, make_context(tmp_path).workspace) == Access(writes=(str(tmp_path / "a.txt"),))
    assert TOOL.subject(input) == "a.txt"
    assert not TOOL.read_only(input) and not TOOL.parallel(input)


@pytest.mark.parametrize(("switch", "refused"), [("1", True), ("0", False)])
async def test_a_file_that_is_not_checked_out_is_refused_with_perforce(
    tmp_path: Path, switch: str, refused: bool
):
    path = tmp_path / "a.txt"
    path.write_text("old")
    path.chmod(0o444)
    ctx = make_context(tmp_path, env={"CLAUDE_CODE_PERFORCE_MODE": switch})
    await look(ctx, path)
    if not refused:
        await write(ctx, path, "new")
        return
    with pytest.raises(ToolError, match="p4 edit"):
        await write(ctx, path, "new")
    await write(ctx, tmp_path / "b.txt", "new")
    assert path.read_text() == "old"
