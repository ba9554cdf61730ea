import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.fakes.messages_server import MessagesServer, Script, step
from tests.fakes.program import Program
from tests.fakes.tmux import Tmux, needs_tmux, tmux_with
from tests.frontends.tui.app.session import QUIET

_ROOT = Path(__file__).parents[4]
_FOOT = "sonnet-5-5 ·"
_LINES = [f"line {number:03} of a long answer, which has some words in it" for number in range(300)]
pytestmark = needs_tmux


async def test_every_finished_line_is_in_the_scrollback_exactly_once(tmp_path: Path):
    text = "\n\n".join(_LINES)
    async with _bridle(tmp_path, [step(text, piece=40, write=4_000, pause=0.01)]) as tmux:
        await _say(tmux, "write a lot")
        await tmux.until(lambda rows: _LINES[-1] in rows and rows[-1].startswith(_FOOT))
        copied = await tmux.copied()
        assert [row.removeprefix("● ") for row in copied if row.startswith(("line ", "● line "))] == _LINES
        assert sum(row == "❯ write a lot" for row in copied) == 1
        assert not any("\x1b" in row for row in copied)


async def test_a_long_line_is_copied_in_one_piece(tmp_path: Path):
    long = "https://example.org/" + "/".join(f"part{number}" for number in range(40))
    async with _bridle(tmp_path, [step(f"Here:\n\n```\n{long}\n```\n\nThere it was.")]) as tmux:
        await _say(tmux, "show me")
        await tmux.until(lambda rows: "There it was." in rows)
        assert any(long in row for row in await tmux.copied())


@pytest.mark.parametrize("widths", [(60, 40, 25), (100, 120, 80), (40, 100, 30, 80)])
async def test_resizing_leaves_no_torn_or_repeated_row(tmp_path: Path, widths: tuple[int, ...]):
    said = [f"• point {number}" for number in range(30)]
    async with _bridle(tmp_path, [step("\n".join(each.replace("•", "-") for each in said))]) as tmux:
        await _say(tmux, "say it")
        await tmux.until(lambda rows: said[-1] in rows and rows[-1].startswith(_FOOT))
        await tmux.type("a draft")
        for columns in widths:
            await tmux.resize(columns, 24)
            edge = "─" * columns
            await tmux.until(
                lambda rows, edge=edge: (
                    rows[-4:-1] == [edge, "❯ a draft", edge]
                    and _edges(rows) == [edge, edge]
                    and rows[-1].startswith(_FOOT)
                )
            )
            finished = [row for row in (await tmux.copied())[:-4] if row]
            assert finished[3:] == ["❯ say it", *said]


async def test_resizing_while_an_answer_streams_tears_nothing(tmp_path: Path):
    words = [f"word{number:03}" for number in range(240)]
    text = "\n\n".join(words)
    async with _bridle(tmp_path, [step(text, piece=9, write=120, pause=0.01)]) as tmux:
        await _say(tmux, "stream")
        await tmux.until(lambda rows: "word010" in rows)
        for columns in (50, 30, 70, 80):
            await tmux.resize(columns, 24)
            # tmux is late to tell of a resize soon after another: the next one waits for the new edges.
            await tmux.until(lambda rows, edge="─" * columns: _edges(rows) == [edge, edge])
        rows = await tmux.until(lambda rows: "word239" in rows and rows[-1].startswith(_FOOT))
        assert [row.removeprefix("● ") for row in rows if row.startswith(("word", "● word"))] == words
        assert len(_edges(rows)) == 2


def _edges(rows: list[str]) -> list[str]:
    return [row for row in rows if "─" in row]


@asynccontextmanager
async def _bridle(folder: Path, script: Script) -> AsyncGenerator[Tmux]:
    async with MessagesServer(script) as server:
        program = Program(folder, server.url, **QUIET)
        (program.home / ".claude").mkdir()
        program.env["BRIDLE_TRUST_FOLDER"] = str(program.project)
        program.env["PYTHONPATH"] = f"{_ROOT}/src:{_ROOT}"
        argv = [sys.executable, "-m", "bridle"]
        async with tmux_with(folder, argv, size=(80, 24), env=program.env, cwd=program.project) as tmux:
            await tmux.until(lambda rows: bool(rows) and rows[-1].startswith(_FOOT))
            yield tmux


async def _say(tmux: Tmux, text: str) -> None:
    await tmux.type(text)
    await tmux.until(lambda rows: f"❯ {text}" in rows)
    await tmux.press("Enter")
