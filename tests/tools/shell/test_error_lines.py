"""Long output of a failed command keeps its beginning, its end and what looks like errors between them."""

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from bridle.tools.shell.output import show

_ROOM = 10_000


def _shown(folder: Path, lines: Sequence[str | bytes], *, limit: int = 30_000) -> tuple[str, str]:
    path = folder / "out.txt"
    path.write_bytes(b"\n".join(line if isinstance(line, bytes) else line.encode() for line in lines) + b"\n")
    return show(str(path), limit=limit, failed=True).text, str(path)


def _noise(count: int, start: int = 0) -> list[str]:
    return [f"step {number} of the build went as planned" for number in range(start, start + count)]


@pytest.mark.parametrize(
    "line",
    [
        "src/main.c:12:5: error: 'x' undeclared",
        "main.go:7:2: undefined: Foo",
        "E       AssertionError: assert 1 == 2",
        "E   assert [1] == [2]",
        "FAILED tests/test_a.py::test_b - ValueError: no",
        "ValueError: invalid literal for int()",
        "Traceback (most recent call last):",
        "--- FAIL: TestFoo (0.00s)",
        "thread 'main' panicked at src/main.rs:4:5:",
        "npm ERR! code ELIFECYCLE",
        "  ✗ adds two numbers",
        "not ok 3 - parses",
        "bash: frobnicate: command not found",
        "cp: cannot stat 'x': No such file or directory",
        "make: *** [Makefile:3: all] Error 2",
        "Segmentation fault (core dumped)",
        "\x1b[31mERROR\x1b[0m in ./app.ts",
        "progress 50%\rfatal: not a git repository",
        "java.lang.NullPointerException: null",
    ],
)
def test_a_line_in_the_middle_that_looks_like_an_error_is_kept_with_its_number(tmp_path: Path, line: str):
    text, _ = _shown(tmp_path, [*_noise(5_000), line, *_noise(5_000, 5_000)])
    told = line.replace("\x1b[31m", "").replace("\x1b[0m", "").rpartition("\r")[2]
    assert f"\n5001: {told}\n" in text
    assert text.startswith("step 0 of") and text.endswith("step 9999 of the build went as planned")
    assert len(text) < _ROOM + 500


@pytest.mark.parametrize(
    "line",
    ["0 errors, 0 warnings", "no failures", "errors: 0", "test_error_handling PASSED", "ok 7 - fails closed",
     "test_that_it_fails ... ok", "Compiled terror.c", "unexpectedly good"],
)  # fmt: skip
def test_a_line_that_only_sounds_like_an_error_is_left_out(tmp_path: Path, line: str):
    text, path = _shown(tmp_path, [*_noise(5_000), line, *_noise(5_000, 5_000)])
    assert line not in text and "look like errors" not in text
    assert f"the full output is in {path}" in text


def test_what_was_cut_is_counted_and_no_half_lines_are_shown(tmp_path: Path):
    lines = [*_noise(3_000), "error: here", *_noise(3_000, 3_000)]
    text, path = _shown(tmp_path, lines)
    size = os.path.getsize(path)
    assert f" of {size:,} bytes omitted" in text
    head, _, rest = text.partition("\n\n… ")
    tail = rest.rpartition("\n…\n\n")[2]
    assert set(head.splitlines()) <= set(lines) and set(tail.splitlines()) <= set(lines)
    assert len(head) > 2_500 and len(tail) > 3_500


def test_without_such_lines_beginning_and_end_share_the_room(tmp_path: Path):
    text, _ = _shown(tmp_path, _noise(10_000))
    assert 9_000 < len(text) < _ROOM + 500


def test_the_same_error_is_told_once_and_many_are_counted(tmp_path: Path):
    text, _ = _shown(tmp_path, [*_noise(2_000), *["error: the same"] * 2_000, *_noise(2_000)])
    assert text.count("error: the same") == 1 and "more)" not in text
    text, _ = _shown(
        tmp_path, [*_noise(2_000), *(f"error: number {n} of many" for n in range(800)), *_noise(2_000)]
    )
    assert "error: number 0 of many" in text and " more)" in text
    assert len(text) < _ROOM + 500


def test_errors_near_the_end_of_a_huge_output_are_found_with_their_numbers(tmp_path: Path):
    text, _ = _shown(tmp_path, [*_noise(200_000), "error: late", *_noise(1_000)])
    assert "\n200001: error: late\n" in text


def test_long_lines_bytes_and_control_characters_are_tamed(tmp_path: Path):
    wild = b"error: \xff\xfe \x07\x1b]0;pwned\x07 \xe2\x80\xae " + b"x" * 100_000
    text, _ = _shown(tmp_path, [*_noise(2_000), wild, *_noise(2_000)])
    (line,) = [each for each in text.splitlines() if each.startswith("2001: ")]
    assert len(line) < 320 and "pwned" not in line and "\u202e" not in line and "\x1b" not in line


@pytest.mark.parametrize("limit", [5, 40, 100, 1_000])
def test_any_limit_is_kept(tmp_path: Path, limit: int):
    text, path = _shown(tmp_path, [*_noise(500), "error: x", *_noise(500)], limit=limit)
    assert len(text) <= limit + len(path) + 200


def test_one_endless_line_is_cut_in_the_middle(tmp_path: Path):
    text, _ = _shown(tmp_path, ["x" * 100_000])
    assert text.startswith("xxx") and text.endswith("xxx") and len(text) < _ROOM + 500
