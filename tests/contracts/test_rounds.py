"""In every dialect, calls and results stay paired and rounds stay apart, whatever ids a service gives."""

import re
from pathlib import Path
from typing import Any

import pytest

from bridle.engine.runtime import Limits
from bridle.types.model import Repaired
from tests.fakes.dialects import CASES, Bench
from tests.fakes.model_server import ModelServer, Received, Script, answer, call
from tests.fakes.pairing import flaw_of
from tests.fakes.replays import replay

_USE: Any = {"type": "tool_use", "id": "call_1", "name": "Read", "input": {"file_path": "/a"}}
_OTHER: Any = {"type": "tool_use", "id": "call_2", "name": "Stop", "input": {}}
_DONE: Any = {"type": "tool_result", "tool_use_id": "call_1", "content": "a"}
_STOPPED: Any = {"type": "tool_result", "tool_use_id": "call_2", "content": "b"}
_ASKED: Any = {"role": "user", "content": "go"}


@pytest.mark.parametrize(
    ("messages", "fault"),
    [
        ([_ASKED, ("assistant", _USE, _OTHER), ("user", _DONE)], "a call had no result"),
        ([_ASKED, ("assistant", _USE, _OTHER), ("user", _STOPPED, _DONE)], "not in the order"),
        ([_ASKED, ("assistant", _USE), ("user", _DONE, _DONE)], "a result had no call"),
        ([_ASKED, ("assistant", _USE)], "a call had no result"),
        ([_ASKED, ("assistant", {"type": "text", "text": "hm"}), ("user", _DONE)], "a result had no call"),
        ([_ASKED, ("assistant", _USE), ("user", _DONE), ("assistant", _USE), ("user", _DONE)], "same id"),
        ([_ASKED, ("assistant", _USE, _USE), ("user", _DONE, _DONE)], "same id"),
        ([_ASKED, ("assistant", _USE), ("user", {"type": "text", "text": "hm"}, _DONE)], "before results"),
    ],
)
@pytest.mark.parametrize("name", CASES)
async def test_a_conversation_that_is_not_in_order_is_sent_in_order_and_told_of_once(
    name: str, messages: list[Any], fault: str
):
    history = [
        {"role": each[0], "content": list(each[1:])} if isinstance(each, tuple) else each for each in messages
    ]
    async with ModelServer(CASES[name].api()) as server:
        bench = Bench(name, server)
        request = bench.request(*history)
        first = await bench.ask(answer("fine"), request)
        again = await bench.ask(answer("fine"), request)
        await bench.made.close()
    (repaired,) = [event for event in first if isinstance(event, Repaired)]
    assert fault in " ".join(repaired.faults)
    assert not [event for event in again if isinstance(event, Repaired)]
    assert server.requests[0].raw == server.requests[1].raw


@pytest.mark.parametrize("name", CASES)
async def test_rounds_with_the_same_ids_stay_apart(tmp_path: Path, name: str):
    """Every answer of the fakes has one and the same id."""
    for number in range(3):
        (tmp_path / f"{number}.txt").write_text(f"content {number}", encoding="utf-8")
    rounds = [
        answer("Reading.", call("Read", "call_1", file_path=str(tmp_path / f"{number}.txt")))
        for number in range(3)
    ]
    done = await replay(name, tmp_path, [*rounds, answer("All read.")])
    assert done.outcome.text == "All read." and done.requests == 4
    messages: list[Any] = done.session.history.messages
    assert [message["role"] for message in messages] == ["user", *["assistant", "user"] * 3, "assistant"]
    assert flaw_of(messages) is None and done.warnings == []
    assert [f"content {number}" in str(messages[2 * number + 2]) for number in range(3)] == [True] * 3


@pytest.mark.parametrize("name", CASES)
async def test_calls_of_one_answer_with_the_same_id_have_a_result_each(tmp_path: Path, name: str):
    for number in range(2):
        (tmp_path / f"{number}.txt").write_text(f"content {number}", encoding="utf-8")
    twice = [call("Read", "call_1", file_path=str(tmp_path / f"{number}.txt")) for number in range(2)]
    done = await replay(name, tmp_path, [answer(*twice), answer("ok")])
    assert done.outcome.text == "ok" and len(done.results) == 2 and done.failed() == []
    messages: list[Any] = done.session.history.messages
    assert flaw_of(messages) is None and done.warnings == []


