"""The newest part of an answer stays in view, at any speed and size."""

from pathlib import Path

import pytest

from tests.fakes.messages_server import step
from tests.fakes.terminal import Emulator
from tests.frontends.tui.app.session import bridle

_END = "the very end."


def _paragraphs(words: int) -> str:
    each = [f"word{number}" for number in range(words)]
    return "\n\n".join(" ".join(each[at : at + 80]) for at in range(0, words, 80)) + f"\n\n{_END}"


def _list(items: int) -> str:
    return "\n".join(f"- item {number} of a long list" for number in range(items)) + f"\n\n{_END}"


def _code(lines: int) -> str:
    return "```\n" + "\n".join(f"line {number}" for number in range(lines)) + f"\n```\n\n{_END}"


@pytest.mark.parametrize(
    ("answer", "size"),
    [(_paragraphs(2_000), (120, 40)), (_list(200), (120, 40)), (_list(60), (40, 12)), (_code(200), (80, 24))],
    ids=["paragraphs", "list", "small window", "code"],
)
async def test_an_answer_of_several_screens_that_arrives_at_once_ends_right_above_the_prompt(
    tmp_path: Path, answer: str, size: tuple[int, int]
):
    def ends_above_the_prompt(screen: Emulator) -> bool:
        rows = screen.rows
        return rows[-1].startswith("sonnet-5-5") and rows[-6] == _END

    async with bridle(tmp_path, [step(answer, piece=4_000)], size=size) as terminal:
        await terminal.ready()
        await terminal.say("write much")
        await terminal.until(ends_above_the_prompt)
