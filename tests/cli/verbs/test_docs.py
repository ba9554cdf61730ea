"""`bridle docs`: Markdown in a pipe, a view at a terminal."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.fakes.program import Program
from tests.fakes.terminal import PtyProgram

_ROOT = Path(__file__).parents[3]
_TOOLS = os.environ.get("BRIDLE_BUILD", "")


async def test_a_pipe_gets_markdown(tmp_path: Path):
    program = Program(tmp_path)
    page = await program.run("docs", "models")
    assert (page.code, page.err) == (0, "")
    assert page.out.startswith("# Models and costs\n") and "\x1b" not in page.out
    everything = await program.run("docs")
    assert (
        everything.out.startswith("# Documentation of bridle\n")
        and "- `models`: Models and costs." in everything.out
    )
    listed = await program.run("docs", "--list")
    assert [line.split()[0] for line in listed.out.splitlines()][:3] == [
        "agents",
        "air-gap",
        "architecture",
    ]


async def test_an_unknown_topic_is_answered_with_what_was_meant_and_the_topics(tmp_path: Path):
    done = await Program(tmp_path).run("docs", "modles")
    assert (done.code, done.out) == (1, "")
    first, *rest = done.err.splitlines()
    assert first == "error: unknown topic 'modles': did you mean models?"
    assert "  permissions     Permissions, trust, sandbox" in rest


async def test_words_are_found_in_all_pages(tmp_path: Path):
    program = Program(tmp_path)
    found = await program.run("docs", "--search", "shift+enter", "kitty")
    assert found.code == 0 and "keybindings: Keys\n" in found.out
    nothing = await program.run("docs", "--search", "zzzzzz")
    assert (nothing.code, nothing.err) == (1, "error: no match in the documentation for 'zzzzzz'\n")
    empty = await program.run("docs", "--search")
    assert (empty.code, empty.out) == (1, "")


async def test_a_terminal_gets_a_view_with_search(tmp_path: Path):
    program = Program(tmp_path)
    argv = [sys.executable, "-m", "bridle", "docs", "keybindings"]
    async with PtyProgram(argv, env=program.env, cwd=program.project) as terminal:
        await terminal.until_text("Docs: Keys")
        terminal.type("\x1b")
        await terminal.until_text("type to search")
        terminal.type("ollama default")
        await terminal.until_text("local: Local models")
        terminal.type("\r")
        await terminal.until_text("Docs: Local models")
        terminal.type("q")
        assert await terminal.ended() == 0


async def test_a_dumb_terminal_and_a_screen_reader_get_markdown(tmp_path: Path):
    program = Program(tmp_path)
    argv = [sys.executable, "-m", "bridle", "docs", "lsp"]
    for variables in ({"TERM": "dumb"}, {"CLAUDE_AX_SCREEN_READER": "1"}):
        async with PtyProgram(argv, env={**program.env, **variables}, cwd=program.project) as terminal:
            assert await terminal.ended() == 0
            assert b"# Language servers" in terminal.output and b"\x1b" not in terminal.output


def test_the_wheel_has_the_pages_and_shows_them(tmp_path: Path):
    if not os.path.isdir(os.path.join(_TOOLS, "hatchling")):
        pytest.skip("BRIDLE_BUILD names no folder with the packages build and hatchling")
    env = {**os.environ, "PYTHONPATH": _TOOLS}
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=_ROOT, env=env, check=True, capture_output=True)
    site = tmp_path / "site"
    with zipfile.ZipFile(next(tmp_path.glob("*.whl"))) as wheel:
        pages = {name for name in wheel.namelist() if name.startswith("bridle/docs/")}
        assert "bridle/examples/broken-calculator/till.py" in wheel.namelist()
        wheel.extractall(site)
    names = {path.name for path in (_ROOT / "docs").glob("*.md")} | {"changelog.md", "reporting.md"}
    assert pages == {f"bridle/docs/{name}" for name in names}
    shown = subprocess.run(
        [sys.executable, "-P", "-m", "bridle", "docs", "changelog"],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(site)}, check=True, capture_output=True, text=True,
    )  # fmt: skip
    assert shown.stdout.startswith("# Changelog")