@pytest.mark.parametrize("budget", [None, 5.0])
@pytest.mark.parametrize("name", CASES)
async def test_a_denied_command_leaves_the_calls_beside_it_alone(
    tmp_path: Path, name: str, budget: float | None
):
    (tmp_path / "a.txt").write_text("needle", encoding="utf-8")
    script = [
        answer(
            call("Bash", "c1", command="ls /tmp"),
            call("Read", "c2", file_path=str(tmp_path / "a.txt")),
            call("Grep", "c3", pattern="needle", path=str(tmp_path)),
        ),
        answer("I see."),
    ]
    done = await replay(name, tmp_path, script, limits=Limits(max_budget_usd=budget))
    assert done.outcome.text == "I see." and done.failed() == ["c1"] and done.warnings == []


@pytest.mark.parametrize("name", CASES)
async def test_a_test_run_that_fails_cancels_nothing(tmp_path: Path, name: str):
    (tmp_path / "a.txt").write_text("needle", encoding="utf-8")
    (tmp_path / "Makefile").write_text("test:\n\tfalse\n", encoding="utf-8")
    script = [
        answer(
            call("Bash", "c1", command="which no-such-program"),
            call("Bash", "c2", command="make test"),
            call("Bash", "c3", command="touch made"),
            call("Read", "c4", file_path=str(tmp_path / "a.txt")),
        ),
        answer(
            call("Bash", "d1", command="touch no/such/folder/file"),
            call("Bash", "d2", command="touch never"),
            call("Read", "d3", file_path=str(tmp_path / "a.txt")),
        ),
        answer("I see."),
    ]
    done = await replay(name, tmp_path, script, allow=["Bash(make test)", "Bash(touch *)"])
    assert done.outcome.text == "I see."
    assert done.failed() == ["c1", "c2", "d1", "d2"]
    assert (tmp_path / "made").exists() and not (tmp_path / "never").exists()


@pytest.mark.parametrize("name", CASES)
async def test_a_search_an_edit_and_a_test_run_take_one_request_each(tmp_path: Path, name: str):
    source = tmp_path / "pool.py"
    source.write_text("def take(pool):\n    return pool[1]\n", encoding="utf-8")
    (tmp_path / "test_pool.py").write_text("from pool import take\nassert take([7]) == 7\n", encoding="utf-8")
    script = [
        answer(
            call("Grep", "a1", pattern="def take", path=str(tmp_path), output_mode="content"),
            call("Read", "a2", file_path=str(source)),
        ),
        answer(call("Edit", "a3", path=str(source), old_str="pool[1]", new_str="pool[0]")),
        answer(call("Bash", "a4", cmd="python3 -B test_pool.py && echo passed")),
        answer("Fixed."),
    ]
    done = await replay(name, tmp_path, script, allow=["Edit", "Bash(python3 *)", "Bash(echo *)"])
    assert done.outcome.text == "Fixed." and done.requests == 4 and done.failed() == []
    assert "pool[0]" in source.read_text(encoding="utf-8") and "passed" in str(done.results["a4"])


@pytest.mark.parametrize("name", CASES)
async def test_a_job_that_was_read_or_stopped_takes_no_turn_of_its_own(tmp_path: Path, name: str):

    def look_at_both(request: Received) -> Script:
        first, second = dict.fromkeys(re.findall(r"with ID: (\w+)", request.raw.decode()))
        return answer(call("TaskOutput", "b5", task_id=first), call("TaskStop", "b6", task_id=second))

    started = [
        call("Bash", "b1", command="which no-such-program"),
        call("Bash", "b2", command="echo done > out.txt", run_in_background=True),
        call("Bash", "b3", command="sleep 600", run_in_background=True),
    ]
    script = [
        answer(*started),
        answer(call("Bash", "b4", command="until [ -s out.txt ]; do sleep 0.02; done; cat out.txt")),
        look_at_both,
        answer("All of it is done."),
    ]
    done = await replay(name, tmp_path, script, allow=["Bash"])
    assert [outcome.text for outcome in done.outcomes] == ["All of it is done."]
    assert done.requests == 4 and done.failed() == ["b1"]
