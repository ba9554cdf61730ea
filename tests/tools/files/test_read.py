import asyncio
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridle.tools.files.read import TOOL, ReadInput
from bridle.tools.files.text_pages import cut_page
from bridle.types.errors import ToolError
from bridle.types.permission import Access
from bridle.types.tool import ToolContext, ToolOutput
from tests.fakes.tool_context import make_context


async def read(ctx: ToolContext, path: Path | str, **options: Any) -> ToolOutput:
    input = ReadInput(file_path=str(path), **options)
    TOOL.check(input, ctx)
    async with asyncio.timeout(50):
        return await TOOL.run(input, ctx)


async def test_lines_are_numbered_from_one(tmp_path: Path):
    (tmp_path / "a.txt").write_text("one\n  two\n\nfour\n")

    output = await read(make_context(tmp_path), "a.txt")

    assert output.content == "1\tone\n2\t  two\n3\t\n4\tfour"
    assert output.data == {
        "type": "text",
        "file": {
            "filePath": str(tmp_path / "a.txt"),
            "content": "one\n  two\n\nfour\n",
            "numLines": 4,
            "startLine": 1,
            "totalLines": 4,
        },
    }


async def test_offset_and_limit_choose_lines(tmp_path: Path):
    (tmp_path / "a.txt").write_text("".join(f"line {n}\n" for n in range(1, 11)))

    output = await read(make_context(tmp_path), tmp_path / "a.txt", offset=4, limit=2)

    assert output.content == "4\tline 4\n5\tline 5"
    assert output.data["file"] == {
        "filePath": str(tmp_path / "a.txt"),
        "content": "line 4\nline 5\n",
        "numLines": 2,
        "startLine": 4,
        "totalLines": 10,
    }


async def test_more_than_2000_lines_give_the_first_page_and_say_how_to_go_on(tmp_path: Path):
    (tmp_path / "a.txt").write_text("x\n" * 2500)
    ctx = make_context(tmp_path)

    first = str((await read(ctx, "a.txt")).content)
    second = str((await read(ctx, "a.txt", offset=2001)).content)

    assert "\n2000\tx\n" in first and "\n2001\t" not in first
    assert "PARTIAL view" in first and "offset=2001" in first
    assert second.endswith("2500\tx") and "PARTIAL" not in second


async def test_long_lines_are_cut_at_2000_characters(tmp_path: Path):
    (tmp_path / "a.txt").write_text("y" * 5000 + "\nend\n")

    lines = str((await read(make_context(tmp_path), "a.txt")).content).split("\n")

    assert lines[0].startswith("1\t" + "y" * 2000 + "… [3,000 more")
    assert lines[1] == "2\tend"


async def test_the_token_limit_bounds_a_page_and_can_be_set(tmp_path: Path):
    (tmp_path / "a.txt").write_text(("z" * 99 + "\n") * 2000)

    unset = str((await read(make_context(tmp_path), "a.txt")).content)
    ctx = make_context(tmp_path, env={"CLAUDE_CODE_FILE_READ_MAX_OUTPUT_TOKENS": "100"})
    small = str((await read(ctx, "a.txt")).content)

    assert 90_000 < len(unset) < 100_500 and "PARTIAL view" in unset
    assert small.count("zzz\n") == 3 and "offset=4" in small
    assert len(small) < 700


async def test_an_unusable_token_limit_is_ignored(tmp_path: Path):
    (tmp_path / "a.txt").write_text("hello\n")
    for setting in ("", "0", "-5", "many", "²"):
        ctx = make_context(tmp_path, env={"CLAUDE_CODE_FILE_READ_MAX_OUTPUT_TOKENS": setting})
        assert (await read(ctx, "a.txt")).content == "1\thello"


async def test_an_explicit_limit_beyond_the_token_limit_is_still_bounded(tmp_path: Path):
    (tmp_path / "a.txt").write_text("\n" * 200_000)

    output = await read(make_context(tmp_path), "a.txt", limit=10**9)

    assert len(output.content) < 101_000
    assert "PARTIAL view" in str(output.content)


async def test_a_missing_file_is_an_error_with_the_directory_and_a_near_name(tmp_path: Path):
    (tmp_path / "settings.json").write_text("{}")

    with pytest.raises(ToolError) as caught:
        await read(make_context(tmp_path), "setings.json")

    assert "does not exist" in str(caught.value)
    assert str(tmp_path) in str(caught.value)
    assert str(tmp_path / "settings.json") in str(caught.value)


async def test_names_outside_the_working_directories_are_not_suggested(tmp_path: Path):
    (tmp_path / "work").mkdir()
    (tmp_path / "secret.txt").write_text("x")

    with pytest.raises(ToolError) as caught:
        await read(make_context(tmp_path / "work"), tmp_path / "secret.tx")

    assert "secret.txt?" not in str(caught.value)


