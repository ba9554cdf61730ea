"""What somebody elsewhere may do is done once, and answers count for what was shown (S62)."""

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from bridle.frontends.remote.shared_session import SharedSession
from bridle.types.ids import new_uuid
from tests.frontends.remote.shared_sessions import FakeActions, Served, served

_REQUEST: dict[str, Any] = {"subtype": "can_use_tool", "tool_name": "Bash", "input": {"command": "ls"}}


class Taken:
    """Takes the first answer."""

    def __init__(self) -> None:
        self.answers: list[tuple[Any, str]] = []

    def __call__(self, said: Mapping[str, Any], who: str) -> bool:
        self.answers.append((said.get("behavior"), who))
        return len(self.answers) == 1


async def test_a_prompt_that_is_sent_again_is_taken_once():
    async with served() as made:
        id = new_uuid()
        for _ in range(3):
            answer = await made.client.act(made.shared_session.id, id=id, do="prompt", text="hello")
            assert (answer.status, answer.json) == (200, {"taken": True})
        assert made.performed.done == [("prompt", "hello", id, "Phone")]


@pytest.mark.parametrize("id", ["", "1", "../../etc", "A" * 36, 7, None])
async def test_an_action_needs_an_id_of_its_own(id: Any):
    async with served() as made:
        answer = await made.client.post(made.actions, {"id": id, "do": "interrupt"})
        assert answer.status == 400 and made.performed.done == []


async def test_prompts_lose_what_only_terminals_understand():
    async with served() as made:
        await made.client.act(made.shared_session.id, do="prompt", text="a\x1b[31mb\r\nc\td\x00\x9b\ud800")
        ((_, text, _, _),) = made.performed.done
        assert text == "a[31mb\nc\td\ufffd"


@pytest.mark.parametrize("wish", [{"do": "prompt", "text": " \n"}, {"do": "delete"}, {}, {"do": "prompt"}])
async def test_wishes_that_mean_nothing_are_refused(wish: dict[str, Any]):
    async with served() as made:
        assert (await made.client.act(made.shared_session.id, **wish)).status == 400
        assert made.performed.done == []


async def test_a_question_is_shown_with_its_exact_input_and_answered_once():
    async with served() as made, made.client.follow(made.shared_session.id) as stream:
        await stream.line()
        taken = Taken()
        made.shared_session.ask("q1", _REQUEST, taken)
        frame = await stream.frame("control_request")
        assert frame["request"] == _REQUEST and frame["request_id"] == "q1"
        id = new_uuid()
        for _ in range(2):
            answer = await _answer(made, frame, id=id, behavior="allow")
            assert (answer.status, answer.json) == (200, {"counted": True})
        made.shared_session.close("q1", by="Phone", how="allowed")
        closed = await stream.frame("control_cancel_request")
        assert closed["decided"] == {"by": "Phone", "how": "allowed"}
    assert taken.answers == [("allow", "Phone")]


async def test_a_late_answer_is_told_who_decided():
    async with served() as made:
        taken = Taken()
        made.shared_session.ask("q1", _REQUEST, taken)
        frame = (await _snapshot(made))["questions"][0]
        made.shared_session.close("q1", by="the terminal", how="refused")
        answer = await _answer(made, frame, behavior="allow")
        assert answer.status == 409
        assert answer.json["decided"] == {"by": "the terminal", "how": "refused"}
        assert "the terminal was first" in answer.json["error"]
        assert taken.answers == [] and (await _snapshot(made))["questions"] == []


async def test_a_second_answer_while_the_first_is_carried_out_does_not_count():
    async with served() as made:
        taken = Taken()
        made.shared_session.ask("q1", _REQUEST, taken)
        frame = (await _snapshot(made))["questions"][0]
        assert (await _answer(made, frame, behavior="deny")).status == 200
        assert (await _answer(made, frame, behavior="allow")).status == 409


async def test_an_answer_to_something_else_than_was_shown_does_not_count():
    async with served() as made:
        taken = Taken()
        made.shared_session.ask("q1", _REQUEST, taken)
        frame = (await _snapshot(made))["questions"][0]
        made.shared_session.close("q1", by="x", how="withdrawn")
        made.shared_session.ask("q1", {**_REQUEST, "input": {"command": "rm -rf build"}}, taken)
        answer = await _answer(made, frame, behavior="allow")
        assert answer.status == 409 and taken.answers == []
        for digest in ("", "0" * 64):
            assert (await _answer(made, {**frame, "digest": digest}, behavior="allow")).status == 409
        assert taken.answers == []


async def test_a_question_that_never_was_is_not_answered():
    async with served() as made:
        answer = await _answer(made, {"request_id": "q9", "digest": "x"}, behavior="allow")
        assert answer.status == 404


async def test_whoever_comes_back_sees_the_questions_that_are_open_now():
    async with served() as made:
        made.shared_session.ask("q1", _REQUEST, Taken())
        made.shared_session.ask("q2", _REQUEST, Taken())
        made.shared_session.close("q1", by="the terminal", how="allowed")
        assert [each["request_id"] for each in (await _snapshot(made))["questions"]] == ["q2"]


async def test_nobody_is_expected_any_more_when_all_have_been_gone_for_a_while():
    shared_session = SharedSession("r", FakeActions(), name=lambda: "desk", state=dict, grace=0.01)
    leave = shared_session.come("Phone")
    waiting = asyncio.create_task(shared_session.deserted())
    await asyncio.sleep(0)
    back = shared_session.come("Tablet")
    leave()
    await asyncio.sleep(0)
    assert not waiting.done() and shared_session.people == ["Tablet"]
    back()
    async with asyncio.timeout(50):
        await waiting


async def _answer(made: Served, frame: Mapping[str, Any], *, id: str | None = None, **said: Any) -> Any:
    fields = {"request_id": frame["request_id"], "digest": frame["digest"]}
    return await made.client.act(made.shared_session.id, id=id, do="answer", **fields, **said)


async def _snapshot(made: Served) -> Any:
    async with made.client.follow(made.shared_session.id) as stream:
        return (await stream.line())["snapshot"]
