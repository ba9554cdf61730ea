"""One claim for everybody: whoever answers first counts, the others see the question close (PM-22)."""

import asyncio

import pytest

from bridle.frontends.remote.channel import Pending, SharedChannel
from bridle.types.event import Event, Noticed, TurnStarted
from bridle.types.origin import TYPED, Origin
from bridle.types.question import Answer, PermissionQuestion, Permitted, Question, Refused
from tests.fakes.engine import FakeChannel
from tests.fakes.processes import eventually

_FROM_PHONE = Permitted(origin=Origin(source="remote", who="Phone"))
_FROM_HERE = Refused(message="no", origin=TYPED)
_QUESTION = PermissionQuestion(call_id="c1", tool="Bash", input={"command": "ls"}, reason="why")
_NOBODY = Refused(message="nobody is there", by_person=False)


class Desk(FakeChannel):
    """A person who answers when the test says so, and sees whether the question was taken away."""

    def __init__(self) -> None:
        super().__init__()
        self.answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self.taken_away = False

    async def ask(self, question: Question) -> Answer:
        self.questions.append(question)
        try:
            return await asyncio.shield(self.answer)
        except asyncio.CancelledError:
            self.taken_away = True
            raise


class Elsewhere:
    """An audience that only looks."""

    def __init__(self) -> None:
        self.open: list[Pending] = []
        self.closed: list[tuple[str, Answer | None]] = []
        self.events: list[Event] = []
        self.empty = asyncio.Event()
        self.senders = {"p1": "Phone"}

    def take(self, event: Event) -> None:
        self.events.append(event)

    def sender(self, prompt_uuid: str | None) -> str | None:
        return self.senders.get(prompt_uuid or "")

    def asked(self, pending: Pending) -> None:
        self.open.append(pending)

    def settled(self, pending: Pending, *, by: str, answer: Answer | None) -> None:
        del pending
        self.closed.append((by, answer))

    async def deserted(self) -> None:
        await self.empty.wait()


class Scene:
    def __init__(self, local: FakeChannel) -> None:
        self.local = local
        self.elsewhere = Elsewhere()
        self.answered: list[Answer] = []
        self.channel = SharedChannel(
            local, here="the terminal", answered=lambda _, answer: self.answered.append(answer)
        )
        self.channel.share(self.elsewhere)

    async def ask(self) -> "asyncio.Task[Answer]":
        asking = asyncio.create_task(self.channel.ask(_QUESTION))
        await eventually(lambda: self.elsewhere.open)
        return asking


async def test_an_answer_from_elsewhere_closes_the_question_here():
    desk = Desk()
    scene = Scene(desk)
    asking = await scene.ask()
    assert scene.elsewhere.open[0].claim(Permitted(), "Phone")
    assert await asking == _FROM_PHONE
    assert desk.taken_away and scene.answered == [Permitted()]
    assert scene.elsewhere.closed == [("Phone", _FROM_PHONE)]
    assert [event.text for event in desk.of(Noticed)] == ["Answered by Phone, by remote control."]


async def test_an_answer_here_closes_the_question_elsewhere():
    desk = Desk()
    scene = Scene(desk)
    asking = await scene.ask()
    desk.answer.set_result(Refused(message="no"))
    assert await asking == _FROM_HERE
    assert scene.elsewhere.closed == [("the terminal", _FROM_HERE)]
    assert not scene.elsewhere.open[0].claim(Permitted(), "Phone")
    assert scene.answered == [] and desk.of(Noticed) == []


@pytest.mark.parametrize("first", ["here", "elsewhere"])
async def test_of_two_answers_at_once_the_first_counts(first: str):
    desk = Desk()
    scene = Scene(desk)
    asking = await scene.ask()
    (pending,) = scene.elsewhere.open
    if first == "here":
        desk.answer.set_result(Refused(message="no"))
        await eventually(lambda: pending.own is not None and pending.own.done())
        assert not pending.claim(Permitted(), "Phone")
        assert await asking == _FROM_HERE
    else:
        assert pending.claim(Permitted(), "Phone")
        desk.answer.set_result(Refused(message="no"))
        assert not pending.claim(Refused(message="late"), "Tablet")
        assert await asking == _FROM_PHONE
    assert len(scene.elsewhere.closed) == 1


async def test_a_question_that_is_settled_at_once_is_nobody_elses():
    scene = Scene(FakeChannel(Permitted()))
    assert await scene.channel.ask(_QUESTION) == Permitted(origin=TYPED)
    assert scene.elsewhere.open == []


async def test_a_question_that_is_taken_back_closes_everywhere():
    desk = Desk()
    scene = Scene(desk)
    asking = await scene.ask()
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert desk.taken_away
    assert scene.elsewhere.closed == [("the session", None)]
    assert not scene.elsewhere.open[0].claim(Permitted(), "Phone")


async def test_those_who_come_later_see_what_is_open():
    desk = Desk()
    scene = Scene(desk)
    scene.channel.unshare(scene.elsewhere)
    asking = asyncio.create_task(scene.channel.ask(_QUESTION))
    await eventually(lambda: desk.questions)
    await asyncio.sleep(0)
    scene.channel.share(scene.elsewhere)
    assert scene.elsewhere.open[0].claim(Permitted(), "Phone")
    assert await asking == _FROM_PHONE


async def test_where_nobody_is_here_those_elsewhere_decide():
    scene = Scene(FakeChannel(_NOBODY))
    asking = await scene.ask()
    assert not asking.done()
    assert scene.elsewhere.open[0].claim(Permitted(), "Phone")
    assert await asking == _FROM_PHONE


async def test_where_nobody_is_anywhere_the_answer_is_no():
    scene = Scene(FakeChannel(_NOBODY))
    asking = await scene.ask()
    scene.elsewhere.empty.set()
    assert await asking == _NOBODY


async def test_a_session_that_is_not_shared_asks_as_ever():
    channel = SharedChannel(FakeChannel(_NOBODY), here="the terminal")
    assert await channel.ask(_QUESTION) == _NOBODY


@pytest.mark.parametrize(("prompt_uuid", "marked"), [("p1", True), ("p2", False), (None, False)])
async def test_a_prompt_from_elsewhere_is_marked_here(prompt_uuid: str | None, marked: bool):
    scene = Scene(FakeChannel())
    event = TurnStarted(
        model="m", tools=(), mode="default", cwd="/", prompt="hi", uuid="u", prompt_uuid=prompt_uuid
    )
    scene.channel.emit(event)
    assert scene.local.events[-1] is event and scene.elsewhere.events == [event]
    expected = [Noticed("From Phone, by remote control:", "notice")] if marked else []
    assert scene.local.of(Noticed) == expected