async def test_a_path_that_lacks_the_project_folder_is_completed(tmp_path: Path):
    (tmp_path / "project" / "src").mkdir(parents=True)
    (tmp_path / "project" / "src" / "a.py").write_text("x")

    with pytest.raises(ToolError) as caught:
        await read(make_context(tmp_path / "project"), tmp_path / "src" / "a.py")

    assert str(tmp_path / "project" / "src" / "a.py") in str(caught.value)


async def test_a_directory_is_an_error_that_names_glob(tmp_path: Path):
    with pytest.raises(ToolError, match="Glob"):
        await read(make_context(tmp_path), tmp_path)


async def test_a_binary_file_is_an_error(tmp_path: Path):
    (tmp_path / "a.bin").write_bytes(bytes(range(256)) * 4)
    (tmp_path / "b.bin").write_bytes(b"\x01\x02\x03\xff\xfe" * 20)

    for name in ("a.bin", "b.bin"):
        with pytest.raises(ToolError, match="binary"):
            await read(make_context(tmp_path), name)


async def test_an_empty_file_gives_a_warning(tmp_path: Path):
    (tmp_path / "a.txt").write_text("")

    output = await read(make_context(tmp_path), "a.txt")

    assert "empty" in str(output.content)
    assert output.data["file"]["totalLines"] == 0


async def test_an_offset_past_the_end_gives_a_notice(tmp_path: Path):
    (tmp_path / "a.txt").write_text("1\n2\n3\n")

    output = await read(make_context(tmp_path), "a.txt", offset=50)

    assert "shorter than" in str(output.content) and "3 lines" in str(output.content)


async def test_pipes_sockets_and_devices_are_refused_without_waiting(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe")
    server = socket.socket(socket.AF_UNIX)
    here = os.getcwd()
    os.chdir(tmp_path)
    try:
        server.bind("sock")
    finally:
        os.chdir(here)
        server.close()
    (tmp_path / "link").symlink_to("/dev/zero")

    for path in (
        "pipe",
        "sock",
        "link",
        "/dev/zero",
        "//dev/zero",
        "/dev/stdin",
        "/dev/fd/0",
        "/proc/self/fd/0",
    ):
        with pytest.raises(ToolError):
            await read(make_context(tmp_path), path)


async def test_files_under_proc_have_no_size_and_are_read_all_the_same(tmp_path: Path):
    output = await read(make_context(tmp_path), "/proc/self/status")

    assert str(output.content).startswith("1\tName:")


async def test_a_path_that_no_file_can_have_is_an_error(tmp_path: Path):
    for path in ("a\0b", "\ud800", "x" * 5000):
        with pytest.raises(ToolError):
            await read(make_context(tmp_path), path)


@pytest.mark.parametrize(
    "data",
    [
        "grün\nzwei\n".encode(),
        b"\xef\xbb\xbf" + "grün\nzwei\n".encode(),
        b"\xff\xfe" + "grün\nzwei\n".encode("utf-16-le"),
        b"\xfe\xff" + "grün\nzwei\n".encode("utf-16-be"),
        "grün\nzwei\n".encode("latin-1"),
        "grün\r\nzwei\r\n".encode(),
    ],
    ids=["utf-8", "utf-8 with mark", "utf-16 little", "utf-16 big", "latin-1", "crlf"],
)
async def test_encodings_and_line_endings_are_recognized(tmp_path: Path, data: bytes):
    (tmp_path / "a.txt").write_bytes(data)

    output = await read(make_context(tmp_path), "a.txt")

    assert output.content == "1\tgrün\n2\tzwei"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "latin-1"])
async def test_large_files_of_any_encoding_are_read_by_page(tmp_path: Path, encoding: str):
    (tmp_path / "a.txt").write_text("grün\n" * 300_000, encoding=encoding)

    output = await read(make_context(tmp_path), "a.txt", offset=299_999)

    assert output.content == "299999\tgrün\n300000\tgrün"
    assert output.data["file"]["totalLines"] == 300_000


async def test_only_separators_of_lines_divide_lines(tmp_path: Path):
    (tmp_path / "a.txt").write_text("a\x0cb\u2028c\x85d\n", encoding="utf-8")

    output = await read(make_context(tmp_path), "a.txt")

    assert output.data["file"]["totalLines"] == 1


def test_a_line_of_hundreds_of_megabytes_takes_little_memory(tmp_path: Path):
    with open(tmp_path / "line.txt", "wb") as file:
        file.write(b"x" * 1024 * 1024)
        file.seek(300 * 1024 * 1024)
        file.write(b"\nlast\n")
    script = """
import asyncio, resource, sys
from pathlib import Path
from tests.fakes.tool_context import make_context
from bridle.tools.files.read import TOOL, ReadInput
ctx = make_context(Path(sys.argv[1]))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
first = asyncio.run(TOOL.run(ReadInput(file_path="line.txt"), ctx)).content
second = asyncio.run(TOOL.run(ReadInput(file_path="line.txt", offset=2), ctx)).content
grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
print(len(first), repr(second), grown < 40_000, grown)
"""
    root = Path(__file__).parents[3]
    environment = {**os.environ, "PYTHONPATH": f"{root}/src:{root}"}
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)],
        check=True,
        capture_output=True,
        text=True,
        env=environment,
        timeout=60,
    )

    length, second, bounded, _ = done.stdout.split()
    assert (int(length) < 3000, second, bounded) == (True, r"'2\tlast'", "True"), done.stdout + done.stderr


