import asyncio

import pytest

from bridle.providers.scripted import Answer, ScriptedProvider, ScriptEnded, SeenRequest, calls, says
from bridle.types.errors import ProviderError, StreamBroken
from bridle.types.history import History
from bridle.types.model import (
    BlockClosed,
    BlockOpened,
    Completed,
    ModelEvent,
    ModelRequest,
    Noted,
    PieceArrived,
    Started,
    TextArrived,
    ThinkingArrived,
)


def request(history: History | None = None) -> ModelRequest:
    said = history or History.of({"role": "user", "content": "x"})
    return ModelRequest(model="m", history=said, max_tokens=9)


async def ask(provider: ScriptedProvider, asked: ModelRequest | None = None) -> list[ModelEvent]:
    return [event async for event in provider.stream(asked or request())]


async def test_an_answer_streams_like_that_of_a_service():
    events = await ask(ScriptedProvider([says("Hi", calls("Glob", pattern="*"), thinking="Hm")]))
    assert [type(event) for event in events] == [
        Started,
        *(BlockOpened, ThinkingArrived, PieceArrived, BlockClosed),
        *(BlockOpened, TextArrived, BlockClosed),
        *(BlockOpened, PieceArrived, BlockClosed),
        Noted,
        Completed,
    ]
    last = events[-1]
    assert isinstance(last, Completed)
    assert last.message["content"][1:] == [
        {"type": "text", "text": "Hi"},
        {"type": "tool_use", "id": "call-1", "name": "Glob", "input": {"pattern": "*"}},
    ]
    assert (last.message["stop_reason"], last.message["model"]) == ("tool_use", "m")


async def test_calls_are_numbered_over_the_whole_script():
    provider = ScriptedProvider([says(calls("A"), calls("B")), says(calls("C"))])
    ids = [
        event.block.get("id")
        for _ in range(2)
        for event in await ask(provider)
        if isinstance(event, BlockClosed)
    ]
    assert ids == ["call-1", "call-2", "call-3"]


async def test_stop_reason_usage_and_model_can_be_set():
    line = says("Hi", stop_reason="max_tokens", usage={"input_tokens": 1}, model="other")
    last = (await ask(ScriptedProvider([line])))[-1]
    assert isinstance(last, Completed)
    assert last.message["stop_reason"] == "max_tokens"
    assert last.message["usage"] == {"input_tokens": 1}
    assert last.message["model"] == "other"


async def test_requests_are_kept_as_they_were_when_they_were_made():
    provider = ScriptedProvider([says("one"), says("two")])
    history = History.of({"role": "user", "content": "first"})
    await ask(provider, request(history))
    history.add({"role": "user", "content": "second"})
    await ask(provider, request(history))
    assert [len(asked.messages) for asked in provider.requests] == [1, 2]
    assert provider.requests[0].model == "m"
    assert provider.left == 0


async def test_errors_in_the_script_are_raised():
    with pytest.raises(ProviderError):
        await ask(ScriptedProvider([ProviderError("no")]))


async def test_an_answer_may_depend_on_the_request():
    def echo(asked: SeenRequest) -> Answer:
        return says(f"You said: {asked.messages[0]['content']}")

    events = await ask(ScriptedProvider([echo]))
    assert [event.text for event in events if isinstance(event, TextArrived)] == ["You said: x"]


async def test_running_out_of_lines_fails_the_test():
    with pytest.raises(ScriptEnded, match="0 lines"):
        await ask(ScriptedProvider([]))


@pytest.mark.parametrize(("closed", "blocks"), [(True, 1), (False, 0)])
async def test_an_answer_can_break_before_or_after_its_last_block_is_whole(closed: bool, blocks: int):
    provider = ScriptedProvider([says("Half", closed=closed, then=StreamBroken("cut"))])
    seen: list[str] = []
    with pytest.raises(StreamBroken):
        async for event in provider.stream(request()):
            seen += [type(event).__name__]
    assert seen.count("BlockClosed") == blocks
    assert "Completed" not in seen


async def test_an_answer_can_wait_for_the_test():
    gate = asyncio.Event()
    provider = ScriptedProvider([says("Slow", then=gate.wait)])
    task = asyncio.create_task(ask(provider))
    async with asyncio.timeout(50):
        while not provider.requests:
            await asyncio.sleep(0)
        assert not task.done()
        gate.set()
        assert isinstance((await task)[-1], Completed)
