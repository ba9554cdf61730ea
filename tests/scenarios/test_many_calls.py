"""R11: an answer with many calls costs what its calls cost, and not their square."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bridle.engine.calls.repeated_reads import unchanged
from bridle.engine.loop import run_turn
from bridle.frontends.tui.chat.turn import TurnView
from bridle.providers.scripted import calls, says
from bridle.transcripts.conversation import Conversation
from bridle.transcripts.session import Session
from bridle.transcripts.transcript import Transcript
from bridle.types.block import result_block
from bridle.types.event import ToolFinished
from bridle.types.origin import TYPED
from bridle.types.tool import ToolOutput
from bridle.types.turn import Prompt
from tests.fakes.counting import steps_of
from tests.fakes.engine import FakeChannel, make_runtime, requests
from tests.fakes.tools import Workshop

_FEW, _MANY = 60, 240
_MOST = 1.15
"""How much more one of many calls may cost than one of few."""


@pytest.mark.parametrize(
    ("tool", "parallel", "fails_first"),
    [("Read", True, False), ("Edit", False, False), ("Bash", False, True), ("Missing", False, False)],
)
def test_a_turn_does_the_same_work_for_each_call(
    tmp_path: Path, tool: str, parallel: bool, fails_first: bool
):
    def work(number: int) -> int:
        folder = tmp_path / f"{number}"
        return steps_of(lambda: asyncio.run(_turn(folder, number, tool, parallel, fails_first=fails_first)))

    work(2)
    assert _grows_evenly(work)


async def _turn(folder: Path, number: int, tool: str, parallel: bool, *, fails_first: bool) -> None:
    folder.mkdir()
    shop, channel = Workshop(), FakeChannel()
    made = [calls(tool, name=f"n{n}", fail=fails_first and n == 0) for n in range(number)]
    offered = [] if tool == "Missing" else [shop.tool(tool, parallel=parallel, waits=False)]
    runtime = make_runtime(folder, [says(*made), says("ok")], *offered, channel=channel)
    session = Session("s1", writer=Transcript(str(folder / "s1.jsonl"), warn=pytest.fail))
    session.swap(model="model-a", mode="bypassPermissions")
    outcome = await run_turn(session, Prompt(content="go", origin=TYPED), runtime)
    session.close()
    assert outcome.text == "ok"
    assert len(channel.of(ToolFinished)) == number
    results = requests(runtime)[1].messages[-1]["content"]
    assert [block["tool_use_id"] for block in results] == [f"call-{n + 1}" for n in range(number)]


def test_text_that_was_sent_already_is_looked_for_evenly():
    def work(number: int) -> int:
        session = Session("s1")
        session.say_user("go")
        assert len(session.history) == 1
        for n in range(number):
            _answer(session, n)
        return steps_of(lambda: _read_all(session, number))

    assert _grows_evenly(work)


def _read_all(session: Session, number: int) -> None:
    for n in range(number):
        read = ToolOutput(content=f"{n} {'x' * 3_000}", data={"type": "text", "file": {"filePath": "/x"}})
        assert unchanged(read, session.settled) is read
        session.say_user([result_block(f"c{n}", read.content, is_error=False)], data=None)


def test_a_withdrawn_answer_costs_the_same_for_each_call(tmp_path: Path):
    def work(number: int) -> int:
        session = Session("s1")
        session.say_user("go")
        said = [_answer(session, n) for n in range(number)]
        return steps_of(lambda: session.withdraw(said))

    assert _grows_evenly(work)


def test_conversations_of_other_programs_without_message_ids_are_folded_evenly():
    def work(number: int) -> int:
        session = Session("s1")
        entries: list[Any] = []
        for n in range(number):
            _answer(session, n)
        for entry in session.entries:
            assert entry["type"] == "assistant"
            message = {**entry["message"], "id": "", "content": [{"type": "text", "text": "x"}]}
            entries.append({**entry, "message": message})
        return steps_of(lambda: Conversation().extend(entries))

    assert _grows_evenly(work)


@pytest.mark.parametrize("tool", ["Read", "Bash"])
def test_the_terminal_does_the_same_work_for_each_call(tool: str):
    def work(number: int) -> int:
        written: list[Any] = []
        live = TurnView(written.extend, width=lambda: 80, clock=lambda: 0.0)
        return steps_of(lambda: _show(live, number, tool))

    assert _grows_evenly(work)


def _show(live: TurnView, number: int, tool: str) -> None:
    live.start_call("first", "Bash", {"command": "sleep"})
    for n in range(number):
        live.end_text("")
        live.start_call(f"c{n}", tool, {"file_path": "/x"})
        live.progress(f"c{n}", "more")
    for n in range(number):
        live.finish_call(f"c{n}", "done", content="ok", data=None, seconds=0.0)
    live.finish_call("first", "done", content="ok", data=None, seconds=0.0)
    live.end()


def _answer(session: Session, number: int) -> str:
    block: Any = {"type": "tool_use", "id": f"c{number}", "name": "Read", "input": {}}
    message: Any = {"id": "m1", "role": "assistant", "model": "a", "content": [block], "stop_reason": None}
    return session.say_assistant(message)["uuid"]


def test_results_are_paired_and_in_order_when_they_come_in_any_order():
    session = Session("s1")
    session.say_user("go")
    for n in range(5):
        _answer(session, n)
    for n in (4, 1, 3, 0, 2):
        session.say_user([result_block(f"c{n}", f"r{n}", is_error=False)], data=None)
        assert len(session.open_calls()) + len(_results(session)) == 5
    assert [block["content"] for block in _results(session)] == ["r0", "r1", "r2", "r3", "r4"]


def _results(session: Session) -> list[Any]:
    content: Any = session.history.messages[-1]["content"]
    return content


def _grows_evenly(work: Callable[[int], int]) -> bool:
    few, more = work(_FEW), work(_MANY)
    # What does not depend on the number is in both.
    each_of_few, each_of_many = few / _FEW, (more - few) / (_MANY - _FEW)
    return each_of_many <= each_of_few * _MOST