async def test_a_whole_read_is_remembered_as_seen(tmp_path: Path):
    (tmp_path / "a.txt").write_text("a\r\nb\r\n")
    ctx = make_context(tmp_path)

    await read(ctx, "a.txt")

    state = ctx.workspace.files.find(str(tmp_path / "a.txt"))
    assert state is not None
    assert (state.content, state.partial) == ("a\nb\n", False)


async def test_pages_in_order_add_up_to_a_whole_read(tmp_path: Path):
    (tmp_path / "a.txt").write_text("1\n2\n3\n4\n5")
    ctx = make_context(tmp_path)
    seen: list[tuple[str, bool]] = []

    for offset, limit in ((4, 1), (1, 2), (5, 1), (2, 3), (5, 5)):
        await read(ctx, "a.txt", offset=offset, limit=limit)
        state = ctx.workspace.files.find(str(tmp_path / "a.txt"))
        assert state is not None
        seen.append((state.content, state.partial))

    assert seen == [
        ("", True),
        ("1\n2\n", True),
        ("1\n2\n", True),
        ("1\n2\n3\n4\n", True),
        ("1\n2\n3\n4\n5", False),
    ]


async def test_a_cut_line_is_not_a_whole_read(tmp_path: Path):
    (tmp_path / "a.txt").write_text("ok\n" + "y" * 5000 + "\n")
    ctx = make_context(tmp_path)

    await read(ctx, "a.txt")

    state = ctx.workspace.files.find(str(tmp_path / "a.txt"))
    assert state is not None and state.partial


def test_reading_is_read_only_and_names_the_path_it_reads(tmp_path: Path):
    ctx = make_context(tmp_path)
    input = ReadInput(file_path="sub/../a.txt")

    assert TOOL.read_only(input) and TOOL.parallel(input)
    assert TOOL.access(input, ctx.workspace) == Access(reads=(str(tmp_path / "a.txt"),))
    assert TOOL.subject(input) == "sub/../a.txt"
    assert TOOL.max_result_chars is None


@given(
    text=st.text(alphabet="ab\n\r", max_size=60),
    sizes=st.lists(st.integers(1, 7), min_size=1, max_size=10),
    start=st.integers(1, 12),
    limit=st.integers(1, 12),
)
def test_a_page_does_not_depend_on_how_the_text_is_chopped(
    text: str, sizes: list[int], start: int, limit: int
):
    chunks: list[str] = []
    rest = text
    while rest:
        size = sizes[len(chunks) % len(sizes)]
        chunks.append(rest[:size])
        rest = rest[size:]

    page = cut_page(chunks, start=start, limit=limit, most_chars=10_000)

    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    shown = [line.removesuffix("\r") if i < text.count("\n") else line for i, line in enumerate(lines)]
    assert page.total == len(lines)
    assert page.lines == shown[start - 1 : start - 1 + limit]


async def test_lines_far_behind_a_page_are_not_counted(tmp_path: Path):
    with open(tmp_path / "a.txt", "wb") as file:
        file.write(b"x\n" * 500_000)
        file.truncate(200 * 1024 * 1024)
        file.seek(0, os.SEEK_END)
        file.write(b"\nlast\n")

    output = await read(make_context(tmp_path), "a.txt")

    assert "of at least 500001" in str(output.content)


async def test_nul_characters_far_inside_a_text_are_shown_as_symbols(tmp_path: Path):
    (tmp_path / "a.txt").write_text("x\n" * 5000 + "a\0b\n")

    output = await read(make_context(tmp_path), "a.txt", offset=5001)

    assert output.content == "5001\ta␀b"


async def test_many_files_can_be_read_at_once(tmp_path: Path):
    ctx = make_context(tmp_path)
    for number in range(150):
        (tmp_path / f"{number}.txt").write_text(f"{number}\n")

    outputs = await asyncio.gather(*(read(ctx, f"{number}.txt") for number in range(150)))

    assert [output.content for output in outputs] == [f"1\t{number}" for number in range(150)]


async def test_link_that_leads_nowhere_is_told_as_one(tmp_path: Path):
    (tmp_path / "link").symlink_to("nothing/here")
    with pytest.raises(ToolError) as told:
        await read(make_context(tmp_path), tmp_path / "link")
    assert "is a link to nothing/here, which does not exist" in str(told.value)
